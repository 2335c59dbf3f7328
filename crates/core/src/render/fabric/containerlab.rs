//! `containerlab.clab.yml`: the fabric on one machine, with a container for every router and node that runs FRR.
//!
//! Others are omitted and listed at the top. Numbered sessions are connected by an additional container with a bridge. Paths
//! are relative to the folder of this file.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::{Map, Value, json};

use crate::plan::{NodePlan, Plan};
use crate::routing::network::{BgpSession, TopologyEnd};
use crate::routing::{BgpTopology, FabricRouter};
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::model::{BgpModel, RoutingDomain, Workload};
use ichor_bgp::setting::Software;
use ichor_values::Backend;
use ichor_values::SoftwareVersion;
use ichor_values::go_yaml::emit::emit;

/// The FRR release of routers and nodes without a version.
const NEWEST: &str = "10.5.1";

/// The port of a router toward the bridge.
const TO_LAN: &str = "lan0";

/// Routers and nodes that do not run FRR, which are omitted.
pub fn omitted<'n>(plan: &Plan, network: &'n BgpTopology) -> Vec<&'n str> {
    let routers =
        network.routers.iter().filter(|router| !router_runs_frr(router)).map(|router| router.name.as_str());
    let nodes = network.nodes.iter().filter(|model| !node_runs_frr(&plan.nodes[model.nth]));
    routers.chain(nodes.map(|model| model.name.as_str())).collect()
}

fn router_runs_frr(router: &FabricRouter) -> bool {
    router.listed && router.software == Software::Frr
}

fn node_runs_frr(node: &NodePlan) -> bool {
    node.routing.as_ref().is_some_and(|routing| routing.backend.value == Backend::Frr)
}

/// The topology.
pub fn render(plan: &Plan, network: &BgpTopology) -> String {
    let name = plan.cluster.name.as_str();
    let mut lab = ContainerlabTopology { network, nodes: Map::new(), links: Vec::new(), lan: Vec::new() };
    for router in network.routers.iter().filter(|router| router_runs_frr(router)) {
        lab.add_router(plan, router);
    }
    let plans: BTreeMap<&str, &NodePlan> = plan.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    for model in &network.nodes {
        if let Some(node) = plans.get(model.name.as_str()).filter(|node| node_runs_frr(node)) {
            lab.add_node(model, node);
        }
    }
    lab.add_cables();
    lab.add_bridge(&format!("{name}-lan"), &plans);
    let links: Vec<_> = lab.links.iter().map(|(one, other)| json!({"endpoints": [one, other]})).collect();
    let mut topology = json!({
        "defaults": {
            "kind": "linux",
            "network-mode": "none",
            "sysctls": {
                "net.ipv4.ip_forward": 1,
                "net.ipv6.conf.all.disable_ipv6": 0,
                "net.ipv6.conf.all.forwarding": 1,
            },
        },
        "nodes": lab.nodes,
    });
    if !links.is_empty() {
        topology["links"] = Value::Array(links);
    }
    let mut head = format!("# {name}: written by ichor; containerlab deploy -t containerlab.clab.yml\n");
    let omitted = omitted(plan, network);
    if !omitted.is_empty() {
        head += &format!("# omitted, because they do not run FRR: {}\n", omitted.join(", "));
    }
    head + &emit(&json!({"name": name, "topology": topology}))
}

struct ContainerlabTopology<'n> {
    network: &'n BgpTopology,
    nodes: Map<String, Value>,
    links: Vec<(String, String)>,
    /// Ends on the bridge: name and port.
    lan: Vec<(String, String)>,
}

impl<'n> ContainerlabTopology<'n> {
    fn add_router(&mut self, plan: &Plan, router: &'n FabricRouter) {
        let mut commands = Vec::new();
        if let Some(vrf) = &router.vrf {
            commands.push(format!("ip link add {vrf} type vrf table 1000"));
            commands.push(format!("ip link set {vrf} up"));
        }
        if !router.addresses.is_empty() {
            self.lan.push((router.name.clone(), TO_LAN.to_owned()));
            commands.extend(router.vrf.iter().map(|vrf| format!("ip link set {TO_LAN} master {vrf}")));
            commands.push(format!("ip link set {TO_LAN} up"));
            let address = |address: &IpAddr| {
                add_address(&format!("{address}/{}", prefix_length(plan, *address)), TO_LAN)
            };
            commands.extend(router.addresses.iter().map(address));
        }
        let folder = router.name.clone();
        self.add_container(&router.name, router.version.as_ref(), &folder, &commands);
    }

