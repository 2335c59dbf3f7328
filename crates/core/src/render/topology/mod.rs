//! Topology diagram of a cluster: fabric, nodes, sessions, AS numbers and addresses, as SVG.
//!
//! `gather` reads cluster and plan into a `diagram`: boxes with texts, and wires between them; many similar nodes share a box.
//! `layout` positions boxes and wires. `draw` writes the SVG.
//!
//! Coordinates are integers and text widths are estimated (`text`), so the same cluster results in the same bytes on every
//! machine.

mod diagram;
mod draw;
mod gather;
mod layout;
mod palette;
mod svg;
mod text;

use crate::model::Cluster;
use crate::plan::Plan;

/// Draws a planned cluster as an SVG document.
pub fn render(cluster: &Cluster, plan: &Plan) -> String {
    let diagram = gather::diagram(cluster, plan);
    let layout = layout::place(&diagram);
    draw::document(&diagram, &layout)
}
