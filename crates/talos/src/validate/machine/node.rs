//! The labels, annotations and taints of the Kubernetes node.

use crate::label::{self, LabelError};
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges `machine.nodeLabels`, `machine.nodeAnnotations` and `machine.nodeTaints`.
pub(crate) fn validate(machine: &Field<'_>, issues: &mut DocumentIssues) {
    for (key, field) in machine.get("nodeLabels").entries() {
        say(&field, label::name(key).and_then(|()| label::value(field.text())), issues);
    }
    for (key, field) in machine.get("nodeTaints").entries() {
        say(&field, label::name(key).and_then(|()| label::taint(field.text())), issues);
    }
    let annotations = machine.get("nodeAnnotations");
    for (key, field) in annotations.entries() {
        say(&field, label::annotation(key), issues);
    }
    let size: usize = annotations.entries().map(|(key, field)| key.len() + field.text().len()).sum();
    if size > label::MOST_ANNOTATIONS {
        issues.error(
            &annotations,
            format!("{size} bytes of annotations: at most {} fit", label::MOST_ANNOTATIONS),
        );
    }
}

fn say(field: &Field<'_>, judged: Result<(), LabelError>, issues: &mut DocumentIssues) {
    if let Err(error) = judged {
        issues.error(field, error.to_string());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn labels_annotations_and_taints_have_their_rules() {
        let parts = [
            ("machine.nodeLabels", json!({"a/b/c": "x", "zone": "rack 1", "ok": ""})),
            ("machine.nodeTaints", json!({"ok": "NoSchedule", "bad": "yes"})),
            ("machine.nodeAnnotations", json!({"talos.dev/owned-labels": "x"})),
        ];

        let want = [
            "error machine.nodeLabels.a/b/c",
            "error machine.nodeLabels.zone",
            "error machine.nodeTaints.bad",
            "error machine.nodeAnnotations.talos.dev/owned-labels",
        ];
        assert_eq!(control_plane("1.12", &parts), want);
    }

    #[test]
    fn annotations_have_a_size_limit() {
        let parts = [("machine.nodeAnnotations", json!({"a": "x".repeat(256 << 10)}))];

        assert_eq!(control_plane("1.12", &parts), ["error machine.nodeAnnotations"]);
    }
}
