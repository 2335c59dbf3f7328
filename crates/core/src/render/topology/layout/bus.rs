//! Layout of shared lines: one line above each row of cards for each hub, to keep the number of lines small.
//!
//! A single row has its lines directly below the hubs. With several rows, each hub has a trunk down one side of the diagram,
//! from which the rows' lines branch off.

use std::collections::BTreeMap;

use super::card_grid::{CardGrid, CardRow, card_at};
use super::measure::Measures;
use super::tier::TURN;
use super::wiring::{Dot, WireLine, Wiring, WiringStyle};
use super::{direct, int};
use crate::render::topology::diagram::{Diagram, WireKind};
use crate::render::topology::svg::Rectangle;

/// The hubs with a trunk on the left and on the right side, the outermost first.
fn sides(diagram: &Diagram) -> (Vec<usize>, Vec<usize>) {
    let used = |nth: &usize| diagram.wires().any(|wire| wire.hub == *nth);
    let of = |band: bool| {
        (0..diagram.hubs.len()).filter(used).filter(move |nth| diagram.hubs[*nth].kind.is_band() == band)
    };
    let mut left: Vec<_> = of(false).collect();
    let mut right = left.split_off(left.len().div_ceil(2));
    right.reverse();
    left.extend(of(true));
    (left, right)
}

/// Width of the trunks on both sides.
pub(crate) fn gutters(diagram: &Diagram, style: WiringStyle) -> (i32, i32) {
    if style != WiringStyle::Gutters {
        return (0, 0);
    }
    let (left, right) = sides(diagram);
    let room = |lines: usize| if lines == 0 { 0 } else { TURN * int(lines) + 8 };
    (room(left.len()), room(right.len()))
}

/// Lays out all wires; `across` is the area between the trunks.
pub(crate) fn wires(
    diagram: &Diagram,
    measures: &Measures,
    hubs: &[Rectangle],
    grid: &CardGrid,
    across: Rectangle,
) -> Wiring {
    let mut bus = BusRouter { diagram, measures, grid, wiring: Wiring::default() };
    let rows: Vec<_> = grid.rows().collect();
    match (WiringStyle::choose(diagram, rows.len()), rows.as_slice()) {
        (WiringStyle::Lanes, [row]) => bus.route_single_row(row, hubs),
        (_, rows) => bus.route_rows(rows, hubs, across),
    }
    bus.wiring
}

struct BusRouter<'s> {
    diagram: &'s Diagram,
    measures: &'s Measures,
    grid: &'s CardGrid,
    wiring: Wiring,
}

