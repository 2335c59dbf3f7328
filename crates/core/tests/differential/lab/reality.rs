//! Real machines for a fabric.

use std::collections::BTreeMap;

use ichor_bgp::model::Family;
use ichor_bgp::model::fabric::PeerAddress;
use ichor_bgp::render::SecretError;
use ichor_bgp::setting::Software;
use ichor_core::model::Cluster;
use ichor_core::plan::Plan;
use ichor_core::plan::cable::Cables;
use ichor_core::prove::ProofModel;
use ichor_core::prove::destination::{Destination, DestinationKind};
use ichor_core::prove::failure::Failure;
use ichor_core::render::fabric;
use ichor_core::routing::BgpTopology;
use ichor_core::routing::network::{BgpSession, TopologyEnd};
use ichor_values::Secret;
use ipnet::IpNet;
use serde_json::Value;

use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, RootFileSystem, output_text, wait_seconds};
use ichor_testbed::routing::service_with;
use ichor_testbed::{load_text, planned};

/// The port to the network of nodes and gateways.
const BESIDE: &str = "beside";

/// All machines with running daemons.
pub struct Reality {
    pub subject: ProofModel,
    pub machines: BTreeMap<String, LabMachine>,
    /// The neighbour of a session, by the machine and its name of the session.
    pub behind: BTreeMap<(String, String), String>,
    confs: BTreeMap<String, String>,
    /// The switch of all machines with addresses, which ends with this value.
    switch: Option<LabMachine>,
}

impl Reality {
    /// All machines with running, unconfigured daemons; `release` selects the FRR of each.
    pub fn new(text: &str, mut release: impl FnMut() -> Frr) -> Self {
        let (cluster, plan) = planned(load_text(text));
        let subject = ProofModel::from_plan(&cluster, &plan).unwrap();
        let confs = confs(text, &cluster, &plan, &subject);
        let releases: Vec<(String, Frr)> = confs.keys().map(|name| (name.clone(), release())).collect();
        let machines: BTreeMap<String, LabMachine> =
            releases.iter().map(|(name, frr)| (name.clone(), frr.machine())).collect();
        // Kubernetes nodes forward packets, and a forwarding host accepts no default route from router advertisements.
        for machine in machines.values() {
            machine.ask(
                "echo 1 > /proc/sys/net/ipv4/ip_forward && echo 1 > /proc/sys/net/ipv6/conf/all/forwarding",
            );
        }
        let behind = behind(&subject.network);
        let mut reality = Self { subject, machines, behind, confs, switch: None };
        reality.connect(&cluster);
        reality.address(&plan);
        reality.learn_link_locals();
        for (name, frr) in releases {
            frr.start(&reality.machines[&name], None);
        }
        reality
    }

    /// Configures all machines. Those that end sessions at a prefix limit follow when the others have exchanged their routes:
    /// FRR 8.4 does not withdraw the routes of a session that ends while it sends other neighbours its first updates.
    pub fn load(&self) {
        let is_limited = |name: &str| {
            let mut limits = self.confs[name].lines().filter_map(|line| line.split_once(" maximum-prefix "));
            limits.any(|(_, limit)| limit.trim().len() == 1)
        };
        self.load_machines(|name| !is_limited(name));
        if self.machines.keys().any(|name| is_limited(name)) {
            wait_seconds(8);
            self.load_machines(is_limited);
        }
        for target in &self.subject.destinations {
            for origin in &target.origins {
                self.speak(target, origin.vertex, true);
            }
        }
    }

    fn load_machines(&self, is_chosen: impl Fn(&str) -> bool) {
        std::thread::scope(|threads| {
            for (name, machine) in self.machines.iter().filter(|(name, _)| is_chosen(name.as_str())) {
                threads.spawn(move || {
                    let loaded = Frr::load(machine, &self.confs[name]);
                    assert!(
                        loaded.status.success(),
                        "{name}: {}\n{}",
                        output_text(&loaded),
                        self.confs[name]
                    );
                });
            }
        });
    }

