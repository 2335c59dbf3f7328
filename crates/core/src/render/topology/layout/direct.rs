//! Layout of separate wires, each from its hub to its card.

use super::card_grid::{CardGrid, card_at};
use super::int;
use super::measure::{Measures, mark_width, port_width};
use super::wiring::{PortMark, WireLine, Wiring};
use crate::render::topology::diagram::{Diagram, Wire};
use crate::render::topology::svg::Rectangle;

/// Lays out all wires of a single row.
pub(crate) fn wires(diagram: &Diagram, measures: &Measures, hubs: &[Rectangle], grid: &CardGrid) -> Wiring {
    let mut wiring = Wiring::default();
    let mut drawn: Vec<_> = hubs.iter().map(|_| 0).collect();
    let total = |hub: usize| int(diagram.wires().filter(|wire| wire.hub == hub).count());
    for &(frame, nth) in grid.rows().flat_map(|row| &row.cards) {
        let card = card_at(diagram, (frame, nth));
        let area = grid.cards[frame][nth];
        for (wire, x) in card.wires.iter().zip(port_positions(&card.wires, area, measures)) {
            let hub = hubs[wire.hub];
            drawn[wire.hub] += 1;
            let from = if diagram.hubs[wire.hub].kind.is_band() {
                x
            } else {
                hub.x + hub.width * drawn[wire.hub] / (total(wire.hub) + 1)
            };
            wiring.lines.push(line(wire, (from, hub.bottom()), (x, area.y)));
            let spacing = hub.width / (total(wire.hub) + 1);
            wiring.ports.extend(far_port(wire, (from, hub.bottom()), spacing));
            wiring.ports.push(port(wire, (x, area.y), measures));
        }
    }
    wiring
}

fn line(wire: &Wire, (x1, y1): (i32, i32), (x2, y2): (i32, i32)) -> WireLine {
    let middle = i32::midpoint(y1, y2);
    let path = format!("M{x1} {y1}C{x1} {middle} {x2} {middle} {x2} {y2}");
    WireLine { hub: wire.hub, kind: wire.kind, path, detail: wire.detail.clone(), shared: false }
}

/// The port mark of `wire` at its hub, if the port is known and there is space.
fn far_port(wire: &Wire, at: (i32, i32), room: i32) -> Option<PortMark> {
    let name = wire.far.clone()?;
    let width = mark_width(&name);
    let detail = wire.detail.clone();
    (width < room).then_some(PortMark { hub: wire.hub, at, name, width, bfd: wire.bfd, detail })
}

/// The port mark of `wire` at its card.
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

/// Positions of wires on the upper edge of their card, from left to right.
pub(crate) fn port_positions(wires: &[Wire], card: Rectangle, measures: &Measures) -> Vec<i32> {
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
