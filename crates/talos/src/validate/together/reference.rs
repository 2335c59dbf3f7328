//! Dangling references. Talos silently waits forever for their targets.
//!
//! A link that no document makes may be a port of the machine. Only names that no port ever has are reported.

use super::of_kind;
use crate::config::Config;
use crate::link;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Checks every reference to the name of another document.
pub(crate) fn advise(config: &Config, issues: &mut DocumentIssues) {
    for (nth, document) in of_kind(config, "BGPInstanceConfig") {
        issues.document = nth;
        check_target(config, &document.get("vrf"), "VRFConfig", issues);
        for route in document.get("importRoutes").items() {
            check_target(config, &route.get("bgpInstance"), "BGPInstanceConfig", issues);
        }
    }
    for (nth, document) in of_kind(config, "ContainerConfig") {
        issues.document = nth;
        for mount in document.get("mounts").items() {
            check_target(config, &mount.at(["userVolume", "name"]), "UserVolumeConfig", issues);
        }
    }
    for (nth, document) in of_kind(config, "LVMLogicalVolumeConfig") {
        issues.document = nth;
        check_target(config, &document.get("volumeGroup"), "LVMVolumeGroupConfig", issues);
    }
    links(config, issues);
}

fn check_target(config: &Config, field: &Field<'_>, kind: &str, issues: &mut DocumentIssues) {
    let is_there = || of_kind(config, kind).any(|(_, document)| document.get("name").text() == field.text());
    if !field.is_empty() && !is_there() {
        issues.advice(field, format!("no {kind} document is called {:?}", field.text()));
    }
}

fn links(config: &Config, issues: &mut DocumentIssues) {
    let mut made: Vec<String> = Vec::new();
    for document in &config.documents {
        made.extend(link::made(&document.value).into_iter().map(str::to_owned));
        made.extend(vlans(&Field::root(&document.value)));
    }
    for (nth, document) in config.documents.iter().enumerate() {
        issues.document = nth;
        for link in link::expected(&document.value) {
            if is_virtual(link.name) && !made.iter().any(|made| made == link.name) {
                let key = document.kind.and_then(|kind| link.key.strip_prefix(kind.name)?.strip_prefix('.'));
                let message =
                    format!("nothing makes a link {:?}: no document, and no port is called so", link.name);
                issues.advice(key.unwrap_or(&link.key), message);
            }
        }
    }
}

/// The names of VLANs of the old form, such as `eth0.100`.
fn vlans(document: &Field<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for interface in document.at(["machine", "network", "interfaces"]).items() {
        let name = interface.get("interface").text();
        let ids = interface.get("vlans").items().map(|vlan| vlan.get("vlanId").number());
        names.extend(ids.map(|id| format!("{name}.{id}")));
    }
    names
}

/// Whether only a configuration makes links of such a name: `bond1`, `br0`, `vrf-blue`, `eth0.100`.
fn is_virtual(name: &str) -> bool {
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let vlan = name.rsplit_once('.').is_some_and(|(_, id)| id.parse::<u16>().is_ok_and(|id| id < 4095));
    numbered("bond") || numbered("br") || name.starts_with("vrf") || vlan
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::validate::Mode;
    use crate::validate::trial::{judge, machine_document, with};

    fn advice(documents: &[Value]) -> Vec<String> {
        let mut found = judge("1.14", Mode::Metal, documents);
        found.retain(|line| line.starts_with("advice"));
        found
    }

    #[test]
    fn names_of_documents_lead_to_documents() {
        let bgp = json!({"kind": "BGPInstanceConfig", "name": "a", "vrf": "blue", "importRoutes": [{"bgpInstance": "b"}]});

        assert_eq!(advice(std::slice::from_ref(&bgp)), ["advice vrf", "advice importRoutes[0].bgpInstance"]);
        let vrf = json!({"kind": "VRFConfig", "name": "blue"});
        let other = json!({"kind": "BGPInstanceConfig", "name": "b"});
        assert!(advice(&[bgp, vrf, other]).is_empty());
    }

    #[test]
    fn referenced_volumes_and_groups_exist() {
        let container =
            json!({"kind": "ContainerConfig", "name": "a", "mounts": [{"userVolume": {"name": "data"}}]});
        let logical = json!({"kind": "LVMLogicalVolumeConfig", "name": "a", "volumeGroup": "vg"});

        let want = ["advice mounts[0].userVolume.name", "advice 1:volumeGroup"];
        assert_eq!(advice(&[container, logical]), want);
    }

    #[test]
    fn an_undefined_link_is_reported_unless_it_may_be_a_port() {
        let vlan = |parent: &str| json!({"kind": "VLANConfig", "name": "v", "vlanID": 5, "parent": parent});
        let bond = json!({"kind": "BondConfig", "name": "bond0", "links": ["enp1s0"]});

        assert_eq!(advice(&[vlan("bond0")]), ["advice parent"]);
        assert!(advice(&[vlan("bond0"), bond]).is_empty() && advice(&[vlan("eth0")]).is_empty());
    }

    #[test]
    fn vlans_of_the_old_form_count_as_defined() {
        let vip = json!({"kind": "Layer2VIPConfig", "name": "10.0.0.9", "link": "eth0.5"});
        let interfaces = json!([{"interface": "eth0", "vlans": [{"vlanId": 5}]}]);
        let old =
            with(machine_document("controlplane", "a2V5"), &[("machine.network.interfaces", interfaces)]);

        assert_eq!(advice(std::slice::from_ref(&vip)), ["advice link"]);
        assert!(advice(&[old, vip]).is_empty());
    }
}