    /// The cables of the file, which may differ from the intended sessions.
    fn connect(&self, cluster: &Cluster) {
        let network = &self.subject.network;
        let cables = Cables::from_cluster(cluster);
        for BgpSession(one, other) in &network.sessions {
            let (PeerAddress::Port { name: near, .. }, PeerAddress::Port { name: far, .. }) =
                (&network.at(*one).found, &network.at(*other).found)
            else {
                continue;
            };
            let cable = match one {
                TopologyEnd::Node(node, _) => {
                    cables.nodes.get(&(network.nodes[*node].nth, near.as_str())).copied()
                }
                TopologyEnd::Router(..) => None,
            };
            let (machine, port) = cable.unwrap_or((network.name(*other), far.as_str()));
            self.machines[network.name(*one)].cable(near.as_str(), &self.machines[machine], port);
        }
    }

    /// The neighbour on a port is also known by the address of its port: not every release of FRR names ours.
    fn learn_link_locals(&mut self) {
        let network = &self.subject.network;
        for BgpSession(one, other) in &network.sessions {
            for (near, far) in [(*one, *other), (*other, *one)] {
                let PeerAddress::Port { name: port, .. } = &network.at(far).found else { continue };
                let machine = &self.machines[network.name(far)];
                let output = machine.run(&format!("ip -j -6 address show dev {port} scope link"));
                let links: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
                if let Some(address) = links[0]["addr_info"][0]["local"].as_str() {
                    let key = (network.name(near).to_owned(), address.to_owned());
                    self.behind.insert(key, network.name(far).to_owned());
                }
            }
        }
    }

    /// The addresses that nodes announce, all on lo because there are no dummy links, and the shared network.
    fn address(&mut self, plan: &Plan) {
        let network = &self.subject.network;
        let add = |who: &str, net: IpNet, link: &str| {
            self.machines[who].ask(&format!("ip address add {net} dev {link}"));
        };
        for model in &network.nodes {
            model.fabric.announced.iter().for_each(|own| add(model.name.as_str(), own.net, "lo"));
        }
        let gateways: Vec<_> = network.routers.iter().filter(|router| !router.addresses.is_empty()).collect();
        if gateways.is_empty() {
            return;
        }
        let switch = LabMachine::new(RootFileSystem::Own);
        switch.ask("ip link add br0 type bridge && ip link set br0 up");
        let names = network.nodes.iter().map(|model| model.name.as_str());
        for (nth, name) in names.chain(gateways.iter().map(|router| router.name.as_str())).enumerate() {
            switch.cable(&format!("port{nth}"), &self.machines[name], BESIDE);
            switch.ask(&format!("ip link set port{nth} master br0"));
        }
        for model in &network.nodes {
            plan.nodes[model.nth].address.iter().for_each(|(net, _)| add(model.name.as_str(), net, BESIDE));
        }
        for router in gateways {
            for address in &router.addresses {
                let length = if address.is_ipv4() { 24 } else { 64 };
                add(&router.name, IpNet::new(*address, length).unwrap(), BESIDE);
            }
        }
        self.switch = Some(switch);
    }

    /// The kernel has no VRF for a speaker, so a node gets the speaker's routes itself: as redistributed routes that it does not
    /// prefer.
    fn speak(&self, target: &Destination, node: u32, on: bool) {
        let (DestinationKind::Service(_), Some(model)) =
            (&target.kind, self.subject.network.nodes.get(node as usize))
        else {
            return;
        };
        let asn = model.workload.as_ref().unwrap().theirs.asn;
        let no = if on { "" } else { "no " };
        for net in &target.nets {
            let family = family(*net);
            self.machines[model.name.as_str()].ask(&format!(
                "vtysh -c 'configure terminal' -c 'route-map SAID permit 10' -c 'set as-path prepend {asn}' -c 'set weight 0' -c exit \
                 -c 'router bgp {}' -c 'no bgp network import-check' -c 'address-family {family} unicast' \
                 -c '{no}network {net} route-map SAID'",
                model.asn
            ));
        }
    }

