//! Sessions of a gobgpd with our file: with two FRR leafs and a speaker.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::model::{BgpModel, Family};
use serde_json::Value;

use super::folder::Folder;
use super::{NodeFile, answers, four, node_files, three};
use ichor_testbed::routing::PASSWORD;

/// Inputs: the routes that the agent and the speaker add, and those of each leaf.
struct Scene {
    /// Address of the node on each port, if it has one.
    node: [&'static str; 2],
    /// AS number and announced networks of each leaf.
    leafs: [(u32, &'static [&'static str]); 2],
    /// Prefixes that the speaker announces.
    speaker: &'static [&'static str],
}

/// The expected prefixes of each machine with their paths.
type Known = BTreeMap<String, String>;

fn case(name: &str) -> NodeFile {
    node_files()
        .into_iter()
        .find(|node_file| node_file.name == name)
        .unwrap_or_else(|| panic!("no case {name}"))
}

fn family(prefix: &str) -> &'static str {
    if prefix.contains(':') { "ipv6" } else { "ipv4" }
}

fn lines<'p>(prefixes: impl IntoIterator<Item = &'p str>) -> String {
    let mut text = String::new();
    for prefix in prefixes {
        let _ = writeln!(text, "{} {prefix}", family(prefix));
    }
    text
}

impl Scene {
    /// Runs the scenario until the leafs have the expected routes.
    fn play(&self, node_file: &NodeFile, programs: &Path, wanted: &[&str]) -> Vec<(String, Value)> {
        let model = &node_file.model;
        let announced: Vec<String> = model.fabric.announced.iter().map(|one| one.net.to_string()).collect();
        // Addresses that must not be announced.
        let astray = ["10.99.0.1/32", "fd00:99::1/128"];
        let agent = lines(announced.iter().map(String::as_str).chain(astray));
        let own = announced.iter().map(String::as_str).chain(wanted.iter().copied());
        let mut until = String::new();
        for prefix in own {
            let _ = writeln!(until, "leaf1 {prefix}");
        }
        let _ = writeln!(until, "leaf2 {}", wanted[0]);
        for (_, networks) in self.leafs {
            let _ = writeln!(until, "node {}", networks[0]);
        }
        let files = [
            ("node.toml", node_file.conf.clone()),
            ("speaker.toml", speaker(model)),
            ("leaf1.conf", self.leaf(model, 0)),
            ("leaf2.conf", self.leaf(model, 1)),
            ("links", self.links(model)),
            ("agent", agent),
            ("speaker", lines(self.speaker.iter().copied())),
            ("until", until),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let kind = programs.ancestors().nth(2).and_then(Path::file_name).unwrap().to_str().unwrap();
        let folder = Folder::new(&format!("session-{}-{kind}", node_file.name), &files);
        answers(&folder.run("gobgp-session", programs, "", &[]))
    }

    fn links(&self, model: &BgpModel) -> String {
        let mut text = String::new();
        for (nth, address) in self.node.iter().enumerate().filter(|(_, address)| !address.is_empty()) {
            let nodad = if address.contains(':') { " nodad" } else { "" };
            let _ = writeln!(text, "ip address add {address} dev eth{nth}{nodad}");
            let (length, far) = (address.split_once('/').unwrap().1, far(model, nth));
            let _ = writeln!(text, "ip -n leaf{} address add {far}/{length} dev swp1{nodad}", nth + 1);
        }
        let workload = model.workload.as_ref().unwrap();
        let (ours, theirs) = (&workload.ours, &workload.theirs);
        let _ = writeln!(text, "ip link add {} type veth peer name {}", ours.link, theirs.link);
        for end in [ours, theirs] {
            let nodad = if end.address.is_ipv6() { " nodad" } else { "" };
            let _ = writeln!(text, "ip link set {} up", end.link);
            let (address, prefix) = (end.address, workload.prefix);
            let _ = writeln!(text, "ip address add {address}/{prefix} dev {}{nodad}", end.link);
        }
        text
    }

    /// The remote end of the n-th session.
    fn leaf(&self, model: &BgpModel, nth: usize) -> String {
        let (asn, networks) = self.leafs[nth];
        let neighbor = &model.fabric.neighbors[nth];
        let (peer, find) = match &neighbor.found {
            PeerAddress::Port { .. } => ("swp1".to_owned(), " interface v6only"),
            PeerAddress::Address { .. } => (self.node[nth].split_once('/').unwrap().0.to_owned(), ""),
        };
        let kind = if asn == model.asn.0 { "internal" } else { "external" };
        let mut text = format!(
            "interface swp1\n no ipv6 nd suppress-ra\n ipv6 nd ra-interval 1\nexit\nrouter bgp {asn}\n \
             bgp router-id 10.0.0.{}\n no bgp ebgp-requires-policy\n no bgp network import-check\n \
             no bgp default ipv4-unicast\n neighbor {peer}{find} remote-as {kind}\n neighbor {peer} timers connect 2\n",
            nth + 1
        );
        if neighbor.bfd.is_some() {
            let _ = writeln!(text, " neighbor {peer} bfd");
        }
        if neighbor.password.is_some() {
            let _ = writeln!(text, " neighbor {peer} password {PASSWORD}");
        }
        if neighbor.extends_next_hops() {
            let _ = writeln!(text, " neighbor {peer} capability extended-nexthop");
        }
        for carried in &neighbor.families {
            let name = if *carried == Family::V4 { "ipv4" } else { "ipv6" };
            let _ = writeln!(text, " address-family {name} unicast\n  neighbor {peer} activate");
            for network in networks.iter().filter(|network| family(network) == name) {
                let _ = writeln!(text, "  network {network}");
            }
            text += " exit-address-family\n";
        }
        text + "exit\n"
    }
}

fn far(model: &BgpModel, nth: usize) -> String {
    match &model.fabric.neighbors[nth].found {
        PeerAddress::Address { address, .. } => address.to_string(),
        PeerAddress::Port { .. } => panic!("found by its port"),
    }
}

fn speaker(model: &BgpModel) -> String {
    let workload = model.workload.as_ref().unwrap();
    let (ours, theirs) = (&workload.ours, &workload.theirs);
    let mut text = format!(
        "[global.config]\nas = {}\nrouter-id = \"10.0.0.9\"\nport = -1\n[[neighbors]]\n[neighbors.config]\n\
         neighbor-address = \"{}\"\npeer-as = {}\n[neighbors.transport.config]\nlocal-address = \"{}\"\n\
         [neighbors.timers.config]\nconnect-retry = 1\n",
        theirs.asn, ours.address, ours.asn, theirs.address
    );
    for carried in &workload.families {
        let name = if *carried == Family::V4 { "ipv4" } else { "ipv6" };
        let _ = writeln!(
            text,
            "[[neighbors.afi-safis]]\n[neighbors.afi-safis.config]\nafi-safi-name = \"{name}-unicast\""
        );
    }
    text
}

/// The routes that a leaf learned from the node.
fn learnt(answers: &[(String, Value)], leaf: &str) -> Known {
    let tables = answers.iter().filter(|(what, _)| what.starts_with(leaf));
    let routes = tables.flat_map(|(_, table)| table["routes"].as_object().unwrap());
    let path = |routes: &Value| routes[0]["path"].as_str().unwrap().to_owned();
    routes.map(|(net, routes)| (net.clone(), path(routes))).filter(|(_, path)| !path.is_empty()).collect()
}

/// The prefixes in a table of gobgpd.
fn table<'a>(answers: &'a [(String, Value)], who: &str) -> Vec<&'a str> {
    let tables =
        answers.iter().filter(|(what, _)| *what == format!("{who} ipv4") || *what == format!("{who} ipv6"));
    tables.flat_map(|(_, table)| table.as_object().unwrap().keys()).map(String::as_str).collect()
}

