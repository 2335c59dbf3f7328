//! Network interfaces of the old form.

use std::collections::BTreeMap;

use super::{Role, bond, route, vlan, wireguard};
use crate::go::netip;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Members of bonds and bridges, each with the interface that it is part of.
type Members<'v> = BTreeMap<&'v str, &'v str>;

/// Judges `machine.network.interfaces`.
pub(crate) fn validate(interfaces: &Field<'_>, role: Role, issues: &mut DocumentIssues) {
    let members = members(interfaces, issues);
    for interface in interfaces.items() {
        if !interface.is_set() {
            issues.error(&interface, "an interface without anything: remove the entry");
            continue;
        }
        if role == Role::Worker {
            no_shared_address(&interface, issues);
        }
        if !interface.get("ignore").flag() {
            validate_interface(&interface, &members, issues);
        }
    }
}

fn members<'v>(interfaces: &Field<'v>, issues: &mut DocumentIssues) -> Members<'v> {
    let mut members = Members::new();
    for interface in interfaces.items() {
        let (bond, bridge) = (interface.get("bond"), interface.get("bridge"));
        if bond.is_set() && bridge.is_set() {
            issues.error(&interface, "an interface is a bond or a bridge, not both");
        }
        if !bond.get("interfaces").is_empty() && !bond.get("deviceSelectors").is_empty() {
            issues.error(&bond, "members are given by `interfaces` or by `deviceSelectors`, not by both");
        }
        let own = interface.get("interface").text();
        for member in if bridge.is_set() { bridge } else { bond }.get("interfaces").items() {
            match members.insert(member.text(), own) {
                Some(other) if other != own => {
                    let name = member.text();
                    issues.error(
                        &member,
                        format!("{name:?} is part of {other:?} and of {own:?}: it can be of one only"),
                    );
                }
                _ => {}
            }
        }
    }
    members
}

fn no_shared_address(interface: &Field<'_>, issues: &mut DocumentIssues) {
    let vlans = interface.get("vlans").items();
    for vip in vlans.chain([interface.clone()]).map(|link| link.get("vip")).filter(Field::is_set) {
        issues.error(&vip, "a shared address goes to a control plane: remove it from this worker");
    }
}

fn validate_interface(interface: &Field<'_>, members: &Members<'_>, issues: &mut DocumentIssues) {
    identity(interface, issues);
    if interface.get("bond").is_set() {
        bond::validate(&interface.get("bond"), issues);
    }
    if interface.get("wireguard").is_set() {
        wireguard::validate(&interface.get("wireguard"), issues);
    }
    vlan::validate(&interface.get("vlans"), issues);
    addressing(interface, members, issues);
    route::validate(&interface.get("routes"), issues);
}

fn identity(interface: &Field<'_>, issues: &mut DocumentIssues) {
    let (name, selector) = (interface.get("interface"), interface.get("deviceSelector"));
    if name.is_empty() && !selector.is_set() {
        issues.error(interface, "no interface selected: set `interface` or `deviceSelector`");
    }
    if !name.is_empty() && selector.is_set() {
        issues.error(
            &selector,
            "an interface is named or selected, not both: remove `interface` or `deviceSelector`",
        );
    }
    if selector.is_set() && selector.is_empty() {
        issues.error(&selector, "the selector selects nothing: set at least one key");
    }
}

fn addressing(interface: &Field<'_>, members: &Members<'_>, issues: &mut DocumentIssues) {
    let name = interface.get("interface").text();
    let (addresses, cidr, vip) = (interface.get("addresses"), interface.get("cidr"), interface.get("vip"));
    let has_any = interface.get("dhcp").flag() || !addresses.is_empty() || !cidr.is_empty() || vip.is_set();
    if let (Some(master), true) = (members.get(name), has_any) {
        issues.error(interface, format!("{name:?} is part of {master:?}: addresses and DHCP belong there"));
    }
    if !cidr.is_empty() {
        issues.warning(&cidr, "`cidr` is deprecated: use `addresses`");
    }
    judge_addresses(interface, issues);
    if vip.is_set() && !netip::is_ip(vip.get("ip").text()) {
        issues.error(&vip.get("ip"), format!("{:?} is not an address", vip.get("ip").text()));
    }
}

