//! VLANs of an interface of the old form.

use super::interface::judge_addresses;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges `vlans` of an interface.
pub(crate) fn validate(vlans: &Field<'_>, issues: &mut DocumentIssues) {
    for vlan in vlans.items() {
        if vlan.is_set() {
            judge_addresses(&vlan, issues);
        } else {
            issues.error(&vlan, "a VLAN without anything: remove the entry");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn vlan_addresses_are_checked() {
        let vlans = json!([{"vlanId": 5, "addresses": ["10.0.0.1/24", "x"], "cidr": "10.0.0.2/24"}, null]);
        let parts = [("machine.network.interfaces", json!([{"interface": "eth0", "vlans": vlans}]))];

        let at = "error machine.network.interfaces[0].vlans";
        let want = [format!("{at}[0].cidr"), format!("{at}[0].addresses[1]"), format!("{at}[1]")];
        assert_eq!(control_plane("1.12", &parts), want);
    }
}
