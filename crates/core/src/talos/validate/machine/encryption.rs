//! Encryption of the system disk.

use std::collections::BTreeSet;

use crate::talos::validate::Flaws;
use crate::talos::validate::field::Field;

/// Judges `machine.systemDiskEncryption`.
pub fn validate(encryption: &Field<'_>, flaws: &mut Flaws) {
    for volume in ["ephemeral", "state"].map(|volume| encryption.get(volume)) {
        if volume.is_set() {
            keys(&volume.get("keys"), flaws);
        }
    }
}

fn keys(keys: &Field<'_>, flaws: &mut Flaws) {
    if keys.is_empty() {
        flaws.error(keys, "an encrypted volume needs at least one key");
    }
    let mut slots = BTreeSet::new();
    for key in keys.items() {
        let slot = key.get("slot");
        if !slots.insert(slot.number()) {
            flaws.error(&slot, format!("slot {} has a key already", slot.number()));
        }
        if !["nodeID", "static", "kms", "tpm"].iter().any(|kind| key.get(kind).is_set()) {
            flaws.error(&key, "the key is of no kind: set nodeID, static, kms or tpm");
        }
    }
}
