//! Each wire by itself, from its hub down to its card.

use super::int;
use super::measure::{Measures, mark_width, port_width};
use super::shelf::{CardGrid, card_of};
use super::wiring::{PortMark, Strand, Wiring};
use crate::render::topology::scene::{Diagram, Wire};
use crate::render::topology::svg::Rectangle;

/// Runs every wire of the one row there is.
pub(crate) fn wires(scene: &Diagram, measures: &Measures, hubs: &[Rectangle], shelves: &CardGrid) -> Wiring {
    let mut wiring = Wiring::default();
    let mut drawn: Vec<_> = hubs.iter().map(|_| 0).collect();
    let total = |hub: usize| int(scene.wires().filter(|wire| wire.hub == hub).count());
    for &(frame, nth) in shelves.rows().flat_map(|row| &row.cards) {
        let card = card_of(scene, (frame, nth));
        let area = shelves.cards[frame][nth];
        for (wire, x) in card.wires.iter().zip(port_places(&card.wires, area, measures)) {
            let hub = hubs[wire.hub];
            drawn[wire.hub] += 1;
            let from = if scene.hubs[wire.hub].kind.is_band() {
                x
            } else {
                hub.x + hub.width * drawn[wire.hub] / (total(wire.hub) + 1)
            };
            wiring.strands.push(strand(wire, (from, hub.bottom()), (x, area.y)));
            let spacing = hub.width / (total(wire.hub) + 1);
            wiring.ports.extend(far_port(wire, (from, hub.bottom()), spacing));
            wiring.ports.push(port(wire, (x, area.y), measures));
        }
    }
    wiring
}

fn strand(wire: &Wire, (x1, y1): (i32, i32), (x2, y2): (i32, i32)) -> Strand {
    let middle = i32::midpoint(y1, y2);
    let path = format!("M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}");
    Strand { hub: wire.hub, kind: wire.kind, path, detail: wire.detail.clone(), shared: false }
}

/// The mark where `wire` meets its hub, where the port is known and there is room.
fn far_port(wire: &Wire, at: (i32, i32), room: i32) -> Option<PortMark> {
    let name = wire.far.clone()?;
    let width = mark_width(&name);
    let detail = wire.detail.clone();
    (width < room).then_some(PortMark { hub: wire.hub, at, name, width, bfd: wire.bfd, detail })
}

/// The mark where `wire` meets its card.
pub fn port(wire: &Wire, at: (i32, i32), measures: &Measures) -> PortMark {
    let named = measures.ports_named;
    PortMark {
        hub: wire.hub,
        at,
        name: if named { wire.port.clone() } else { String::new() },
        width: if named { mark_width(&wire.port) } else { 8 },
        bfd: wire.bfd,
        detail: wire.detail.clone(),
    }
}

/// Where wires meet the upper edge of their card, from left to right.
pub(crate) fn port_places(wires: &[Wire], card: Rectangle, measures: &Measures) -> Vec<i32> {
    let widths: Vec<_> =
        wires.iter().map(|wire| if measures.ports_named { port_width(wire) } else { 12 }).collect();
    let room = card.width - widths.iter().sum::<i32>();
    let gap = room / (int(wires.len()) + 1);
    let mut x = card.x + gap;
    widths
        .into_iter()
        .map(|width| {
            let middle = x + width / 2;
            x += width + gap;
            middle
        })
        .collect()
}
