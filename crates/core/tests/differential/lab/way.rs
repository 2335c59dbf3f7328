//! The routes of all machines to a prefix: predicted, in BGP and in the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ichor_bgp::model::Family;
use ichor_bgp::model::fabric::PeerAddress;
use ichor_core::prove::destination::RouteSource;
use ichor_core::prove::failure::Failure;
use ichor_core::prove::graph::PREFERENCE;
use ichor_core::prove::propagation::Propagation;
use ichor_core::routing::network::BgpSession;
use ipnet::IpNet;
use serde_json::Value;

use super::reality::Reality;
use ichor_testbed::lab::LabMachine;

/// Next hops by name, and the length of the path.
pub type Way = (BTreeSet<String>, usize);

/// By machine and prefix; machines without a route are missing.
pub type Ways = BTreeMap<(String, IpNet), Way>;

/// A machine's router ID.
const ITSELF: &str = "itself";

impl Reality {
    /// The observed routes of all machines that are up.
    pub fn real(&self, failures: &[Failure]) -> Ways {
        let mut ways = Ways::new();
        for (name, machine) in self.machines.iter().filter(|(name, _)| !self.is_away(name, failures)) {
            for word in ["ipv4", "ipv6"] {
                let output = machine.run(&format!("vtysh -c 'show bgp {word} unicast json'"));
                let table: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
                for (net, paths) in table["routes"].as_object().into_iter().flatten() {
                    let way = self.way(name, paths);
                    if !way.0.is_empty() {
                        ways.insert((name.clone(), net.parse().unwrap()), way);
                    }
                }
            }
        }
        ways
    }

    fn is_away(&self, name: &str, failures: &[Failure]) -> bool {
        failures.iter().any(|failure| match failure {
            Failure::Vertex(vertex) => self.subject.graph.vertices[*vertex as usize].name == name,
            Failure::Link(_) | Failure::Between(..) | Failure::Speaker(_) => false,
        })
    }

    /// Parses FRR's output: used routes, by the neighbour they came from.
    fn way(&self, name: &str, paths: &Value) -> Way {
        let used = |path: &&Value| path["multipath"] == true || path["bestpath"] == true;
        let (mut next, mut length) = (BTreeSet::new(), 0);
        for path in paths.as_array().into_iter().flatten().filter(used) {
            let from = self.from(name, path);
            assert!(
                from.is_some() || path["peerId"] == "(unspec)",
                "{name} has a route of an unknown neighbour: {path}"
            );
            next.insert(from.unwrap_or_else(|| ITSELF.to_owned()));
            length = path["path"].as_str().unwrap_or_default().split_whitespace().count();
        }
        (next, length)
    }

    /// The neighbour that announced a route.
    fn from(&self, name: &str, path: &Value) -> Option<String> {
        let peer = path["peerId"].as_str()?;
        self.behind.get(&(name.to_owned(), peer.to_owned())).cloned()
    }

    /// The predicted routes of all machines after a failure.
    pub fn computed(&self, failures: &[Failure]) -> Ways {
        let graph = &self.subject.graph;
        let mut ways = Ways::new();
        let mut spread = Propagation::new(graph);
        for target in &self.subject.destinations {
            assert!(spread.converge(target), "{:?} never comes to rest", target.nets);
            spread.with_failures(failures, |spread| {
                for vertex in (0..).take(graph.vertices.len()).filter(|vertex| spread.has(*vertex)) {
                    let name = &graph.vertices[vertex as usize].name;
                    let way = (self.next(spread, vertex), spread.length(vertex));
                    for net in &target.nets {
                        ways.insert((name.clone(), *net), way.clone());
                    }
                }
            });
        }
        self.add_defaults(&mut spread, failures, &mut ways);
        ways
    }

    fn next(&self, spread: &Propagation<'_>, vertex: u32) -> BTreeSet<String> {
        let graph = &self.subject.graph;
        if spread.is_own(vertex) {
            return BTreeSet::from([ITSELF.to_owned()]);
        }
        let far = |edge: u32| graph.edges[edge as usize].other(vertex);
        spread.next(vertex).into_iter().map(|edge| graph.vertices[far(edge) as usize].name.clone()).collect()
    }

    /// The default routes that routers announce to nodes.
    fn add_defaults(&self, spread: &mut Propagation<'_>, failures: &[Failure], ways: &mut Ways) {
        let graph = &self.subject.graph;
        spread.with_failures(failures, |spread| {
            for node in (0..).take(graph.nodes) {
                for family in Family::ALL {
                    let up = graph.defaults(node, family).filter(|(edge, _)| spread.is_up(*edge));
                    let next: BTreeSet<_> =
                        up.map(|(_, far)| graph.vertices[far as usize].name.clone()).collect();
                    if !next.is_empty() {
                        let name = graph.vertices[node as usize].name.clone();
                        ways.insert((name, family.everything()), (next, 1));
                    }
                }
            }
        });
    }

    /// The differences between predicted and observed routes. A node that prefers the fabric over its own speaker announces the
    /// speaker's routes only if they arrived first, so both results are valid.
    pub fn differences(&self, failures: &[Failure]) -> Vec<String> {
        let known = |mut ways: Ways| {
            ways.retain(|(_, net), _| failures.is_empty() || !self.is_borrowed(*net));
            ways
        };
        let real = known(self.real(failures));
        let first = self.between(&real, &known(self.computed(failures)));
        let outdone = [failures, &self.outdone()].concat();
        let other = self.between(&real, &known(self.computed(&outdone)));
        if other.is_empty() { other } else { first }
    }

