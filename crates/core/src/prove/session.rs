//! Reasons why sessions do not come up.

use std::net::IpAddr;

use crate::model::Cluster;
use crate::plan::backend::{LimitationKind, is_bird2};
use crate::plan::cable::Cables;
use crate::plan::{CniPlan, NodePlan, Plan, RoutingPlan, WorkloadPlan};
use crate::routing::network::{BgpSession, TopologyEnd};
use crate::routing::router::RouterPeer;
use crate::routing::{BgpTopology, FabricRouter, fault};
use ichor_bgp::model::fabric::{Neighbor, PeerAddress};
use ichor_bgp::model::{BgpModel, RoutingDomain};
use ichor_bgp::setting::{MetallbMode, Software};
use ichor_values::Backend;
use ichor_values::{Mtu, SoftwareVersion};

/// Why each session of a topology does not come up, if it does not.
pub fn faults(cluster: &Cluster, plan: &Plan, network: &BgpTopology) -> Vec<Option<String>> {
    let cables = Cables::from_cluster(cluster);
    let fault = |BgpSession(one, other): &BgpSession| match (*one, *other) {
        (TopologyEnd::Node(node, neighbor), TopologyEnd::Router(router, peer)) => {
            let model = &network.nodes[node];
            let router = &network.routers[router];
            let pair = SessionPair {
                model,
                plan: &plan.nodes[model.nth],
                own: &model.fabric.neighbors[neighbor],
                router,
                peer: &router.peers[peer],
            };
            pair.fault(&cables)
        }
        _ => None,
    };
    network.sessions.iter().map(fault).collect()
}

/// A session between a node and a router.
struct SessionPair<'a> {
    model: &'a BgpModel,
    plan: &'a NodePlan,
    own: &'a Neighbor,
    router: &'a FabricRouter,
    peer: &'a RouterPeer,
}

impl SessionPair<'_> {
    fn fault(&self, cables: &Cables<'_>) -> Option<String> {
        self.backend_fault()
            .or_else(|| self.wiring_fault(cables))
            .or_else(|| self.asn_fault())
            .or_else(|| self.addressing_fault())
            .or_else(|| self.password_fault())
            .or_else(|| self.bfd_fault())
    }

    /// A Talos release without the backend rejects the configuration.
    fn backend_fault(&self) -> Option<String> {
        let routing = self.plan.routing.as_deref()?;
        let lack = routing.limitations.iter().find(|lack| lack.kind == LimitationKind::Release)?;
        Some(format!("{} runs Talos {}: {}", self.model.name, self.plan.talos.value, lack.why))
    }

    fn wiring_fault(&self, cables: &Cables<'_>) -> Option<String> {
        let PeerAddress::Port { name, .. } = &self.own.found else { return None };
        let (node, router) = (&self.model.name, &self.router.name);
        let listed = self.plan.listed_links().map(|(name, _)| name);
        let mut ports = self.plan.ports.iter().map(|port| &port.name).chain(listed);
        if !ports.any(|known| known == name) {
            return Some(format!("{node} has no link {name}"));
        }
        if self.plan.link_mtu(name).is_some_and(|mtu| mtu < Mtu::LEAST_FOR_IPV6) {
            return Some(format!("the MTU of {node}:{name} is below 1280, which removes IPv6 from it"));
        }
        let (far, port) = cables.nodes.get(&(self.plan.nth, name.as_str()))?;
        (*far != router).then(|| format!("the cable of {node}:{name} leads to {far}:{port}"))
    }

    fn asn_fault(&self) -> Option<String> {
        let (node, router) = (&self.model.name, &self.router.name);
        let asn = self.router.asn?;
        let expected = self.own.asn.filter(|expected| *expected != asn)?;
        Some(format!("{node} expects AS {expected}, but {router} has AS {asn}"))
    }

    fn addressing_fault(&self) -> Option<String> {
        let PeerAddress::Address { address, .. } = self.own.found else { return None };
        let node = &self.model.name;
        let same = |other: &&Neighbor| matches!(other.found, PeerAddress::Address { address: other, .. } if other == address);
        if self.model.fabric.neighbors.iter().filter(same).count() > 1 {
            return Some(format!("{node} has the neighbour {address} twice"));
        }
        if self.plan.address.iter().any(|(net, _)| net.addr() == address) {
            return Some(format!("{address} is an address of {node} itself"));
        }
        if !self.plan.has_route_to(address) && !is_link_local(address) {
            return Some(format!("{node} has neither an address in the network of {address} nor a gateway"));
        }
        let range = self.router.listen.filter(|_| self.peer.by_range)?;
        match self.peer.session.found {
            PeerAddress::Address { address: from, .. } if from != address && !range.contains(&from) => {
                Some(format!("{} accepts only {range}, but {node} connects from {from}", self.router.name))
            }
            _ => None,
        }
    }

    fn password_fault(&self) -> Option<String> {
        let (node, router) = (&self.model.name, &self.router.name);
        if self.backend() == Some(Backend::Native) && self.peer.session.password.is_some() {
            return Some(format!("{router} requires a password, which Talos' own BGP does not support"));
        }
        // Routers that ichor configures get the node's password; others have their own.
        let has_own_password = self.router.software == Software::Other && self.router.password.is_some();
        (has_own_password && self.own.password != self.router.password)
            .then(|| format!("{node} and {router} have passwords from different sources"))
    }

    fn bfd_fault(&self) -> Option<String> {
        let (node, router) = (&self.model.name, &self.router.name);
        let (ours, theirs) = (self.own.bfd.is_some(), self.peer.session.bfd.is_some());
        let numbered = matches!(self.own.found, PeerAddress::Address { .. });
        let backend = self.backend();
        if numbered && self.peer.by_range && self.router.listen.is_some() && ours {
            if matches!(backend, Some(Backend::Native | Backend::Gobgp)) && theirs {
                return Some(format!("with BFD and a listen range on {router} GoBGP flaps the session"));
            }
            if self.router_waits() && theirs {
                return Some(format!(
                    "{router} accepts {node} by a listen range, and its FRR starts BGP only after BFD, which it cannot start"
                ));
            }
        }
        let waits = match (ours, theirs) {
            (true, false) => numbered && backend == Some(Backend::Frr) && self.node_waits(),
            (false, true) => self.router_waits() && (numbered || backend == Some(Backend::Bird)),
            _ => false,
        };
        waits.then(|| {
            let (has, lacks) =
                if ours { (node.as_str(), router.as_str()) } else { (router.as_str(), node.as_str()) };
            format!("{has} has BFD, {lacks} does not: this FRR release then never starts BGP")
        })
    }

    fn backend(&self) -> Option<Backend> {
        self.plan.routing.as_deref().map(|routing| routing.backend.value)
    }

    fn node_waits(&self) -> bool {
        let version = self.plan.routing.as_deref().and_then(|routing| routing.version.as_ref());
        version.is_some_and(|version| fault::waits_for_bfd(&version.value))
    }

    fn router_waits(&self) -> bool {
        let version: Option<&SoftwareVersion> = self.router.version.as_ref();
        fault::router_waits_for_bfd(self.router.software, version)
    }
}

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

