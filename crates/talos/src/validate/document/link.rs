//! Links, and the settings that every kind of link has: addresses and routes.

use std::net::IpAddr;

use super::required;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Tables of routes that belong to the kernel.
const RESERVED_TABLES: [&str; 4] = ["unspec", "default", "main", "local"];

/// Judges a link that has nothing but a name of its own.
pub(crate) fn named(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("name"), issues);
    common(document, issues);
}

/// Judges a VLAN.
pub fn vlan(document: &Field<'_>, issues: &mut DocumentIssues) {
    let id = document.get("vlanID");
    if !(1..=4094).contains(&id.number()) {
        issues.error(&id, "a VLAN has a number between 1 and 4094");
    }
    required(&document.get("parent"), issues);
    named(document, issues);
}

/// Judges a VRF.
pub fn vrf(document: &Field<'_>, issues: &mut DocumentIssues) {
    let table = document.get("table");
    if !table.is_set() || RESERVED_TABLES.contains(&table.text()) {
        issues.error(&table, "a VRF needs a table of its own, with a number between 1 and 252");
    }
    named(document, issues);
}

/// Validates the common settings of links.
pub(crate) fn common(link: &Field<'_>, issues: &mut DocumentIssues) {
    for address in link.get("addresses").items().map(|address| address.get("address")) {
        if required(&address, issues) && is_unspecified(address.text()) {
            issues.error(&address, format!("{} is not an address that a link can have", address.text()));
        }
    }
    for route in link.get("routes").items() {
        let destination = route.get("destination");
        if is_unspecified(destination.text()) {
            let message = "a default route is written without a destination: leave it out";
            issues.error(&destination, message);
        }
        for address in ["gateway", "source"].map(|key| route.get(key)) {
            if is_unspecified(address.text()) {
                issues.error(&address, format!("{} is not a valid address of a machine", address.text()));
            }
        }
    }
}

/// Whether it is 0.0.0.0 or ::, with or without a length.
fn is_unspecified(text: &str) -> bool {
    let address = text.split('/').next().unwrap_or_default();
    address.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_link_has_a_name_and_usable_addresses() {
        check(
            "LinkConfig",
            &[
                ("name: eth0\naddresses: [{address: 10.0.0.1/24}]\nroutes: [{gateway: 10.0.0.254}, {}]", &[]),
                ("mtu: 1500", &["!name"]),
                (
                    "name: a\naddresses: [{}, {address: 0.0.0.0/0}, {address: '::/64'}, {address: 10.0.0.1/32}]",
                    &["!addresses[0].address", "!addresses[1].address", "!addresses[2].address"],
                ),
                (
                    "name: a\nroutes: [{destination: 0.0.0.0/0}, {destination: '::/0', gateway: '::', source: 0.0.0.0}]",
                    &[
                        "!routes[0].destination",
                        "!routes[1].destination",
                        "!routes[1].gateway",
                        "!routes[1].source",
                    ],
                ),
            ],
        );
        check(
            "DummyLinkConfig",
            &[("name: d\naddresses: [{}]", &["!addresses[0].address"]), ("up: true", &["!name"])],
        );
        check("BridgeConfig", &[("name: br0", &[]), ("links: [eth0]", &["!name"])]);
    }

    #[test]
    fn a_vlan_has_a_number_and_a_parent() {
        check(
            "VLANConfig",
            &[
                ("name: v\nvlanID: 4094\nparent: eth0", &[]),
                ("name: v\nvlanID: 4095\nparent: eth0", &["!vlanID"]),
                ("mtu: 1", &["!vlanID", "!parent", "!name"]),
            ],
        );
    }

    #[test]
    fn a_vrf_has_a_table_of_its_own() {
        check(
            "VRFConfig",
            &[
                ("name: v\ntable: 123", &[]),
                ("name: v\ntable: '123'", &[]),
                ("name: v", &["!table"]),
                ("name: v\ntable: main", &["!table"]),
                ("name: v\ntable: local\naddresses: [{}]", &["!table", "!addresses[0].address"]),
            ],
        );
    }
}