/// Judges the addresses of an interface or of a VLAN.
pub(super) fn judge_addresses(link: &Field<'_>, issues: &mut DocumentIssues) {
    let (addresses, cidr) = (link.get("addresses"), link.get("cidr"));
    if !addresses.is_empty() && !cidr.is_empty() {
        issues.error(&cidr, "`cidr` and `addresses` are not used together: move it to `addresses`");
    }
    let cidr = Some(cidr).filter(|cidr| !cidr.is_empty());
    for address in addresses.items().chain(cidr) {
        let text = address.text();
        if !netip::is_cidr(text) && !netip::is_ip(text) {
            issues.error(&address, format!("{text:?} is not an address: want one such as 10.0.0.11/24"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::{control_plane, worker};

    fn judge(interfaces: serde_json::Value) -> Vec<String> {
        let found = control_plane("1.12", &[("machine.network.interfaces", interfaces)]);
        found.into_iter().map(|line| line.replace("machine.network.interfaces", "")).collect()
    }

    #[test]
    fn an_interface_is_named_or_selected() {
        let interfaces = json!([{}, {"interface": "a", "deviceSelector": {"driver": "virtio"}}, {"deviceSelector": {}},
            {"deviceSelector": {"physical": false}}, null, {"ignore": true}]);

        let want = ["error [0]", "error [1].deviceSelector", "error [2].deviceSelector", "error [4]"];
        assert_eq!(judge(interfaces), want);
    }

    #[test]
    fn a_member_is_of_one_bond_and_has_no_addresses() {
        let interfaces = json!([
            {"interface": "bond0", "bond": {"interfaces": ["eth0", "eth1", "eth1"]}},
            {"interface": "br0", "bridge": {"interfaces": ["eth1"]}},
            {"interface": "eth0", "dhcp": true},
            {"interface": "eth1", "mtu": 9000},
        ]);

        assert_eq!(judge(interfaces), ["error [1].bridge.interfaces[0]", "error [2]"]);
    }

    #[test]
    fn a_bond_is_no_bridge_and_has_one_way_to_its_members() {
        let bond = json!({"interfaces": ["eth0"], "deviceSelectors": [{"driver": "x"}]});

        assert_eq!(
            judge(json!([{"interface": "x", "bond": bond, "bridge": {}}])),
            ["error [0]", "error [0].bond"]
        );
    }

    #[test]
    fn invalid_interface_addresses_are_rejected() {
        let interfaces = json!([
            {"interface": "a", "addresses": ["10.0.0.1/24", "10.0.0.1", "10.0.0.1/33", "x"], "vip": {"ip": "10.0.0.9/32"}},
            {"interface": "b", "cidr": "10.0.0.1/24"},
            {"interface": "c", "cidr": "x", "addresses": ["10.0.0.1/24"]},
        ]);

        let want = [
            "error [0].addresses[2]",
            "error [0].addresses[3]",
            "error [0].vip.ip",
            "warning [1].cidr",
            "warning [2].cidr",
            "error [2].cidr",
            "error [2].cidr",
        ];
        assert_eq!(judge(interfaces), want);
    }

    #[test]
    fn a_worker_shares_no_address() {
        let vip = json!({"ip": "10.0.0.9"});
        let interfaces =
            json!([{"interface": "a", "vip": vip, "ignore": true, "vlans": [{"vlanId": 5, "vip": vip}]}]);

        let want =
            ["error machine.network.interfaces[0].vlans[0].vip", "error machine.network.interfaces[0].vip"];
        assert_eq!(worker("1.12", &[("machine.network.interfaces", interfaces)]), want);
    }
}
