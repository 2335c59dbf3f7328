//! Reads cluster and plan into a scene.
//!
//! [`hubs`] finds what there is to connect to, [`links`] how each node is connected, [`settle`] which hubs are drawn,
//! [`crowd`] which nodes share a box, [`card`] and [`stack`] what the boxes say, [`frames`] which stand together,
//! [`title`] what holds for all.

mod card;
mod crowd;
mod facts;
mod frames;
mod hubs;
mod links;
mod settle;
mod speaker;
mod stack;
mod title;
mod wires;

use super::scene::Diagram;
use crate::model::Cluster;
use crate::plan::Plan;
use crate::plan::cable::Cables;
use hubs::Hubs;
use links::HubLink;

/// What the boxes are made from.
struct DiagramSources<'a> {
    plan: &'a Plan,
    cables: &'a Cables<'a>,
    /// The links of every node.
    links: Vec<Vec<HubLink<'a>>>,
}

/// Everything in the picture of `cluster`.
pub(crate) fn scene(cluster: &Cluster, plan: &Plan) -> Diagram {
    let cables = Cables::of(cluster);
    let mut hubs = Hubs::of(plan);
    let nodes = plan.nodes.iter().enumerate();
    let mut links: Vec<_> = nodes.map(|(nth, node)| hubs.links(plan, nth, node, &cables)).collect();
    let (hubs, moved, between) = hubs.settle(&cables);
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
