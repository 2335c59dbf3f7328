//! What the machine says of itself in Kubernetes.

use crate::talos::label;
use crate::talos::validate::Flaws;
use crate::talos::validate::field::Field;

/// Judges `machine.nodeLabels`, `machine.nodeAnnotations` and `machine.nodeTaints`.
pub fn validate(machine: &Field<'_>, flaws: &mut Flaws) {
    for (key, field) in machine.get("nodeLabels").entries() {
        say(&field, label::name(key).and_then(|()| label::value(field.text())), flaws);
    }
    for (key, field) in machine.get("nodeTaints").entries() {
        say(&field, label::name(key).and_then(|()| label::taint(field.text())), flaws);
    }
    let annotations = machine.get("nodeAnnotations");
    for (key, field) in annotations.entries() {
        say(&field, label::annotation(key), flaws);
    }
    let size: usize = annotations.entries().map(|(key, field)| key.len() + field.text().len()).sum();
    if size > label::MOST_ANNOTATIONS {
        flaws.error(
            &annotations,
            format!("{size} bytes of annotations: at most {} fit", label::MOST_ANNOTATIONS),
        );
    }
}

fn say(field: &Field<'_>, judged: Result<(), String>, flaws: &mut Flaws) {
    if let Err(message) = judged {
        flaws.error(field, message);
    }
}
