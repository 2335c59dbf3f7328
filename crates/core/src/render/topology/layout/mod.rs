//! Gives everything its place: hubs in tiers, cards in rows of frames, wires between them.
//!
//! [`measure`] says how large boxes must be, [`shelf`] how cards share rows, [`tier`] where hubs stand, and
//! [`direct`] or [`bus`] how wires run. [`place`] puts it together from top to bottom.

mod bus;
mod direct;
pub mod flow;
pub mod measure;
mod shelf;
mod tier;
pub mod wiring;

use super::scene::Diagram;
use super::svg::Rectangle;
use measure::Measures;
use shelf::CardGrid;
use wiring::{Wiring, WiringStyle};

/// Around the whole picture.
pub(crate) const MARGIN: i32 = 32;
/// The least width: room for the title.
const LEAST: i32 = 900;

/// A count as a coordinate.
pub(crate) fn int(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Where everything is.
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
    /// Where the legend starts.
    pub(crate) legend: i32,
}

/// Gives everything in `scene` its place.
pub fn place(scene: &Diagram) -> Layout {
    let measures = Measures::of(scene);
    let tiers = tier::width(scene, &measures);
    let mut shelves = CardGrid::of(scene, &measures, tiers.max(LEAST));
    let style = WiringStyle::of(scene, shelves.rows().count());
    shelves.lanes(scene, style);
    let gutters = bus::gutters(scene, style);
    let content = shelves.width().max(tiers).max(LEAST - gutters.0 - gutters.1);
    let left = MARGIN + gutters.0;
    let width = left + content + gutters.1 + MARGIN;

    let title = MARGIN + flow::title_height(&scene.title, width - 2 * MARGIN);
    let across = Rectangle { x: left, y: title, width: content, height: 0 };
    let (hubs, under) = tier::place(scene, &measures, across, style);
    let below = shelves.place(&measures, Rectangle { y: under, ..across });
    let wiring = match style {
        WiringStyle::Direct => direct::wires(scene, &measures, &hubs, &shelves),
        WiringStyle::Lanes | WiringStyle::Gutters => bus::wires(scene, &measures, &hubs, &shelves, across),
    };
    let legend = below + 20;
    let height = legend + flow::legend_height(scene, width - 2 * MARGIN) + MARGIN;
    let CardGrid { frames, cards, .. } = shelves;
    Layout { size: (width, height), measures, hubs, frames, cards, wiring, legend }
}
