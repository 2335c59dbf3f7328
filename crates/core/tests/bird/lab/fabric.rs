//! What real sessions need besides the node: leafs that run FRR 8.4, and a way to read what they have.

use std::collections::BTreeMap;

use serde_json::Value;

use super::bird::{Bird, log, protocols, start};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, output_text, wait_for};
use ichor_testbed::routing::service_of;

/// Which of FRR's programs a leaf runs.
const DAEMONS: &str = "zebra_options=\"-P 0\"\nbgpd_options=\"-P 0\"\nbfdd_options=\"-P 0\"\n";

/// A leaf before it knows anybody: its loopbacks, one that all leafs have, and what a node must not take.
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

/// Tells a leaf whom it peers with: `neighbors` are lines that put nodes into the group NODES.
pub fn peer(leaf: &LabMachine, nth: u8, asn: &str, neighbors: &str) {
    // By address nobody needs advertisements, which would give the others addresses.
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

/// A node with what it is told by a cluster file: BIRD runs once its links are there.
pub struct Node {
    pub machine: LabMachine,
    conf: String,
}

impl Node {
    /// The first node of a file, with the addresses that are its sources.
    pub fn new(bird: Bird, text: &str) -> Self {
        let conf = service_of(text).unwrap().files[0].text.clone();
        let machine = bird.machine();
        machine.ask("echo 1 >/proc/sys/net/ipv6/conf/all/forwarding; echo 1 >/proc/sys/net/ipv4/ip_forward");
        for line in conf.lines() {
            if let Some(address) = line.trim().strip_prefix("krt_prefsrc = ") {
                machine.ask(&format!("ip address add {} dev lo", address.trim_end_matches(';')));
            }
        }
        // Another address of the link, which nobody shall hear of.
        machine.ask("ip address add 198.51.100.1/32 dev lo && ip address add 2001:db8:f::1/128 dev lo");
        Self { machine, conf }
    }

    pub fn start(&self) {
        start(&self.machine, &self.conf);
    }

    /// Waits for that many sessions whose names start so.
    pub fn wait_for_sessions(&self, name: &str, number: usize) {
        let up = || {
            let protocols = protocols(&self.machine);
            let sessions = protocols.iter().filter(|(known, _)| known.starts_with(name));
            sessions.filter(|(_, lines)| lines[0].ends_with("Established")).count()
        };
        let state = || self.machine.ask("birdc show protocols") + &log(&self.machine);
        wait_for(&format!("{number} sessions {name}"), || up() == number, state);
    }

    /// The routes that BIRD gave the kernel: prefix, and what stands behind it.
    pub fn kernel(&self, family: &str) -> BTreeMap<String, String> {
        let said = self.machine.ask(&format!("ip -o {family} route show proto bird"));
        let pair = |line: &str| line.split_once(' ').map(|(net, rest)| (net.to_owned(), rest.to_owned()));
        said.lines().filter_map(pair).collect()
    }
}

/// What a leaf has of a family, with the path of the best: all its prefixes.
pub fn rib(leaf: &LabMachine, family: &str) -> BTreeMap<String, String> {
    let said = leaf.ask(&format!("vtysh -c 'show bgp {family} unicast json'"));
    let json: Value = serde_json::from_str(&said).unwrap();
    let path = |routes: &Value| routes[0]["path"].as_str().unwrap_or_default().to_owned();
    let routes = json["routes"].as_object().into_iter().flatten();
    routes.map(|(net, routes)| (net.clone(), path(routes))).collect()
}

/// What a leaf has of its own, in the form of [`rib`].
pub fn own(nth: u8, family: &str) -> BTreeMap<String, String> {
    let nets = match family {
        "ipv4" => [format!("10.255.0.{nth}/32"), "10.255.0.99/32".to_owned(), "192.0.2.1/32".to_owned()],
        _ => [format!("fd00:255::{nth}/128"), "fd00:255::99/128".to_owned(), "2001:db8::1/128".to_owned()],
    };
    nets.into_iter().map(|net| (net, String::new())).collect()
}

/// Waits until a leaf has exactly its own and these, with their paths.
pub fn wait_for_rib(leaf: &LabMachine, nth: u8, family: &str, more: &[(&str, String)]) {
    let mut meant = own(nth, family);
    meant.extend(more.iter().map(|(net, path)| ((*net).to_owned(), path.clone())));
    wait_for(
        &format!("leaf {nth}, {family}: {meant:#?}"),
        || rib(leaf, family) == meant,
        || format!("{:#?}", rib(leaf, family)),
    );
}

/// What a leaf knows of the node's BFD, once it is up.
pub fn bfd(leaf: &LabMachine) -> Value {
    let peers = || -> Value { serde_json::from_str(&leaf.ask("vtysh -c 'show bfd peers json'")).unwrap() };
    wait_for("BFD", || peers()[0]["status"] == "up", || peers().to_string());
    // The pace is agreed upon after that.
    leaf.ask("sleep 1");
    peers()[0].clone()
}