/// The expected routes of a leaf: the node's with its AS number, the speaker's with both numbers.
fn expected(model: &BgpModel, services: &[&str], carried: &[Family]) -> Known {
    let workload = model.workload.as_ref().unwrap();
    let own = model.fabric.announced.iter().map(|one| (one.net.to_string(), model.asn.to_string()));
    let path = format!("{} {}", model.asn, workload.theirs.asn);
    let services = services.iter().map(|service| ((*service).to_owned(), path.clone()));
    let carries =
        |net: &String| carried.contains(if family(net) == "ipv4" { &Family::V4 } else { &Family::V6 });
    own.chain(services).filter(|(net, _)| carries(net)).collect()
}

#[test]
fn unnumbered_leafs_have_exactly_the_announced_routes() {
    let node_file = case("example-gobgp-row1");
    let scene = Scene {
        node: ["", ""],
        leafs: [
            (4_200_000_101, &["198.51.100.0/24", "2001:db8:1::/48"]),
            (4_200_000_102, &["198.51.101.0/24"]),
        ],
        speaker: &["203.0.113.7/32", "203.0.113.0/25", "192.0.2.66/32", "10.10.10.99/32", "0.0.0.0/0"],
    };

    let answers = scene.play(&node_file, &four(), &["203.0.113.7/32"]);

    let expected = expected(&node_file.model, &["203.0.113.7/32"], &Family::ALL);
    assert_eq!(learnt(&answers, "leaf1"), expected);
    assert_eq!(learnt(&answers, "leaf2"), expected);
    let node = table(&answers, "node");
    assert!(
        ["198.51.100.0/24", "198.51.101.0/24", "2001:db8:1::/48"].iter().all(|net| node.contains(net)),
        "{node:?}"
    );
    assert_eq!(table(&answers, "speaker").len(), scene.speaker.len(), "nothing is announced to the speaker");
}

