//! Hubs from top to bottom: spines, then leafs, gateways and other neighbours, then the bars.

use super::int;
use super::measure::{BAND, Measures, hub_height};
use super::wiring::WiringStyle;
use crate::render::topology::diagram::{Diagram, HubKind};
use crate::render::topology::svg::Rectangle;

const BETWEEN: i32 = 40;
/// Distance between turns of adjacent wires.
pub(crate) const TURN: i32 = 12;

/// The tiers of boxes, as hub numbers.
fn tiers(diagram: &Diagram) -> [Vec<usize>; 2] {
    let of = |spine: bool| {
        let hubs = diagram.hubs.iter().enumerate();
        hubs.filter(move |(_, hub)| !hub.kind.is_band() && (hub.kind == HubKind::Spine) == spine)
            .map(|(nth, _)| nth)
            .collect()
    };
    [of(true), of(false)]
}

/// Width of the widest tier.
pub(crate) fn width(diagram: &Diagram, measures: &Measures) -> i32 {
    let widest = tiers(diagram).iter().map(Vec::len).max().unwrap_or(0);
    int(widest) * (measures.hub + BETWEEN) - BETWEEN
}

/// Sets the positions of all hubs below the top of `across`. Returns them with the top of the frames.
pub fn place(
    diagram: &Diagram,
    measures: &Measures,
    across: Rectangle,
    style: WiringStyle,
) -> (Vec<Rectangle>, i32) {
    let mut areas = vec![Rectangle::default(); diagram.hubs.len()];
    let mut y = across.y;
    for tier in tiers(diagram).iter().filter(|tier| !tier.is_empty()) {
        let height = tier.iter().map(|hub| hub_height(diagram, *hub)).max().unwrap_or(0);
        for (hub, x) in tier.iter().zip(centred_positions(tier.len(), measures.hub, across)) {
            areas[*hub] = Rectangle { x, y, width: measures.hub, height };
        }
        y += height + wire_height(diagram, tier, across, style);
    }
    let bands: Vec<_> = (0..diagram.hubs.len()).filter(|nth| diagram.hubs[*nth].kind.is_band()).collect();
    for band in &bands {
        areas[*band] = Rectangle { x: across.x, y, width: across.width, height: BAND };
        y += BAND + 14;
    }
    (areas, if bands.is_empty() { y } else { y + 26 })
}

/// Left edges of boxes centred in `across`; few boxes have larger gaps, so that wires are easier to follow.
fn centred_positions(count: usize, width: i32, across: Rectangle) -> impl Iterator<Item = i32> {
    let number = int(count);
    let pitch = (across.width / (number + 1)).min(3 * width).max(width + BETWEEN);
    let start = across.x + (across.width - pitch * number) / 2 + (pitch - width) / 2;
    (0..count).map(move |nth| start + pitch * int(nth))
}

/// Height of the wires below a tier.
fn wire_height(diagram: &Diagram, tier: &[usize], across: Rectangle, style: WiringStyle) -> i32 {
    let used = |hub: &usize| diagram.wires().any(|wire| wire.hub == *hub);
    match style {
        _ if !tier.iter().any(used) => 60,
        // Long wires need height to be distinguishable.
        WiringStyle::Direct => (across.width / 14).clamp(90, 160),
        WiringStyle::Lanes => 40,
        WiringStyle::Gutters => (TURN * int(diagram.hubs.len().div_ceil(2)) + 32).max(60),
    }
}
