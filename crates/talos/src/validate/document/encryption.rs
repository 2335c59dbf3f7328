//! Encryption of volumes.

use std::collections::BTreeSet;

use super::required;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// Whether a volume is encrypted: other settings have no effect alone.
pub fn is_on(encryption: &Field<'_>) -> bool {
    !["", "none"].contains(&encryption.get("provider").text()) || !encryption.get("keys").is_empty()
}

/// Judges it.
pub(crate) fn validate(encryption: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    if !is_on(encryption) {
        return;
    }
    let provider = encryption.get("provider");
    if provider.text() != "luks2" {
        issues.error(&provider, "the only provider is luks2");
    }
    let keys = encryption.get("keys");
    required(&keys, issues);
    let mut slots = BTreeSet::new();
    for key in keys.items() {
        let slot = key.get("slot");
        if !slots.insert(slot.number()) {
            issues.error(&slot, format!("slot {} has a key already", slot.number()));
        }
        if !["static", "nodeID", "kms", "tpm"].iter().any(|kind| key.get(kind).is_set()) {
            issues.error(&key, "the key is of no kind: set nodeID, static, kms or tpm");
        }
        if setting.at_least(12) {
            registers(&key.at(["tpm", "options", "pcrs"]), issues);
        }
    }
}

fn registers(registers: &Field<'_>, issues: &mut DocumentIssues) {
    for register in registers.items().filter(|register| !(0..=23).contains(&register.number())) {
        issues.error(&register, format!("a TPM has the registers 0 to 23, and not {}", register.number()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn keys_have_slots_and_kinds() {
        check(
            "VolumeConfig",
            &[
                (
                    "name: EPHEMERAL\nencryption: {provider: luks2, keys: [{slot: 0, nodeID: {}}, {slot: 1, tpm: {}}]}",
                    &[],
                ),
                ("name: EPHEMERAL\nencryption: {cipher: x}", &[]),
                ("name: EPHEMERAL\nencryption: {provider: luks2}", &["!encryption.keys"]),
                ("name: EPHEMERAL\nencryption: {keys: [{nodeID: {}}]}", &["!encryption.provider"]),
                (
                    "name: EPHEMERAL\nencryption: {provider: luks2, keys: [{}, {kms: {}}]}",
                    &["!encryption.keys[0]", "!encryption.keys[1].slot"],
                ),
                (
                    "name: EPHEMERAL\nencryption: {provider: luks2, keys: [{tpm: {options: {pcrs: [0, 23, 24, -1]}}}]}",
                    &["!encryption.keys[0].tpm.options.pcrs[2]", "!encryption.keys[0].tpm.options.pcrs[3]"],
                ),
            ],
        );
    }
}
