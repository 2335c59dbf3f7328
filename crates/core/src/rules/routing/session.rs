//! BGP sessions as rules see them: a node, its neighbour, and the router at the other end where the file knows it.

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

/// One session with the fabric, of nodes that route alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct FabricSession<'c> {
    /// Their numbers.
    pub nodes: &'c [usize],
    /// The first of them.
    pub node: &'c NodePlan,
    pub routing: &'c RoutingPlan,
    pub(crate) neighbor: &'c NeighborPlan,
    pub router: Option<&'c Spanned<Router>>,
}

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum RemoteEnd<'c> {
    Router(&'c str),
    Address(IpAddr),
    Link(&'c str),
}

impl<'c> RemoteEnd<'c> {
    /// Who is at the other end of a session with `neighbor`.
    pub(super) fn of(neighbor: &'c NeighborPlan) -> Self {
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

/// The nodes that route.
pub(super) fn routed<'c>(context: &RuleContext<'c>) -> impl Iterator<Item = (&'c NodePlan, &'c RoutingPlan)> {
    context.plan.nodes.iter().filter_map(|node| Some((node, node.routing.as_deref()?)))
}

/// The nodes that route alike: their numbers, and the first of them.
pub(super) fn alike<'c>(
    context: &RuleContext<'c>,
) -> impl Iterator<Item = (&'c [usize], &'c NodePlan, &'c RoutingPlan)> {
    let plan = context.plan;
    plan.routed.iter().map(|alike| (alike.nodes.as_slice(), &plan.nodes[alike.nodes[0]], &*alike.routing))
}

/// Every session with the fabric, once for all nodes that route alike.
pub(super) fn sessions<'c>(context: &RuleContext<'c>) -> impl Iterator<Item = FabricSession<'c>> {
    let routers: Rc<[_]> = context.cluster.routers().collect();
    alike(context).flat_map(move |(nodes, node, routing)| {
        let known = Rc::clone(&routers);
        routing.neighbors.iter().map(move |neighbor| {
            let router = neighbor.router_nth.and_then(|nth| known.get(nth).copied());
            FabricSession { nodes, node, routing, neighbor, router }
        })
    })
}

/// Those of `nodes` that are so.
pub(super) fn those(
    context: &RuleContext<'_>,
    nodes: &[usize],
    so: impl Fn(&NodePlan) -> bool,
) -> Vec<usize> {
    nodes.iter().copied().filter(|&nth| so(&context.plan.nodes[nth])).collect()
}

impl<'c> FabricSession<'c> {
    /// Who is at the other end.
    pub(super) fn far(&self) -> RemoteEnd<'c> {
        RemoteEnd::of(self.neighbor)
    }

    /// Its neighbour's address, when it is numbered.
    pub(super) fn address(&self) -> Option<IpAddr> {
        match self.neighbor.peer {
            NeighborAddress::Address(address) => Some(address),
            NeighborAddress::Link(_) => None,
        }
    }

    /// Whether its router runs an FRR that lets a BFD session that is down keep BGP from starting.
    pub(super) fn is_affected(&self) -> bool {
        self.router.is_some_and(|router| {
            let software = router.value.software.value().unwrap_or(Software::Frr);
            fault::router_waits_for_bfd(software, router.value.version.get())
        })
    }
}

/// The key path of a session of `node` that stands at `place`: among its neighbours, or the router it follows from.
pub(super) fn path(context: &RuleContext<'_>, node: &NodePlan, place: Location) -> String {
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
