//! Machines discovered on a network, in the form of a cluster file.

use std::net::IpAddr;

use serde::Serialize;

use crate::bringup::identity::IdentityMatch;
use crate::bringup::{MachineFacts, MachineIdentity};
use crate::plan::Plan;
use ichor_talos::document::one_line;
use ichor_talos::peer::Pin;
use ichor_talos::resource::{Disk, LinkStatus, SystemInformation};
use ichor_values::Mac;

/// A machine that answers on the port of the Talos API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiscoveredMachine {
    /// Its address.
    pub address: IpAddr,
    /// Its other probed addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_addresses: Vec<IpAddr>,
    /// Its state.
    pub state: DiscoveryState,
    /// The fingerprint of its certificate.
    pub fingerprint: Pin,
    /// The matching node of the cluster file, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// A note, such as the owner of its certificate or a failed query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Its release, if it reports it.
    #[serde(rename = "talos_version", skip_serializing_if = "Option::is_none")]
    pub talos: Option<String>,
    /// Its hostname.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Its UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Its serial number.
    #[serde(rename = "serial_number", skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Manufacturer and model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its ports.
    pub ports: Vec<DiscoveredPort>,
    /// Its disks.
    pub disks: Vec<DiscoveredDisk>,
}

/// The state of a discovered machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscoveryState {
    /// In maintenance mode.
    Maintenance,
    /// A node of this cluster.
    Configured,
    /// Configured, but not a node of this cluster.
    #[serde(rename = "foreign")]
    Other,
}

/// A port of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiscoveredPort {
    /// The kernel's name.
    #[serde(rename = "interface")]
    pub name: String,
    /// Its permanent MAC address.
    pub mac: Mac,
    /// Whether it has a carrier.
    pub carrier: bool,
    /// The kernel's driver.
    pub driver: String,
}

/// A disk of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiscoveredDisk {
    /// Such as `/dev/sda`.
    pub path: String,
    /// Bytes.
    #[serde(rename = "size_bytes")]
    pub size: u64,
    /// Its size as text.
    #[serde(skip)]
    pub(crate) pretty: String,
    /// Its model.
    pub model: String,
    /// Such as `nvme`.
    pub transport: String,
}

impl DiscoveredMachine {
    /// A machine of which only the address, state and fingerprint are known.
    pub fn new(address: IpAddr, state: DiscoveryState, fingerprint: Pin) -> Self {
        Self {
            address,
            other_addresses: Vec::new(),
            state,
            fingerprint,
            node: None,
            note: None,
            talos: None,
            hostname: None,
            uuid: None,
            serial: None,
            model: None,
            ports: Vec::new(),
            disks: Vec::new(),
        }
    }

    /// Whether both are one machine with two addresses. Ports decide; without them, the certificate.
    fn is_same_machine(&self, other: &Self) -> bool {
        if self.ports.is_empty() || other.ports.is_empty() {
            return self.fingerprint == other.fingerprint;
        }
        self.ports.iter().any(|port| other.ports.iter().any(|it| it.mac == port.mac))
    }

    /// Adds its ports; virtual links are ignored.
    pub fn add_links(&mut self, links: &[(String, LinkStatus)]) {
        let ports = links.iter().filter(|(_, link)| link.is_port()).filter_map(|(name, link)| {
            let mac = Mac::parse(link.mac()?).ok()?;
            Some(DiscoveredPort {
                name: name.clone(),
                mac,
                carrier: link.link_state,
                driver: link.driver.clone(),
            })
        });
        self.ports = ports.collect();
        self.ports.sort_by(|one, other| one.name.cmp(&other.name));
    }

    /// Adds its disks; read-only ones are ignored.
    pub fn add_disks(&mut self, disks: &[(String, Disk)]) {
        let disks = disks.iter().filter(|(_, it)| !it.cdrom && !it.readonly && it.size > 0);
        let disk = |(_, it): &(String, Disk)| DiscoveredDisk {
            path: it.dev_path.clone(),
            size: it.size,
            pretty: it.pretty_size.clone(),
            model: it.model.clone(),
            transport: it.transport.clone(),
        };
        self.disks = disks.map(disk).collect();
        self.disks.sort_by(|one, other| one.path.cmp(&other.path));
    }

    /// Adds the firmware's information.
    pub fn add_system(&mut self, system: &SystemInformation) {
        let non_empty = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
        self.uuid = non_empty(&system.uuid);
        self.serial = non_empty(&system.serial);
        self.model = non_empty(&format!("{} {}", system.manufacturer, system.product_name));
    }

