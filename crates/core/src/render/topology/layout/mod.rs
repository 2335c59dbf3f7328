//! Layout: hubs in tiers, cards in rows of frames, wires between them.
//!
//! [`measure`] determines box sizes, [`card_grid`] the rows of cards, [`tier`] the positions of hubs, and [`direct`] or [`bus`]
//! the paths of wires. [`place`] combines them from top to bottom.

mod bus;
mod card_grid;
mod direct;
pub mod flow;
pub mod measure;
mod tier;
pub mod wiring;

use super::diagram::Diagram;
use super::svg::Rectangle;
use card_grid::CardGrid;
use measure::Measures;
use wiring::{Wiring, WiringStyle};

/// Margin of the diagram.
pub(crate) const MARGIN: i32 = 32;
/// Minimum width, for the title.
const LEAST: i32 = 900;

/// A count as a coordinate.
pub(crate) fn int(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Positions of all elements.
#[derive(Debug)]
pub struct Layout {
    pub size: (i32, i32),
    pub(crate) measures: Measures,
    /// By hub.
    pub(crate) hubs: Vec<Rectangle>,
    /// By frame.
    pub(crate) frames: Vec<Rectangle>,
    /// By frame and card.
    pub(crate) cards: Vec<Vec<Rectangle>>,
    pub wiring: Wiring,
    /// Top of the legend.
    pub(crate) legend: i32,
}

/// Lays out a diagram.
pub fn place(diagram: &Diagram) -> Layout {
    let measures = Measures::from_diagram(diagram);
    let tiers = tier::width(diagram, &measures);
    let mut grid = CardGrid::new(diagram, &measures, tiers.max(LEAST));
    let style = WiringStyle::choose(diagram, grid.rows().count());
    grid.assign_lanes(diagram, style);
    let gutters = bus::gutters(diagram, style);
    let content = grid.width().max(tiers).max(LEAST - gutters.0 - gutters.1);
    let left = MARGIN + gutters.0;
    let width = left + content + gutters.1 + MARGIN;

    let title = MARGIN + flow::title_height(&diagram.title, width - 2 * MARGIN);
    let across = Rectangle { x: left, y: title, width: content, height: 0 };
    let (hubs, under) = tier::place(diagram, &measures, across, style);
    let below = grid.place(&measures, Rectangle { y: under, ..across });
    let wiring = match style {
        WiringStyle::Direct => direct::wires(diagram, &measures, &hubs, &grid),
        WiringStyle::Lanes | WiringStyle::Gutters => bus::wires(diagram, &measures, &hubs, &grid, across),
    };
    let legend = below + 20;
    let height = legend + flow::legend_height(diagram, width - 2 * MARGIN) + MARGIN;
    let CardGrid { frames, cards, .. } = grid;
    Layout { size: (width, height), measures, hubs, frames, cards, wiring, legend }
}
