//! The cluster as a picture: fabric, nodes, sessions, AS numbers and addresses, as SVG.
//!
//! Three steps. `gather` reads cluster and plan into a `scene`: boxes with their texts and the wires between them,
//! with nodes that are alike in one box when there are many. `layout` gives every box and wire its place. `draw`
//! writes it down with `svg`.
//!
//! Coordinates are whole pixels and text widths are estimated (`text`), so the same cluster gives the same bytes
//! on every machine.

mod draw;
mod gather;
mod layout;
mod palette;
mod scene;
mod svg;
mod text;

use crate::model::Cluster;
use crate::plan::Plan;

/// Draws `cluster` as it was planned: an SVG document.
pub fn render(cluster: &Cluster, plan: &Plan) -> String {
    let scene = gather::scene(cluster, plan);
    let layout = layout::place(&scene);
    draw::document(&scene, &layout)
}