    /// Finds the matching node of a plan.
    pub fn match_node(&mut self, plan: &Plan) {
        let facts = MachineFacts {
            macs: self.ports.iter().map(|port| port.mac).collect(),
            uuid: self.uuid.clone(),
            fingerprint: None,
            hostname: self.hostname.clone(),
        };
        let is = |name: &str, identity: &MachineIdentity| match self.state {
            DiscoveryState::Maintenance => identity.match_unconfigured(&facts) == IdentityMatch::Same,
            DiscoveryState::Configured => identity.match_member(&facts, name) == IdentityMatch::Same,
            DiscoveryState::Other => false,
        };
        let mut nodes = plan.nodes.iter();
        let node = nodes.find(|node| is(node.name.as_str(), &MachineIdentity::from_plan(node)));
        self.node = node.map(|node| node.name.to_string());
    }

    /// The row of the table with [`HEADING`].
    pub fn row(&self) -> Vec<String> {
        let state = match (self.state, &self.note) {
            (DiscoveryState::Maintenance, None) => "maintenance".to_owned(),
            (DiscoveryState::Maintenance, Some(note)) => format!("maintenance\n{note}"),
            (DiscoveryState::Configured, None) => "of this cluster".to_owned(),
            (DiscoveryState::Configured, Some(note)) => format!("of this cluster\n{note}"),
            (DiscoveryState::Other, note) => note.clone().unwrap_or_else(|| "configured".to_owned()),
        };
        let node = match &self.node {
            Some(node) => node.clone(),
            None if self.state == DiscoveryState::Maintenance => "new".to_owned(),
            None => String::new(),
        };
        let ports = self.ports.iter().map(|port| {
            format!("{} {}{}", port.name, port.mac, if port.carrier { "" } else { " (no carrier)" })
        });
        let disks = self.disks.iter().map(|disk| format!("{} {}", disk.path, disk.pretty));
        let lines = |all: Vec<String>| all.join("\n");
        let addresses = [&self.address].into_iter().chain(&self.other_addresses).map(ToString::to_string);
        vec![
            lines(addresses.collect()),
            state,
            node,
            self.talos.clone().unwrap_or_default(),
            lines(ports.collect()),
            lines(disks.collect()),
        ]
    }

    /// The node as a line of a cluster file, preceded by a comment with further details.
    pub(crate) fn to_yaml(&self, name: &str) -> String {
        let macs: Vec<String> = self.ports.iter().map(|port| format!("\"{}\"", port.mac)).collect();
        let disk = match self.disks.as_slice() {
            [one] => format!(", install: {{disk: {}}}", quote_yaml(&one.path)),
            _ => String::new(),
        };
        let mut known = vec![format!("fingerprint {}", self.fingerprint)];
        known.extend(self.model.iter().map(|model| one_line(&model.as_str().into())));
        known.extend(self.uuid.iter().map(|uuid| format!("UUID {}", quote_yaml(uuid))));
        if self.disks.len() > 1 {
            let disks = self
                .disks
                .iter()
                .map(|disk| format!("{} {}", quote_yaml(&disk.path), quote_yaml(&disk.pretty)));
            known.push(format!("disks {}", disks.collect::<Vec<_>>().join(", ")));
        }
        format!(
            "  # {}\n  - {{name: {name}, macs: [{}]{disk}, address: {{dhcp: \"{}\"}}}}\n",
            known.join(", "),
            macs.join(", "),
            self.address
        )
    }
}

/// Machines in the order of their addresses, each one once with all its addresses. The answer at its first address without a
/// failed query is kept.
pub fn merge_addresses(mut found: Vec<DiscoveredMachine>) -> Vec<DiscoveredMachine> {
    found.sort_by_key(|it| (it.note.is_some(), it.address));
    let mut machines: Vec<DiscoveredMachine> = Vec::new();
    for machine in found {
        match machines.iter_mut().find(|known| known.is_same_machine(&machine)) {
            Some(known) => known.other_addresses.push(machine.address),
            None => machines.push(machine),
        }
    }
    machines.sort_by_key(|it| it.address);
    machines
}

/// The heading of [`DiscoveredMachine::row`].
pub const HEADING: [&str; 6] = ["ADDRESS", "STATE", "NODE", "TALOS", "PORTS", "DISKS"];

/// A machine's text as a YAML scalar, quoted if it has characters other than those of a path.
fn quote_yaml(text: &str) -> String {
    let harmless = |letter: char| letter.is_ascii_alphanumeric() || "/._- ".contains(letter);
    if text.chars().all(harmless) { text.to_owned() } else { one_line(&text.into()) }
}

