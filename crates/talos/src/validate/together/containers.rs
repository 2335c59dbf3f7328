//! Containers that wait for each other.

use std::collections::BTreeMap;

use super::of_kind;
use crate::config::Config;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Containers by name: the number of the document, and its dependencies.
type Containers<'c> = BTreeMap<&'c str, (usize, Vec<Field<'c>>)>;

/// Validates `dependsOn.containers`: every dependency exists, and there is no cycle.
pub(crate) fn validate(config: &Config, issues: &mut DocumentIssues) {
    let containers: Containers<'_> = of_kind(config, "ContainerConfig")
        .map(|(nth, document)| {
            let waits = document.at(["dependsOn", "containers"]).items().collect();
            (document.get("name").text(), (nth, waits))
        })
        .collect();
    for (nth, waits) in containers.values() {
        issues.document = *nth;
        for wait in waits.iter().filter(|wait| !containers.contains_key(wait.text())) {
            issues.error(wait, format!("no ContainerConfig document is called {:?}", wait.text()));
        }
    }
    cycles(&containers, issues);
}

/// Removes, repeatedly, the containers that wait for none of the rest: the remaining ones form cycles.
fn cycles(containers: &Containers<'_>, issues: &mut DocumentIssues) {
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
        issues.document = *nth;
        let names: Vec<_> = rest.keys().copied().collect();
        issues
            .error("dependsOn.containers", format!("never starts: {} wait for each other", names.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::validate::Mode;
    use crate::validate::trial::judge;

    fn waiting(pairs: &[(&str, &[&str])]) -> Vec<String> {
        let container = |(name, on): &(&str, &[&str])| json!({"kind": "ContainerConfig", "name": name, "image": "registry.example/a:v1", "dependsOn": {"containers": on}});
        let documents: Vec<Value> = pairs.iter().map(container).collect();
        let mut found = judge("1.14", Mode::Metal, &documents);
        found.retain(|line| line.contains("dependsOn"));
        found
    }

    #[test]
    fn containers_wait_in_order() {
        assert!(waiting(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]).is_empty());
        assert_eq!(waiting(&[("a", &["x"])]), ["error dependsOn.containers[0]"]);
    }

    #[test]
    fn containers_do_not_wait_in_circles() {
        let found = waiting(&[("a", &["b"]), ("b", &["a"]), ("c", &[])]);

        assert_eq!(found, ["error dependsOn.containers", "error 1:dependsOn.containers"]);
    }
}
