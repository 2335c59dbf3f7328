//! Containers that wait for each other.

use std::collections::BTreeMap;

use super::of_kind;
use crate::talos::config::Config;
use crate::talos::validate::Flaws;
use crate::talos::validate::field::Field;

/// Containers by name: the number of the document, and what each waits for.
type Containers<'c> = BTreeMap<&'c str, (usize, Vec<Field<'c>>)>;

/// Judges `dependsOn.containers`: everything waited for is there, and nothing waits for itself in the end.
pub fn validate(config: &Config, flaws: &mut Flaws) {
    let containers: Containers<'_> = of_kind(config, "ContainerConfig")
        .map(|(nth, document)| {
            let waits = document.at(["dependsOn", "containers"]).items().collect();
            (document.get("name").text(), (nth, waits))
        })
        .collect();
    for (nth, waits) in containers.values() {
        flaws.document = *nth;
        for wait in waits.iter().filter(|wait| !containers.contains_key(wait.text())) {
            flaws.error(wait, format!("no ContainerConfig document is called {:?}", wait.text()));
        }
    }
    cycles(&containers, flaws);
}

/// Takes away, again and again, the containers that wait for none of the rest: what is left waits in circles.
fn cycles(containers: &Containers<'_>, flaws: &mut Flaws) {
    let mut rest = containers.clone();
    loop {
        let waits = |waits: &[Field<'_>]| waits.iter().any(|wait| rest.contains_key(wait.text()));
        let free: Vec<_> = rest.iter().filter(|(_, (_, on))| !waits(on)).map(|(name, _)| *name).collect();
        if free.is_empty() {
            break;
        }
        rest.retain(|name, _| !free.contains(name));
    }
    for (nth, _) in rest.values() {
        flaws.document = *nth;
        let names: Vec<_> = rest.keys().copied().collect();
        flaws
            .error("dependsOn.containers", format!("never starts: {} wait for each other", names.join(", ")));
    }
}
