//! Reads cluster and plan into a diagram.
//!
//! [`hubs`] collects routers and networks, [`links`] the connections of each node; [`merge`] merges hubs, [`grouping`] groups
//! nodes; [`card`] and [`stack`] create the cards, [`frames`] the frames, and [`title`] the title.

mod card;
mod facts;
mod frames;
mod grouping;
mod hubs;
mod links;
mod merge;
mod speaker;
mod stack;
mod title;
mod wires;

use super::diagram::Diagram;
use crate::model::Cluster;
use crate::plan::Plan;
use crate::plan::cable::Cables;
use hubs::Hubs;
use links::HubLink;

/// The sources of the cards.
struct DiagramSources<'a> {
    plan: &'a Plan,
    cables: &'a Cables<'a>,
    /// The links of every node.
    links: Vec<Vec<HubLink<'a>>>,
}

/// The diagram of `cluster`.
pub(crate) fn diagram(cluster: &Cluster, plan: &Plan) -> Diagram {
    let cables = Cables::from_cluster(cluster);
    let mut hubs = Hubs::from_routers(plan);
    let nodes = plan.nodes.iter().enumerate();
    let mut links: Vec<_> = nodes.map(|(nth, node)| hubs.links(plan, nth, node, &cables)).collect();
    let (hubs, moved, between) = hubs.merge(&cables);
    for link in links.iter_mut().flatten() {
        link.hub = moved[link.hub];
    }
    for links in &mut links {
        links.sort_by_key(|link| (link.hub, link.kind));
    }
    let sources = DiagramSources { plan, cables: &cables, links };
    let frames = frames::frames(&sources, &hubs);
    Diagram { title: title::title(plan), hubs, cables: between, frames }
}
