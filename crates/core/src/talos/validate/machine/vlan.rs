//! VLANs of an interface of the old form.

use super::interface::judge_addresses;
use crate::talos::validate::Flaws;
use crate::talos::validate::field::Field;

/// Judges `vlans` of an interface.
pub fn validate(vlans: &Field<'_>, flaws: &mut Flaws) {
    for vlan in vlans.items() {
        if vlan.is_set() {
            judge_addresses(&vlan, flaws);
        } else {
            flaws.error(&vlan, "a VLAN without anything: remove the entry");
        }
    }
}