/// IPv4 over the IPv6 session with the speaker, and a port on which the leaf connects.
#[test]
fn both_families_of_a_speaker_over_ipv6_arrive() {
    let node_file = case("routing-gobgp-cilium-n1");
    let scene = Scene {
        node: ["", ""],
        leafs: [(65101, &["198.51.100.0/24"]), (65102, &["198.51.101.0/24"])],
        speaker: &[
            "10.101.250.7/32",
            "10.244.3.0/24",
            "fd00:101:250::7/128",
            "::/0",
            "10.101.254.9/32",
            "fd00:101::9/128",
        ],
    };
    let services = ["10.101.250.7/32", "10.244.3.0/24", "fd00:101:250::7/128"];

    let answers = scene.play(&node_file, &four(), &services);

    let expected = expected(&node_file.model, &services, &Family::ALL);
    assert_eq!(learnt(&answers, "leaf1"), expected);
    assert_eq!(learnt(&answers, "leaf2"), expected);
    assert_eq!(table(&answers, "speaker").len(), scene.speaker.len(), "nothing is announced to the speaker");
}

/// With a password, and with a filter that excludes the node's own addresses.
#[test]
fn numbered_leafs_have_exactly_the_announced_routes_on_both_releases() {
    let node_file = case("routing-gobgp-3-n1");
    let scene = Scene {
        node: ["fd00:7::1/64", "10.7.0.1/24"],
        leafs: [
            (
                65001,
                &[
                    "198.51.7.0/24",
                    "198.51.100.128/25",
                    "192.0.2.0/24",
                    "2001:db8:a:1::/64",
                    "2001:db8:b::/48",
                ],
            ),
            (65001, &["198.51.101.0/24"]),
        ],
        speaker: &["203.0.113.7/32", "203.0.113.200/32", "203.0.113.0/24", "10.7.254.9/32", "0.0.0.0/0"],
    };
    let services = ["203.0.113.7/32", "203.0.113.200/32"];

    for programs in [three(), four()] {
        let answers = scene.play(&node_file, &programs, &services);

        let at = programs.display();
        assert_eq!(learnt(&answers, "leaf1"), expected(&node_file.model, &services, &Family::ALL), "{at}");
        assert_eq!(learnt(&answers, "leaf2"), expected(&node_file.model, &services, &[Family::V4]), "{at}");
        let node = table(&answers, "node");
        let taken = ["198.51.7.0/24", "198.51.100.128/25", "2001:db8:a:1::/64", "198.51.101.0/24"];
        assert!(taken.iter().all(|net| node.contains(net)), "{at}: {node:?}");
        assert!(!node.contains(&"192.0.2.0/24") && !node.contains(&"2001:db8:b::/48"), "{at}: {node:?}");
        assert_eq!(
            table(&answers, "speaker").len(),
            scene.speaker.len(),
            "{at}: nothing is announced to the speaker"
        );
    }
}

/// An iBGP neighbour keeps next hops, and the speaker's would be unreachable.
#[test]
fn an_ibgp_neighbour_gets_the_speakers_routes_with_the_nodes_next_hop() {
    let node_file = case("routing-gobgp-internal-n1");
    let scene = Scene {
        node: ["fd00:9::1/64", "10.9.0.1/24"],
        leafs: [(4_200_000_001, &["198.51.100.0/24"]), (65001, &["198.51.101.0/24"])],
        speaker: &["203.0.113.7/32", "0.0.0.0/0"],
    };

    let answers = scene.play(&node_file, &four(), &["203.0.113.7/32"]);

    let (_, inside) = answers.iter().find(|(what, _)| what == "leaf1 ipv4").unwrap();
    let service = &inside["routes"]["203.0.113.7/32"][0];
    assert_eq!((&service["path"], &service["nexthops"][0]["ip"]), (&"65010".into(), &"fd00:9::1".into()));
    assert!(inside["routes"].get("10.9.254.1/32").is_some(), "{inside}");
    assert!(inside["routes"].get("198.51.101.0/24").is_none(), "{inside}");
    assert_eq!(learnt(&answers, "leaf2"), expected(&node_file.model, &["203.0.113.7/32"], &[Family::V4]));
}