    /// Injects or removes a failure.
    pub fn set(&self, failure: Failure, works: bool) {
        let state = if works { "up" } else { "down" };
        match failure {
            Failure::Link(_) | Failure::Between(..) => {
                for edge in failure.edges(&self.subject.graph).iter() {
                    self.set_session(*edge, works);
                }
            }
            Failure::Vertex(vertex) => {
                let name = &self.subject.graph.vertices[vertex as usize].name;
                self.machines[name].ask(&format!(
                    "for port in $(ls /sys/class/net); do [ $port = lo ] || ip link set $port {state}; done"
                ));
            }
            Failure::Speaker(node) => {
                let own = |target: &&Destination| target.origins.iter().any(|origin| origin.vertex == node);
                self.subject
                    .destinations
                    .iter()
                    .filter(own)
                    .for_each(|target| self.speak(target, node, works));
            }
        }
    }

    /// A dedicated link is cut; a session across the shared network is closed.
    fn set_session(&self, edge: u32, works: bool) {
        let network = &self.subject.network;
        let BgpSession(one, _) = network.sessions[self.subject.graph.edges[edge as usize].session];
        let machine = &self.machines[network.name(one)];
        match &network.at(one).found {
            PeerAddress::Port { name, .. } => {
                machine.ask(&format!("ip link set {name} {}", if works { "up" } else { "down" }));
            }
            PeerAddress::Address { address, .. } => {
                let TopologyEnd::Node(node, _) = one else { unreachable!("routers have ports") };
                let (no, asn) = (if works { "no " } else { "" }, network.nodes[node].asn);
                machine.ask(&format!(
                    "vtysh -c 'configure terminal' -c 'router bgp {asn}' -c '{no}neighbor {address} shutdown'"
                ));
            }
        }
    }
}

/// FRR's name of a prefix's family.
fn family(net: IpNet) -> &'static str {
    if Family::of(net) == Family::V4 { "ipv4" } else { "ipv6" }
}

fn fetch(secret: &Secret) -> Result<String, SecretError> {
    match secret {
        Secret::Env(name) => Ok(format!("secret-{name}")),
        _ => Err(SecretError::new("only variables are used here")),
    }
}

/// The files of all machines.
fn confs(text: &str, cluster: &Cluster, plan: &Plan, subject: &ProofModel) -> BTreeMap<String, String> {
    let mut confs = BTreeMap::new();
    for model in &subject.network.nodes {
        let node = &plan.nodes[model.nth];
        let service = service_with(cluster, plan, node, &fetch).unwrap().unwrap();
        confs.insert(node.name.to_string(), service.files[0].text.clone());
    }
    // Routers outside ichor's control are configured here: they accept all routes and announce no default route.
    let (cluster, plan) = planned(load_text(text.replace(", software: other", "").as_str()));
    let network = BgpTopology::from_plan(&cluster, &plan).unwrap();
    for file in fabric::render(&plan, &network, &fetch).unwrap() {
        let name = file.path.strip_prefix("fabric/").and_then(|path| path.strip_suffix("/frr.conf"));
        if let Some(router) = name.and_then(|name| subject.network.routers.iter().find(|it| it.name == name))
        {
            let others = router.software == Software::Other;
            let password = router.password.as_ref().map(|secret| fetch(secret).unwrap());
            let text = file.text().unwrap();
            let text = if others { as_others_would(text, password.as_deref()) } else { text.to_owned() };
            confs.insert(router.name.clone(), text);
        }
    }
    confs
}

fn as_others_would(conf: &str, password: Option<&str>) -> String {
    let mut text = String::new();
    for line in conf.lines().filter(|line| !line.ends_with("default-originate")) {
        let line = match (line.split_once(" password "), password) {
            (Some((start, _)), Some(password)) => format!("{start} password {password}"),
            _ => line.replace("NODES-IN-v4 in", "PERMIT-ALL in").replace("NODES-IN-v6 in", "PERMIT-ALL in"),
        };
        text += &line;
        text.push('\n');
    }
    text
}

fn behind(network: &BgpTopology) -> BTreeMap<(String, String), String> {
    let mut behind = BTreeMap::new();
    for BgpSession(one, other) in &network.sessions {
        for (near, far) in [(*one, *other), (*other, *one)] {
            let found = match &network.at(near).found {
                PeerAddress::Port { name, .. } => name.to_string(),
                PeerAddress::Address { address, .. } => address.to_string(),
            };
            behind.insert((network.name(near).to_owned(), found), network.name(far).to_owned());
        }
    }
    behind
}
