//! Registries that images come from.

use crate::talos::validate::Flaws;
use crate::talos::validate::field::Field;

/// Judges `machine.registries`.
pub fn validate(registries: &Field<'_>, flaws: &mut Flaws) {
    for part in ["mirrors", "config"].map(|part| registries.get(part)) {
        for (_, entry) in part.entries().filter(|(_, entry)| !entry.is_set()) {
            flaws.error(&entry, "a registry without anything: remove the entry");
        }
    }
}
