//! A node between real leafs, with a real speaker.
//!
//! The case `routing/sessions` is built: one leaf runs FRR 8.4, the other 10.3, the speaker is BIRD. The kernel needs neither VRFs
//! nor dummy links: the speaker is in a network namespace, and all addresses of the node are on `lo`.

use std::collections::BTreeMap;

use ichor_bgp::model::BgpModel;
use ichor_bgp::render::{SecretError, Service};
use serde_json::Value;

use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, RootFileSystem, wait_for, wait_seconds};
use ichor_testbed::routing::{model, service_with};
use ichor_testbed::{folder, planned_case};

/// Prefixes that the speaker announces and the node accepts: single addresses of the pools.
const TAKEN: [&str; 3] = ["203.0.113.7/32", "203.0.113.255/32", "2001:db8:99::7/128"];

/// Prefixes that it announces and the node rejects: default routes, addresses of the cluster, prefixes outside the pools, and
/// prefixes of more than one address.
const REFUSED: [&str; 8] = [
    "0.0.0.0/0",
    "::/0",
    "10.10.10.99/32",
    "10.10.30.100/32",
    "fd00:10::99/128",
    "198.51.100.7/32",
    "203.0.113.0/25",
    "2001:db8:99::8/125",
];

struct Lab {
    node: LabMachine,
    leafs: [LabMachine; 2],
    speaker: LabMachine,
    model: BgpModel,
}

impl Lab {
    fn new(frr: Frr, name: &str) -> Self {
        let case = folder("cases/routing-sessions");
        let (cluster, plan) = planned_case(&case, "ichor.yaml");
        let planned = plan.node(name).unwrap();
        let model = model(&cluster, &plan, planned);
        let service = service_with(&cluster, &plan, planned, &|_| Err(SecretError::new("no passwords")));
        let node = router(frr);
        let leafs = [(Frr::V8, 1), (Frr::V10, 2)].map(|(frr, nth)| leaf(frr, nth, &node, &model));
        start(frr, &node, &model, &service.unwrap().unwrap());
        let speaker = speaker(&node, &model);
        Self { node, leafs, speaker, model }
    }

    /// The prefixes of both families on a leaf, each with its AS path.
    fn seen_by(leaf: &LabMachine) -> BTreeMap<String, String> {
        let mut seen = BTreeMap::new();
        for family in ["ipv4", "ipv6"] {
            let table = leaf.ask(&format!("vtysh -c 'show bgp {family} unicast json'"));
            let table: Value = serde_json::from_str(&table).unwrap();
            for (prefix, paths) in table["routes"].as_object().unwrap() {
                let path = paths[0]["path"].as_str().unwrap_or_default();
                assert_eq!(paths.as_array().unwrap().len(), 1, "{prefix}: {paths}");
                seen.insert(prefix.clone(), path.to_owned());
            }
        }
        seen
    }

    /// The expected prefixes of a leaf: its own, the node's, and the permitted ones of the speaker.
    fn expected_at(&self, nth: usize) -> BTreeMap<String, String> {
        let node = self.model.asn.to_string();
        let speaker = self.model.workload.as_ref().unwrap().theirs.asn;
        let own = loopbacks(nth).map(|net| (net, String::new()));
        let announced = self.model.fabric.announced.iter().map(|it| (it.net.to_string(), node.clone()));
        let taken = TAKEN.iter().map(|net| ((*net).to_owned(), format!("{node} {speaker}")));
        own.into_iter().chain(announced).chain(taken).collect()
    }

    fn state(&self) -> String {
        let [first, second] = &self.leafs;
        let summary = "vtysh -c 'show bgp vrf all summary'";
        let node = self.node.ask(&format!("{summary}; ip route; ip -6 route"));
        let leafs = [first, second].map(|leaf| format!("{}{:#?}", leaf.ask(summary), Self::seen_by(leaf)));
        format!("node: {node}\nleafs: {}\nspeaker: {}", leafs.join("\n"), self.of_speaker())
    }

    fn of_speaker(&self) -> String {
        self.speaker.ask("birdc -s /run/bird.ctl show protocols all node")
    }
}

/// The addresses of a leaf, which the other one must not learn through the node.
fn loopbacks(nth: usize) -> [String; 2] {
    [format!("10.255.0.{nth}/32"), format!("fd00:255::{nth}/128")]
}

/// A forwarding machine, which accepts no default route from router advertisements.
fn router(frr: Frr) -> LabMachine {
    let router = frr.machine();
    router.ask("echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding");
    router
}

fn leaf(frr: Frr, nth: usize, node: &LabMachine, model: &BgpModel) -> LabMachine {
    let leaf = router(frr);
    node.cable(&format!("eth{}", nth - 1), &leaf, "to-node");
    for address in loopbacks(nth) {
        leaf.ask(&format!("ip address add {address} dev lo"));
    }
    frr.start(&leaf, None);
    let family = |family: &str| {
        format!(
            " address-family {family} unicast\n  redistribute connected\n  neighbor to-node activate\n  \
             neighbor to-node default-originate\n exit-address-family\n"
        )
    };
    let bfd = model.fabric.neighbors[nth - 1].bfd.map_or("", |_| " neighbor to-node bfd\n");
    let conf = format!(
        "frr defaults datacenter\n\
         interface to-node\n no ipv6 nd suppress-ra\n ipv6 nd ra-interval 1\nexit\n\
         router bgp 6510{nth}\n bgp router-id 10.255.0.{nth}\n neighbor to-node interface v6only remote-as external\n \
         neighbor to-node timers 1 3\n{bfd}{}{}exit\n",
        family("ipv4"),
        family("ipv6")
    );
    let loaded = Frr::load(&leaf, &conf);
    assert!(loaded.status.success(), "{loaded:?}");
    leaf
}