    fn between(&self, real: &Ways, computed: &Ways) -> Vec<String> {
        let keys: BTreeSet<_> = real.keys().chain(computed.keys()).collect();
        let same = |key| match (real.get(key), computed.get(key)) {
            (Some(real), Some(computed)) => self.is_same(real, computed),
            (Some(_), None) if self.is_left_over(key.1) => true,
            (real, computed) => real == computed,
        };
        let differing = keys.into_iter().filter(|key| !same(*key));
        differing
            .map(|key| format!("{key:?}\n  real     {:?}\n  computed {:?}", real.get(key), computed.get(key)))
            .collect()
    }

    /// Whether an origin's session was closed for too many prefixes. FRR 8.4 then sometimes drops the route without withdrawing it from
    /// others, which keep it.
    fn is_left_over(&self, net: IpNet) -> bool {
        let sessions = self.subject.network.sessions.iter().zip(&self.subject.faults);
        let closed = sessions
            .filter(|(_, fault)| fault.as_ref().is_some_and(|why| why.ends_with("close the session")));
        let nodes: BTreeSet<u32> =
            closed.map(|(BgpSession(one, _), _)| self.subject.graph.vertex(*one)).collect();
        let mut targets = self.subject.destinations.iter().filter(|target| target.nets.contains(&net));
        targets.any(|target| target.origins.iter().any(|origin| nodes.contains(&origin.vertex)))
    }

    /// Gateways on one network announce the same third router as the next hop, and FRR then uses one of their routes.
    fn is_same(&self, real: &Way, computed: &Way) -> bool {
        let gateways: BTreeSet<&String> = self
            .subject
            .network
            .routers
            .iter()
            .filter(|it| !it.addresses.is_empty())
            .map(|it| &it.name)
            .collect();
        let some = real.0.iter().any(|name| gateways.contains(name));
        let missing = computed.0.difference(&real.0);
        real.1 == computed.1
            && real.0.is_subset(&computed.0)
            && missing.into_iter().all(|name| some && gateways.contains(name))
    }

    /// Whether it is an aggregate of other machines' parts: the effect of their loss is not predicted.
    fn is_borrowed(&self, net: IpNet) -> bool {
        let mut targets = self.subject.destinations.iter().filter(|target| target.nets.contains(&net));
        targets.any(|target| target.origins.iter().any(|origin| origin.source == RouteSource::OthersParts))
    }

    /// The speakers of nodes that prefer the fabric.
    fn outdone(&self) -> Vec<Failure> {
        let nodes = (0..).zip(&self.subject.network.nodes);
        let prefers = |preference: u32| preference > PREFERENCE;
        let preferring = nodes.filter(|(_, model)| model.fabric.inward.local_preference.is_some_and(prefers));
        preferring.map(|(node, _)| Failure::Speaker(node)).collect()
    }

    /// The differences between the kernel's and the predicted next hops, by port only: on a shared network a next hop may be a neighbour's
    /// neighbour.
    pub fn differences_in_kernel(&self) -> Vec<String> {
        let computed = self.computed(&[]);
        let tables: BTreeMap<&String, BTreeMap<IpNet, BTreeSet<String>>> =
            self.machines.iter().map(|(name, machine)| (name, routes(machine))).collect();
        let mut differences = Vec::new();
        for ((name, net), (next, _)) in &computed {
            if next.contains(ITSELF) {
                continue;
            }
            let ports: BTreeSet<String> =
                self.ports(name).filter(|(_, far)| next.contains(far)).map(|(port, _)| port).collect();
            let real = tables[name].get(net).cloned().unwrap_or_default();
            if real != ports {
                differences.push(format!("{name} to {net}\n  kernel   {real:?}\n  computed {ports:?}"));
            }
        }
        differences
    }

    /// A machine's ports with established sessions, each with the neighbour.
    fn ports(&self, name: &str) -> impl Iterator<Item = (String, String)> {
        let network = &self.subject.network;
        let ends = self.subject.graph.edges.iter().flat_map(|edge| {
            let BgpSession(one, other) = network.sessions[edge.session];
            [(one, other), (other, one)]
        });
        ends.filter(move |(near, _)| network.name(*near) == name).filter_map(|(near, far)| {
            let PeerAddress::Port { name, .. } = &network.at(near).found else { return None };
            Some((name.to_string(), network.name(far).to_owned()))
        })
    }

    /// Whether all sessions are unnumbered and no result depends on the order of arrival.
    pub fn is_plain(&self) -> bool {
        self.subject.network.routers.iter().all(|router| router.addresses.is_empty())
            && self.outdone().is_empty()
    }
}

/// The routes that BGP installed in the kernel: by prefix, the devices of the next hops.
fn routes(machine: &LabMachine) -> BTreeMap<IpNet, BTreeSet<String>> {
    let mut routes = BTreeMap::new();
    for (flag, family) in [("-4", Family::V4), ("-6", Family::V6)] {
        let output = machine.ask(&format!("ip {flag} -j route show proto bgp"));
        let table: Value = serde_json::from_str(&output).unwrap_or_default();
        for route in table.as_array().into_iter().flatten() {
            let net = match route["dst"].as_str().unwrap() {
                "default" => family.everything(),
                net => net.parse().unwrap_or_else(|_| IpNet::from(net.parse::<IpAddr>().unwrap())),
            };
            let hops = route["nexthops"].as_array().cloned().unwrap_or_else(|| vec![route.clone()]);
            let devices = hops.iter().filter_map(|hop| hop["dev"].as_str().map(str::to_owned));
            routes.entry(net).or_insert_with(BTreeSet::new).extend(devices);
        }
    }
    routes
}
