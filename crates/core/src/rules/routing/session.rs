//! BGP sessions as rules see them: a node, its neighbour, and the router at the other end if the file lists it.

use std::fmt;
use std::net::IpAddr;
use std::rc::Rc;

use crate::cluster::section::Router;
use crate::model::layer;
use crate::plan::{NeighborAddress, NeighborPlan, NodePlan, RoutingPlan};
use crate::routing::fault;
use crate::rules::RuleContext;
use ichor_bgp::setting::Software;
use ichor_values::Location;
use ichor_values::key::Spanned;

/// A session with the fabric that all nodes of a BGP group have.
#[derive(Clone, Copy, Debug)]
pub(super) struct FabricSession<'c> {
    /// The numbers of the nodes.
    pub nodes: &'c [usize],
    /// The first node.
    pub node: &'c NodePlan,
    pub routing: &'c RoutingPlan,
    pub(crate) neighbor: &'c NeighborPlan,
    pub router: Option<&'c Spanned<Router>>,
}

/// The other end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum RemoteEnd<'c> {
    Router(&'c str),
    Address(IpAddr),
    Link(&'c str),
}

impl<'c> RemoteEnd<'c> {
    /// The other end of a session with `neighbor`.
    pub(super) fn from_neighbor(neighbor: &'c NeighborPlan) -> Self {
        match (&neighbor.router, &neighbor.peer) {
            (Some(name), _) => Self::Router(name.as_str()),
            (None, NeighborAddress::Address(address)) => Self::Address(*address),
            (None, NeighborAddress::Link(link)) => Self::Link(link.as_str()),
        }
    }
}

impl fmt::Display for RemoteEnd<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Router(name) => f.write_str(name),
            Self::Address(address) => write!(f, "{address}"),
            Self::Link(link) => write!(f, "the router on {link}"),
        }
    }
}

/// The nodes with routing.
pub(super) fn routed_nodes<'c>(
    context: &RuleContext<'c>,
) -> impl Iterator<Item = (&'c NodePlan, &'c RoutingPlan)> {
    context.plan.nodes.iter().filter_map(|node| Some((node, node.routing.as_deref()?)))
}

/// The BGP groups: the numbers of their nodes, the first node and its routing.
pub(super) fn bgp_groups<'c>(
    context: &RuleContext<'c>,
) -> impl Iterator<Item = (&'c [usize], &'c NodePlan, &'c RoutingPlan)> {
    let plan = context.plan;
    plan.routed.iter().map(|group| (group.nodes.as_slice(), &plan.nodes[group.nodes[0]], &*group.routing))
}

/// Every session with the fabric, once per BGP group.
pub(super) fn sessions<'c>(context: &RuleContext<'c>) -> impl Iterator<Item = FabricSession<'c>> {
    let routers: Rc<[_]> = context.cluster.routers().collect();
    bgp_groups(context).flat_map(move |(nodes, node, routing)| {
        let known = Rc::clone(&routers);
        routing.neighbors.iter().map(move |neighbor| {
            let router = neighbor.router_nth.and_then(|nth| known.get(nth).copied());
            FabricSession { nodes, node, routing, neighbor, router }
        })
    })
}

/// The nodes among `nodes` that match.
pub(super) fn matching_nodes(
    context: &RuleContext<'_>,
    nodes: &[usize],
    matches: impl Fn(&NodePlan) -> bool,
) -> Vec<usize> {
    nodes.iter().copied().filter(|&nth| matches(&context.plan.nodes[nth])).collect()
}

impl<'c> FabricSession<'c> {
    /// The other end.
    pub(super) fn remote_end(&self) -> RemoteEnd<'c> {
        RemoteEnd::from_neighbor(self.neighbor)
    }

    /// The neighbour's address, unless the session is unnumbered.
    pub(super) fn address(&self) -> Option<IpAddr> {
        match self.neighbor.peer {
            NeighborAddress::Address(address) => Some(address),
            NeighborAddress::Link(_) => None,
        }
    }

    /// Whether the router's FRR does not start BGP while the BFD session is down.
    pub(super) fn is_affected(&self) -> bool {
        self.router.is_some_and(|router| {
            let software = router.value.software.value().unwrap_or(Software::Frr);
            fault::router_waits_for_bfd(software, router.value.version.get())
        })
    }
}

/// The key path of a session of `node` at `place`: one of its neighbours, or the router the session is derived from.
pub(super) fn key_path(context: &RuleContext<'_>, node: &NodePlan, place: Location) -> String {
    let written = layer::find_setting(context.cluster, node.nth, |settings| {
        settings.routing.get()?.neighbors.items().position(|neighbor| neighbor.place == place)
    });
    if let Some((layer, position)) = written {
        return layer.path(&format!("routing.neighbors[{position}]"));
    }
    let router = context.cluster.routers().find(|router| router.place == place);
    let name = router.and_then(|router| router.value.name.get());
    name.map_or_else(|| "fabric.routers".to_owned(), |name| format!("fabric.routers.{name}"))
}