/// The nodes to add to a cluster file: machines in maintenance mode that it does not have; none without such machines.
pub fn new_nodes_yaml(found: &[DiscoveredMachine], taken: &[String]) -> Option<String> {
    let new = found.iter().filter(|it| it.state == DiscoveryState::Maintenance && it.node.is_none());
    let mut text = String::new();
    let mut number = 0;
    for machine in new {
        let name = loop {
            number += 1;
            let name = format!("new{number}");
            if !taken.contains(&name) {
                break name;
            }
        };
        text.push_str(&machine.to_yaml(&name));
    }
    (!text.is_empty()).then(|| format!("nodes:\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{FileError, load};
    use crate::plan::tests::planned;
    use ichor_talos::document;

    struct SingleFile(String);

    impl crate::cluster::Files for SingleFile {
        fn read(&mut self, _: &str) -> Result<Vec<u8>, FileError> {
            Ok(self.0.clone().into())
        }

        fn find(&mut self, _: &str) -> Result<Vec<String>, FileError> {
            Ok(Vec::new())
        }
    }

    fn machine(last: u8) -> DiscoveredMachine {
        let address = IpAddr::from([10, 0, 0, last]);
        let mut found = DiscoveredMachine::new(address, DiscoveryState::Maintenance, Pin::of_key(&[last]));
        let link = |mac: &str, kind: &str| LinkStatus {
            r#type: "ether".into(),
            permanent_addr: mac.into(),
            kind: kind.into(),
            ..LinkStatus::default()
        };
        found.add_links(&[
            ("eth1".into(), link(&format!("02:00:00:00:01:{last:02x}"), "")),
            ("eth0".into(), link(&format!("02:00:00:00:00:{last:02x}"), "")),
            ("bond0".into(), link("02:00:00:00:00:ff", "bond")),
        ]);
        let disk = |path: &str| Disk {
            dev_path: path.into(),
            size: 1,
            pretty_size: "11 GB".into(),
            ..Disk::default()
        };
        found.add_disks(&[
            ("sr0".into(), Disk { cdrom: true, ..disk("/dev/sr0") }),
            ("vda".into(), disk("/dev/vda")),
        ]);
        found
    }

    #[test]
    fn a_machine_is_matched_by_its_ports() {
        let plan = planned(
            "{cluster: {name: sol, id: 101, talos: v1.13.9}, nodes: [{name: a, index: 11, macs: [\"02:00:00:00:00:07\"]}]}",
        );
        let (mut known, mut new) = (machine(7), machine(8));

        known.match_node(&plan);
        new.match_node(&plan);

        assert_eq!(known.node.as_deref(), Some("a"));
        assert_eq!(new.node, None);
        assert_eq!(
            known.row()[4],
            "eth0 02:00:00:00:00:07 (no carrier)\neth1 02:00:00:00:01:07 (no carrier)"
        );
        assert_eq!(known.row()[5], "/dev/vda 11 GB");
    }

    #[test]
    fn a_machine_with_several_addresses_is_one_machine() {
        let at = |address: &str, machine: DiscoveredMachine| DiscoveredMachine {
            address: address.parse().unwrap(),
            ..machine
        };
        let mut other_key = at("fd00:101::7", machine(7));
        other_key.fingerprint = Pin::of_key(b"another");
        let foreign = |address| DiscoveredMachine {
            state: DiscoveryState::Other,
            ports: Vec::new(),
            ..at(address, machine(9))
        };
        let failed = DiscoveredMachine { note: Some("no answer".into()), ..machine(7) };

        let found = merge_addresses(vec![
            foreign("fd00:101::9"),
            machine(8),
            other_key,
            failed,
            at("10.0.1.7", machine(7)),
            foreign("10.0.0.9"),
        ]);

        let addresses: Vec<_> = found.iter().map(|it| it.row()[0].clone()).collect();
        assert_eq!(addresses, ["10.0.0.8", "10.0.0.9\nfd00:101::9", "10.0.1.7\nfd00:101::7\n10.0.0.7"]);
        assert!(found.iter().all(|it| it.note.is_none()), "{found:?}");
    }

    #[test]
    fn new_nodes_are_valid_yaml_with_unique_names() {
        let mut odd = machine(8);
        odd.add_system(&SystemInformation {
            manufacturer: "Ac\nme: {".into(),
            product_name: "#1".into(),
            uuid: "a-b".into(),
            ..SystemInformation::default()
        });

        let text = new_nodes_yaml(&[machine(7), odd], &["new1".to_owned()]).unwrap();

        let read = document::read(&text).unwrap();
        let nodes = read[0]["nodes"].as_array().unwrap();
        assert_eq!(nodes.len(), 2);
        assert_eq!(nodes[0]["name"], "new2");
        assert_eq!(nodes[0]["macs"][1], "02:00:00:00:01:07");
        assert_eq!(nodes[1]["install"]["disk"], "/dev/vda");
        assert_eq!(nodes[1]["address"]["dhcp"], "10.0.0.8");
        assert_eq!(text.lines().count(), 5, "{text}");

        let file = format!("cluster: {{name: sol, id: 101, talos: v1.13.9}}\n{text}");
        assert_eq!(load("ichor.yaml", &mut SingleFile(file)).problems, []);
    }

    #[test]
    fn known_machines_are_not_listed_as_new() {
        let mut known = machine(7);
        known.node = Some("a".into());
        let other = DiscoveredMachine { state: DiscoveryState::Other, ..machine(8) };

        assert_eq!(new_nodes_yaml(&[known, other], &[]), None);
    }
}