/// The node as the agent would set it up, and its daemons.
fn start(frr: Frr, node: &LabMachine, model: &BgpModel, service: &Service) {
    for announced in &model.fabric.announced {
        node.ask(&format!("ip address add {} dev lo", announced.net));
    }
    let workload = model.workload.as_ref().unwrap();
    let (domain, prefix) = (workload.domain.name().unwrap(), workload.prefix);
    let (ours, theirs) = (&workload.ours, &workload.theirs);
    node.ask(&format!(
        "ip netns add {domain}\n\
         ip link add {} type veth peer name {} netns {domain}\n\
         ip address add {}/{prefix} dev {} nodad\n\
         ip -n {domain} address add {}/{prefix} dev {} nodad\n\
         ip link set {} up\n\
         ip -n {domain} link set {} up",
        theirs.link, ours.link, theirs.address, theirs.link, ours.address, ours.link, theirs.link, ours.link
    ));
    frr.start(node, Some(&service.files[1].text));
    let loaded = Frr::load(node, &service.files[0].text);
    assert!(loaded.status.success(), "{loaded:?}");
}

/// A speaker that connects to the node, as all speakers do, and accepts all routes.
fn speaker(node: &LabMachine, model: &BgpModel) -> LabMachine {
    let workload = model.workload.as_ref().unwrap();
    let (ours, theirs) = (&workload.ours, &workload.theirs);
    let routes = |v4: bool| {
        let all = TAKEN.iter().chain(&REFUSED).filter(|net| net.contains(':') != v4);
        all.map(|net| format!("route {net} unreachable;")).collect::<Vec<_>>().join(" ")
    };
    let speaker = LabMachine::beside(node, RootFileSystem::Trixie);
    speaker.write(
        "/tmp/bird.conf",
        &format!(
            "router id {};\nprotocol device {{}}\n\
             protocol static four {{ ipv4; {} }}\nprotocol static six {{ ipv6; {} }}\n\
             protocol bgp node {{\n local {} port 1790 as {};\n neighbor {} as {};\n connect delay time 1;\n \
             error wait time 1, 2;\n ipv4 {{ import all; export all; extended next hop; next hop self; }};\n \
             ipv6 {{ import all; export all; next hop self; }};\n}}\n",
            model.router_id,
            routes(true),
            routes(false),
            theirs.address,
            theirs.asn,
            ours.address,
            ours.asn
        ),
    );
    speaker.start("/usr/sbin/bird -f -c /tmp/bird.conf -s /run/bird.ctl", "/run/bird.ctl");
    speaker
}

fn a_node_announces_what_it_shall(frr: Frr, name: &str) {
    let lab = Lab::new(frr, name);

    let arrived = || {
        let seen = lab.leafs.each_ref().map(Lab::seen_by);
        seen.iter()
            .enumerate()
            .all(|(nth, seen)| lab.expected_at(nth + 1).keys().all(|net| seen.contains_key(net)))
    };
    wait_for("everything at both leafs", arrived, || lab.state());
    wait_seconds(2);

    for (nth, leaf) in lab.leafs.iter().enumerate() {
        assert_eq!(Lab::seen_by(leaf), lab.expected_at(nth + 1), "leaf {}", nth + 1);
    }
    let bfd = lab.leafs[0].ask("vtysh -c 'show bfd peers json'");
    assert_eq!(bfd.contains("\"status\":\"up\""), frr == Frr::V8, "{bfd}");
    let routes = lab.node.ask("ip route; ip -6 route");
    assert!(!TAKEN.iter().any(|net| routes.contains(net.split_once('/').unwrap().0)), "{routes}");
    for (nth, source) in lab.model.sources.iter().enumerate() {
        let routes = lab.node.ask(&format!("ip -{} route show default", if nth == 0 { 4 } else { 6 }));
        for part in [format!("src {source} "), "dev eth0 ".to_owned(), "dev eth1 ".to_owned()] {
            assert!(routes.contains(&part), "{part}: {routes}");
        }
    }
    let of_speaker = lab.of_speaker();
    let sent = TAKEN.iter().chain(&REFUSED).filter(|net| !net.contains(':')).count();
    assert!(of_speaker.contains("Established"), "{of_speaker}");
    assert!(of_speaker.contains(&format!("0 imported, {sent} exported")), "{of_speaker}");
    assert_eq!(of_speaker.matches(" 0 imported,").count(), 2, "{of_speaker}");
}

#[test]
fn a_node_with_frr_8_announces_its_prefixes_and_permitted_service_addresses() {
    a_node_announces_what_it_shall(Frr::V8, "n8");
}

#[test]
fn a_node_with_frr_10_announces_its_prefixes_and_permitted_service_addresses() {
    a_node_announces_what_it_shall(Frr::V10, "n10");
}
