//! The other machines of real sessions: leafs with FRR 8.4, and readers of their state.

use std::collections::BTreeMap;

use serde_json::Value;

use super::bird::{Bird, log, protocols, start};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, output_text, wait_for};
use ichor_testbed::routing::service_of;

/// The daemons of FRR on a leaf.
const DAEMONS: &str = "zebra_options=\"-P 0\"\nbgpd_options=\"-P 0\"\nbfdd_options=\"-P 0\"\n";

/// A leaf without neighbours: its loopbacks, one that all leafs have, and prefixes that a node must reject.
pub fn leaf(nth: u8) -> LabMachine {
    let machine = Frr::V8.machine();
    Frr::V8.start(&machine, Some(DAEMONS));
    for address in ["10.255.0.99/32", "192.0.2.1/32", "fd00:255::99/128", "2001:db8::1/128"] {
        machine.ask(&format!("ip address add {address} dev lo"));
    }
    machine.ask(&format!(
        "ip address add 10.255.0.{nth}/32 dev lo && ip address add fd00:255::{nth}/128 dev lo"
    ));
    machine
}

/// Configures a leaf's neighbours: `neighbors` are lines that put nodes into the group NODES.
pub fn peer(leaf: &LabMachine, nth: u8, asn: &str, neighbors: &str) {
    // Numbered sessions need no router advertisements, which would assign addresses.
    let port = if neighbors.contains(" interface ") {
        "interface to-node\n no ipv6 nd suppress-ra\n ipv6 nd ra-interval 10\nexit\n"
    } else {
        ""
    };
    let conf = format!(
        "frr defaults datacenter\n\
         route-map LO permit 10\n match interface lo\nexit\n\
         {port}router bgp {asn}\n bgp router-id 10.255.0.{nth}\n no bgp ebgp-requires-policy\n \
         neighbor NODES peer-group\n neighbor NODES remote-as external\n neighbor NODES bfd\n \
         neighbor NODES capability extended-nexthop\n{neighbors} \
         address-family ipv4 unicast\n  redistribute connected route-map LO\n  neighbor NODES activate\n  \
         neighbor NODES default-originate\n exit-address-family\n \
         address-family ipv6 unicast\n  redistribute connected route-map LO\n  neighbor NODES activate\n  \
         neighbor NODES default-originate\n exit-address-family\nexit\n"
    );
    let loaded = Frr::load(leaf, &conf);
    assert!(loaded.status.success(), "{}\n{conf}", output_text(&loaded));
}

/// A node with the configuration of a cluster file: BIRD starts once its links exist.
pub struct Node {
    pub machine: LabMachine,
    conf: String,
}

impl Node {
    /// The first node of a file, with its source addresses.
    pub fn new(bird: Bird, text: &str) -> Self {
        let conf = service_of(text).unwrap().files[0].text.clone();
        let machine = bird.machine();
        machine.ask("echo 1 >/proc/sys/net/ipv6/conf/all/forwarding; echo 1 >/proc/sys/net/ipv4/ip_forward");
        for line in conf.lines() {
            if let Some(address) = line.trim().strip_prefix("krt_prefsrc = ") {
                machine.ask(&format!("ip address add {} dev lo", address.trim_end_matches(';')));
            }
        }
        // Another address of the link, which must not be announced.
        machine.ask("ip address add 198.51.100.1/32 dev lo && ip address add 2001:db8:f::1/128 dev lo");
        Self { machine, conf }
    }

    pub fn start(&self) {
        start(&self.machine, &self.conf);
    }

    /// Waits for this number of sessions whose names have the prefix.
    pub fn wait_for_sessions(&self, name: &str, number: usize) {
        let up = || {
            let protocols = protocols(&self.machine);
            let sessions = protocols.iter().filter(|(known, _)| known.starts_with(name));
            sessions.filter(|(_, lines)| lines[0].ends_with("Established")).count()
        };
        let state = || self.machine.ask("birdc show protocols") + &log(&self.machine);
        wait_for(&format!("{number} sessions {name}"), || up() == number, state);
    }

    /// The routes that BIRD installed in the kernel: prefix and the rest of the line.
    pub fn kernel(&self, family: &str) -> BTreeMap<String, String> {
        let output = self.machine.ask(&format!("ip -o {family} route show proto bird"));
        let pair = |line: &str| line.split_once(' ').map(|(net, rest)| (net.to_owned(), rest.to_owned()));
        output.lines().filter_map(pair).collect()
    }
}

/// The prefixes of a family on a leaf, each with the path of the best route.
pub fn rib(leaf: &LabMachine, family: &str) -> BTreeMap<String, String> {
    let output = leaf.ask(&format!("vtysh -c 'show bgp {family} unicast json'"));
    let json: Value = serde_json::from_str(&output).unwrap();
    let path = |routes: &Value| routes[0]["path"].as_str().unwrap_or_default().to_owned();
    let routes = json["routes"].as_object().into_iter().flatten();
    routes.map(|(net, routes)| (net.clone(), path(routes))).collect()
}

/// A leaf's own prefixes, in the form of [`rib`].
pub fn own(nth: u8, family: &str) -> BTreeMap<String, String> {
    let nets = match family {
        "ipv4" => [format!("10.255.0.{nth}/32"), "10.255.0.99/32".to_owned(), "192.0.2.1/32".to_owned()],
        _ => [format!("fd00:255::{nth}/128"), "fd00:255::99/128".to_owned(), "2001:db8::1/128".to_owned()],
    };
    nets.into_iter().map(|net| (net, String::new())).collect()
}

/// Waits until a leaf has exactly its own prefixes and these, with their paths.
pub fn wait_for_rib(leaf: &LabMachine, nth: u8, family: &str, more: &[(&str, String)]) {
    let mut intended = own(nth, family);
    intended.extend(more.iter().map(|(net, path)| ((*net).to_owned(), path.clone())));
    wait_for(
        &format!("leaf {nth}, {family}: {intended:#?}"),
        || rib(leaf, family) == intended,
        || format!("{:#?}", rib(leaf, family)),
    );
}

/// A leaf's BFD session with the node, once it is up.
pub fn bfd(leaf: &LabMachine) -> Value {
    let peers = || -> Value { serde_json::from_str(&leaf.ask("vtysh -c 'show bfd peers json'")).unwrap() };
    wait_for("BFD", || peers()[0]["status"] == "up", || peers().to_string());
    // The intervals are negotiated after that.
    leaf.ask("sleep 1");
    peers()[0].clone()
}
