//! Hubs from top to bottom: spines, then leafs, gateways and other neighbours, then the bars.

use super::int;
use super::measure::{BAND, Measures};
use super::wiring::Style;
use crate::render::topology::scene::{HubKind, Scene};
use crate::render::topology::svg::Area;

const BETWEEN: i32 = 40;
/// From one turn of a wire to the next.
pub const TURN: i32 = 12;

/// The tiers of boxes, by hub.
fn tiers(scene: &Scene) -> [Vec<usize>; 2] {
    let of = |spine: bool| {
        let hubs = scene.hubs.iter().enumerate();
        hubs.filter(move |(_, hub)| !hub.kind.is_band() && (hub.kind == HubKind::Spine) == spine)
            .map(|(nth, _)| nth)
            .collect()
    };
    [of(true), of(false)]
}

/// Room the widest tier needs.
pub fn width(scene: &Scene, measures: &Measures) -> i32 {
    let widest = tiers(scene).iter().map(Vec::len).max().unwrap_or(0);
    int(widest) * (measures.hub.0 + BETWEEN) - BETWEEN
}

/// Places every hub below the top of `across`; says where the frames start.
pub fn place(scene: &Scene, measures: &Measures, across: Area, style: Style) -> (Vec<Area>, i32) {
    let mut areas = vec![Area::default(); scene.hubs.len()];
    let mut y = across.y;
    let turns = match style {
        Style::Gutters => TURN * int(scene.hubs.len().div_ceil(2)) + 16,
        Style::Lanes | Style::Direct => 0,
    };
    let bands: Vec<_> = (0..scene.hubs.len()).filter(|nth| scene.hubs[*nth].kind.is_band()).collect();
    let [_, last] = &tiers(scene);
    for tier in tiers(scene).iter().filter(|tier| !tier.is_empty()) {
        let count = int(tier.len());
        // Few boxes stand further apart: their wires are easier to follow.
        let pitch = (across.width / count).min(measures.hub.0 * 2).max(measures.hub.0 + BETWEEN);
        let start = across.x + (across.width - pitch * count) / 2 + (pitch - measures.hub.0) / 2;
        for (nth, hub) in tier.iter().enumerate() {
            let x = start + pitch * int(nth);
            areas[*hub] = Area { x, y, width: measures.hub.0, height: measures.hub.1 };
        }
        let below = match style {
            Style::Direct if tier == last && bands.is_empty() => 96,
            Style::Direct => 64,
            Style::Lanes => 40,
            Style::Gutters => turns.max(56),
        };
        y += measures.hub.1 + below;
    }
    for band in &bands {
        areas[*band] = Area { x: across.x, y, width: across.width, height: BAND };
        y += BAND + 14;
    }
    (areas, if bands.is_empty() { y } else { y + 26 })
}
