//! Encryption of the system disk.

use std::collections::BTreeSet;

use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges `machine.systemDiskEncryption`.
pub(crate) fn validate(encryption: &Field<'_>, issues: &mut DocumentIssues) {
    for volume in ["ephemeral", "state"].map(|volume| encryption.get(volume)) {
        if volume.is_set() {
            keys(&volume.get("keys"), issues);
        }
    }
}

fn keys(keys: &Field<'_>, issues: &mut DocumentIssues) {
    if keys.is_empty() {
        issues.error(keys, "an encrypted volume needs at least one key");
    }
    let mut slots = BTreeSet::new();
    for key in keys.items() {
        let slot = key.get("slot");
        if !slots.insert(slot.number()) {
            issues.error(&slot, format!("slot {} has a key already", slot.number()));
        }
        if !["nodeID", "static", "kms", "tpm"].iter().any(|kind| key.get(kind).is_set()) {
            issues.error(&key, "the key is of no kind: set nodeID, static, kms or tpm");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn a_volume_has_keys_each_of_a_kind_and_in_a_slot_of_its_own() {
        let state = json!({"keys": [{"slot": 0, "tpm": {}}, {"slot": 1}, {"nodeID": {}}]});
        let parts = [("machine.systemDiskEncryption", json!({"state": state, "ephemeral": {}}))];

        let want = [
            "error machine.systemDiskEncryption.ephemeral.keys",
            "error machine.systemDiskEncryption.state.keys[1]",
            "error machine.systemDiskEncryption.state.keys[2].slot",
        ];
        assert_eq!(control_plane("1.12", &parts), want);
    }
}