    fn add_node(&mut self, model: &'n BgpModel, node: &NodePlan) {
        let mut commands: Vec<_> =
            node.loopback.iter().map(|(net, _)| add_address(&net.to_string(), "lo")).collect();
        for dummy in &node.dummies {
            commands.push(format!("ip link add {} type dummy", dummy.name));
            commands.push(format!("ip link set {} up", dummy.name));
            commands.extend(
                dummy.address.iter().map(|(net, _)| add_address(&net.to_string(), dummy.name.as_str())),
            );
        }
        if let Some(workload) = &model.workload {
            commands.extend(link_to_speaker(workload));
        }
        let numbered =
            model.fabric.neighbors.iter().any(|it| matches!(it.found, PeerAddress::Address { .. }));
        if numbered {
            let link = node.link.value.as_str();
            self.lan.push((node.name.to_string(), link.to_owned()));
            commands.push(format!("ip link set {link} up"));
            commands.extend(node.address.iter().map(|(net, _)| add_address(&net.to_string(), link)));
        }
        let version = node.routing.as_deref().and_then(|routing| routing.version.as_ref());
        self.add_container(
            node.name.as_str(),
            version.map(|version| &version.value),
            &format!("../nodes/{}", node.name),
            &commands,
        );
    }

    fn add_container(
        &mut self,
        name: &str,
        version: Option<&SoftwareVersion>,
        folder: &str,
        exec: &[String],
    ) {
        let mut container = json!({
            "image": image(version),
            "binds": [format!("{folder}/frr.conf:/etc/frr/frr.conf"), format!("{folder}/daemons:/etc/frr/daemons")],
        });
        if !exec.is_empty() {
            container["exec"] = json!(exec);
        }
        self.nodes.insert(name.to_owned(), container);
    }

    /// Adds a link for every unnumbered session.
    fn add_cables(&mut self) {
        for BgpSession(one, other) in &self.network.sessions {
            let end = |end: TopologyEnd| match &self.network.at(end).found {
                PeerAddress::Port { name, .. } => Some((self.network.name(end), name.to_string())),
                PeerAddress::Address { .. } => None,
            };
            let (Some(one), Some(other)) = (end(*one), end(*other)) else { continue };
            if self.nodes.contains_key(one.0) && self.nodes.contains_key(other.0) {
                self.links.push((format!("{}:{}", one.0, one.1), format!("{}:{}", other.0, other.1)));
            }
        }
    }

    /// Adds a container with a bridge for numbered sessions.
    fn add_bridge(&mut self, lan: &str, plans: &BTreeMap<&str, &NodePlan>) {
        let used: BTreeSet<String> =
            self.links.iter().flat_map(|(one, other)| [one, other]).cloned().collect();
        let ends: Vec<_> = self.lan.iter().map(|(name, port)| format!("{name}:{port}")).collect();
        let ends: Vec<_> = ends.into_iter().filter(|end| !used.contains(end)).collect();
        if ends.len() < 2 || plans.contains_key(lan) {
            return;
        }
        let mut commands =
            vec!["ip link add bridge type bridge".to_owned(), "ip link set bridge up".to_owned()];
        for (nth, end) in ends.into_iter().enumerate() {
            let port = format!("port{}", nth + 1);
            commands.push(format!("ip link set {port} master bridge up"));
            self.links.push((end, format!("{lan}:{port}")));
        }
        self.nodes.insert(lan.to_owned(), json!({"image": image(None), "exec": commands}));
    }
}

fn add_address(address: &str, link: &str) -> String {
    format!("ip address add {address} dev {link}")
}

fn image(version: Option<&SoftwareVersion>) -> String {
    let tag = version.map_or_else(
        || NEWEST.to_owned(),
        |version| if version.patch().is_some() { version.to_string() } else { first_release(version) },
    );
    format!("quay.io/frrouting/frr:{tag}")
}

/// The first release of a series, because images have no tags for series.
fn first_release(version: &SoftwareVersion) -> String {
    let (major, minor) = version.minor();
    format!("{major}.{minor}.0")
}

/// The prefix length of an address: that of the node network that contains it.
fn prefix_length(plan: &Plan, address: IpAddr) -> u8 {
    let around = plan.cluster.node.iter().map(|(net, _)| net).find(|net| net.contains(&address));
    around.map_or(if address.is_ipv4() { 24 } else { 64 }, |net| net.prefix_len())
}

/// Commands that create the link to the speaker.
fn link_to_speaker(workload: &Workload) -> Vec<String> {
    let (ours, theirs, length) = (&workload.ours, &workload.theirs, workload.prefix);
    let mut commands = Vec::new();
    if let RoutingDomain::Vrf { name, table } = &workload.domain {
        commands.push(format!("ip link add {name} type vrf table {table}"));
        commands.push(format!("ip link set {name} up"));
    }
    commands.push(format!("ip link add {} type veth peer name {}", ours.link, theirs.link));
    let mut inside = "ip".to_owned();
    match &workload.domain {
        RoutingDomain::Vrf { name, .. } => commands.push(format!("ip link set {} master {name}", ours.link)),
        RoutingDomain::Namespace { name } => {
            commands.push(format!("ip netns add {name}"));
            commands.push(format!("ip link set {} netns {name}", ours.link));
            inside = format!("ip -n {name}");
        }
        RoutingDomain::Shared => {}
    }
    commands.push(format!("{inside} address add {}/{length} dev {}", ours.address, ours.link));
    commands.push(format!("{inside} link set {} up", ours.link));
    commands.push(add_address(&format!("{}/{length}", theirs.address), &theirs.link));
    commands.push(format!("ip link set {} up", theirs.link));
    commands
}