impl BusRouter<'_> {
    /// Lays out the lines of a single row, directly below their hubs.
    fn route_single_row(&mut self, row: &CardRow, hubs: &[Rectangle]) {
        let ports: Vec<_> = row.cards.iter().flat_map(|card| self.port_positions(*card)).collect();
        let starts = row.lanes.iter().map(|hub| (*hub, free_position(hubs[*hub].middle(), &ports))).collect();
        self.add_row(row, &starts);
        for (nth, hub) in row.lanes.iter().enumerate() {
            self.add_line(*hub, format!("M{} {}V{}", starts[hub], hubs[*hub].bottom(), row.lane(nth)));
        }
    }

    /// Lays out the lines of all rows, branching off the trunks.
    fn route_rows(&mut self, rows: &[&CardRow], hubs: &[Rectangle], across: Rectangle) {
        let trunks = self.trunks(hubs, across);
        let starts = trunks.iter().map(|(hub, (x, _))| (*hub, *x)).collect();
        for row in rows {
            self.add_row(row, &starts);
        }
        self.add_trunks(&trunks, rows);
    }

    fn port_positions(&self, (frame, nth): (usize, usize)) -> Vec<i32> {
        let wires = &card_at(self.diagram, (frame, nth)).wires;
        direct::port_positions(wires, self.grid.cards[frame][nth], self.measures)
    }

    fn add_line(&mut self, hub: usize, path: String) {
        let kinds = || self.diagram.wires().filter(|wire| wire.hub == hub).map(|wire| wire.kind);
        let kind = kinds().min().unwrap_or(WireKind::Cable);
        let detail = format!("{} wires to {}", kinds().count(), self.diagram.hubs[hub].name);
        self.wiring.lines.push(WireLine { hub, kind, path, detail, shared: true });
    }

    /// The position of each hub's trunk, and the path from the hub to it.
    fn trunks(&self, hubs: &[Rectangle], across: Rectangle) -> BTreeMap<usize, (i32, String)> {
        let (left, right) = sides(self.diagram);
        let places = |side: Vec<usize>, edge: i32, step: i32| {
            let count = int(side.len());
            side.into_iter()
                .enumerate()
                .map(move |(nth, hub)| (hub, int(nth), edge + step * (count - int(nth))))
        };
        let all = places(left, across.x, -TURN).chain(places(right, across.right(), TURN));
        all.map(|(hub, nth, x)| {
            let area = hubs[hub];
            let path = if self.diagram.hubs[hub].kind.is_band() {
                format!("M{} {}H{x}", area.x, area.y + area.height / 2)
            } else {
                format!("M{} {}V{}H{x}", area.middle(), area.bottom(), area.bottom() + 20 + TURN * nth)
            };
            (hub, (x, path))
        })
        .collect()
    }

    /// Lays out the trunks, each down to the last row with its hub.
    fn add_trunks(&mut self, trunks: &BTreeMap<usize, (i32, String)>, rows: &[&CardRow]) {
        for (hub, (x, path)) in trunks {
            let joins: Vec<_> = rows
                .iter()
                .filter_map(|row| Some(row.lane(row.lanes.iter().position(|lane| lane == hub)?)))
                .collect();
            let Some((last, before)) = joins.split_last() else { continue };
            self.add_line(*hub, format!("{path}V{last}"));
            self.wiring.dots.extend(before.iter().map(|y| Dot { hub: *hub, at: (*x, *y) }));
        }
    }

    /// Lays out the lines above one row, and the wires from them to its cards.
    fn add_row(&mut self, row: &CardRow, starts: &BTreeMap<usize, i32>) {
        let mut drops: BTreeMap<usize, Vec<i32>> = BTreeMap::new();
        for &(frame, nth) in &row.cards {
            let card = card_at(self.diagram, (frame, nth));
            let area = self.grid.cards[frame][nth];
            for (wire, x) in card.wires.iter().zip(self.port_positions((frame, nth))) {
                let lane =
                    row.lanes.iter().position(|lane| *lane == wire.hub).map_or(area.y, |nth| row.lane(nth));
                let path = format!("M{x} {lane}V{}", area.y);
                let line =
                    WireLine { hub: wire.hub, kind: wire.kind, path, detail: String::new(), shared: false };
                self.wiring.lines.push(line);
                self.wiring.ports.push(direct::port(wire, (x, area.y), self.measures));
                drops.entry(wire.hub).or_default().push(x);
            }
        }
        for (nth, hub) in row.lanes.iter().enumerate() {
            let y = row.lane(nth);
            let mut ends = drops.remove(hub).unwrap_or_default();
            ends.extend(starts.get(hub));
            let (least, most) = (ends.iter().min().copied(), ends.iter().max().copied());
            if let (Some(least), Some(most)) = (least, most) {
                self.add_line(*hub, format!("M{least} {y}H{most}"));
                let inner = ends.into_iter().filter(|x| *x != least && *x != most);
                self.wiring.dots.extend(inner.map(|x| Dot { hub: *hub, at: (x, y) }));
            }
        }
    }
}

/// `x`, or a position near it without a port directly below.
fn free_position(x: i32, ports: &[i32]) -> i32 {
    let free = |x: &i32| ports.iter().all(|port| (port - x).abs() > 8);
    (0..8).map(|step| x + 10 * step).find(free).unwrap_or(x)
}
