//! Hubs from top to bottom: spines, then leafs, gateways and other neighbours, then the bars.

use super::int;
use super::measure::{BAND, Measures, hub_height};
use super::wiring::WiringStyle;
use crate::render::topology::scene::{Diagram, HubKind};
use crate::render::topology::svg::Rectangle;

const BETWEEN: i32 = 40;
/// From one turn of a wire to the next.
pub(crate) const TURN: i32 = 12;

/// The tiers of boxes, by hub.
fn tiers(scene: &Diagram) -> [Vec<usize>; 2] {
    let of = |spine: bool| {
        let hubs = scene.hubs.iter().enumerate();
        hubs.filter(move |(_, hub)| !hub.kind.is_band() && (hub.kind == HubKind::Spine) == spine)
            .map(|(nth, _)| nth)
            .collect()
    };
    [of(true), of(false)]
}

/// Room the widest tier needs.
pub(crate) fn width(scene: &Diagram, measures: &Measures) -> i32 {
    let widest = tiers(scene).iter().map(Vec::len).max().unwrap_or(0);
    int(widest) * (measures.hub + BETWEEN) - BETWEEN
}

/// Places every hub below the top of `across`; says where the frames start.
pub fn place(
    scene: &Diagram,
    measures: &Measures,
    across: Rectangle,
    style: WiringStyle,
) -> (Vec<Rectangle>, i32) {
    let mut areas = vec![Rectangle::default(); scene.hubs.len()];
    let mut y = across.y;
    for tier in tiers(scene).iter().filter(|tier| !tier.is_empty()) {
        let height = tier.iter().map(|hub| hub_height(scene, *hub)).max().unwrap_or(0);
        for (hub, x) in tier.iter().zip(spread(tier.len(), measures.hub, across)) {
            areas[*hub] = Rectangle { x, y, width: measures.hub, height };
        }
        y += height + below(scene, tier, across, style);
    }
    let bands: Vec<_> = (0..scene.hubs.len()).filter(|nth| scene.hubs[*nth].kind.is_band()).collect();
    for band in &bands {
        areas[*band] = Rectangle { x: across.x, y, width: across.width, height: BAND };
        y += BAND + 14;
    }
    (areas, if bands.is_empty() { y } else { y + 26 })
}

/// Left ends of boxes in the middle of `across`; few stand further apart, so that wires are easier to follow.
fn spread(count: usize, width: i32, across: Rectangle) -> impl Iterator<Item = i32> {
    let number = int(count);
    let pitch = (across.width / (number + 1)).min(3 * width).max(width + BETWEEN);
    let start = across.x + (across.width - pitch * number) / 2 + (pitch - width) / 2;
    (0..count).map(move |nth| start + pitch * int(nth))
}

/// Room for what runs below a tier.
fn below(scene: &Diagram, tier: &[usize], across: Rectangle, style: WiringStyle) -> i32 {
    let used = |hub: &usize| scene.wires().any(|wire| wire.hub == *hub);
    match style {
        _ if !tier.iter().any(used) => 60,
        // Long wires need height to be told apart.
        WiringStyle::Direct => (across.width / 14).clamp(90, 160),
        WiringStyle::Lanes => 40,
        WiringStyle::Gutters => (TURN * int(scene.hubs.len().div_ceil(2)) + 32).max(60),
    }
}