/// Why a node receives no routes from its speaker, if it does not.
pub(crate) fn speaker_fault(plan: &Plan, model: &BgpModel) -> Option<String> {
    let workload = model.workload.as_ref()?;
    let node = &plan.nodes[model.nth];
    let routing = node.routing.as_deref()?;
    let decided = routing.workload.as_ref()?;
    let (ours, theirs) = (&workload.ours, &workload.theirs);
    let link = ipnet::IpNet::new(ours.address, workload.prefix).ok();
    if ours.address == theirs.address || !link.is_some_and(|link| link.contains(&theirs.address)) {
        return Some(format!("{} and {} are not in the same network", ours.address, theirs.address));
    }
    if ours.asn == theirs.asn || model.asn == theirs.asn {
        return Some(format!("the speaker has the node's AS {}", theirs.asn));
    }
    if !routing.is_bird2() && node.boot.extensions.iter().any(|name| is_bird2(&name.value)) {
        return Some("the extension bird2 uses port 179, so the speaker connects to it".to_owned());
    }
    speaker_software_fault(decided, plan, theirs.address)
        .or_else(|| limitation_fault(routing))
        .or_else(|| vrf_option_fault(routing, &workload.domain))
}

fn speaker_software_fault(decided: &WorkloadPlan, plan: &Plan, address: IpAddr) -> Option<String> {
    use ichor_bgp::setting::Speaker;
    let metallb = decided.speaker == Speaker::Metallb && decided.mode.value == MetallbMode::Native;
    if metallb && address.is_ipv6() {
        return Some("MetalLB's native mode encodes IPv4 routes incorrectly over an IPv6 session".to_owned());
    }
    let flannel = matches!(plan.cluster.cni.value, CniPlan::Flannel(_));
    (decided.speaker == Speaker::Cilium && flannel)
        .then(|| "Cilium is not installed: the pod network is flannel".to_owned())
}

/// A requested feature of the speaker's session that the backend does not support.
fn limitation_fault(routing: &RoutingPlan) -> Option<String> {
    let lack = routing.limitations.iter().find(|lack| lack.key.starts_with("workload"))?;
    Some(format!("{} does not support {}: {}", routing.backend.value, lack.what, lack.why))
}

/// With these options FRR uses a network namespace as VRF, and the speaker's instance stays inactive.
fn vrf_option_fault(routing: &RoutingPlan, domain: &RoutingDomain) -> Option<String> {
    let written = routing.options.as_ref().filter(|_| matches!(domain, RoutingDomain::Vrf { .. }))?;
    let mut options = written.value.iter().flat_map(|(daemon, options)| {
        options.value.values().map(move |option| (daemon.as_str(), option.as_str()))
    });
    let found =
        options.find(|(daemon, option)| *option == "-w" || (*daemon == "zebra" && *option == "-n"))?;
    Some(format!("with `{} {}` FRR uses network namespaces as VRFs", found.0, found.1))
}
