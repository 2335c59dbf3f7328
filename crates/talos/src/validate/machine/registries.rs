//! Registries that images come from.

use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges `machine.registries`.
pub(crate) fn validate(registries: &Field<'_>, issues: &mut DocumentIssues) {
    for part in ["mirrors", "config"].map(|part| registries.get(part)) {
        for (_, entry) in part.entries().filter(|(_, entry)| !entry.is_set()) {
            issues.error(&entry, "a registry without anything: remove the entry");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn empty_registry_entries_are_rejected() {
        let parts =
            [("machine.registries", json!({"mirrors": {"docker.io": null, "a": {}}, "config": {"b": null}}))];

        let want = ["error machine.registries.mirrors.docker.io", "error machine.registries.config.b"];
        assert_eq!(control_plane("1.12", &parts), want);
    }
}
