//! Wires that share a line: one above each row of cards for each hub, so that their number stays small.
//!
//! With one row the lines hang below their hubs. With several, each hub has a line down one side of the picture
//! from which the rows' lines branch off.

use std::collections::BTreeMap;

use super::measure::Measures;
use super::shelf::{CardGrid, CardRow, card_of};
use super::tier::TURN;
use super::wiring::{Dot, Strand, Wiring, WiringStyle};
use super::{direct, int};
use crate::render::topology::scene::{Diagram, WireKind};
use crate::render::topology::svg::Rectangle;

/// The hubs whose lines run down the left side and the right side, the outermost first.
fn sides(scene: &Diagram) -> (Vec<usize>, Vec<usize>) {
    let used = |nth: &usize| scene.wires().any(|wire| wire.hub == *nth);
    let of = |band: bool| {
        (0..scene.hubs.len()).filter(used).filter(move |nth| scene.hubs[*nth].kind.is_band() == band)
    };
    let mut left: Vec<_> = of(false).collect();
    let mut right = left.split_off(left.len().div_ceil(2));
    right.reverse();
    left.extend(of(true));
    (left, right)
}

/// Room at both sides.
pub(crate) fn gutters(scene: &Diagram, style: WiringStyle) -> (i32, i32) {
    if style != WiringStyle::Gutters {
        return (0, 0);
    }
    let (left, right) = sides(scene);
    let room = |lines: usize| if lines == 0 { 0 } else { TURN * int(lines) + 8 };
    (room(left.len()), room(right.len()))
}

/// Runs every wire; `across` is the room between the sides.
pub(crate) fn wires(
    scene: &Diagram,
    measures: &Measures,
    hubs: &[Rectangle],
    shelves: &CardGrid,
    across: Rectangle,
) -> Wiring {
    let mut bus = BusRouter { scene, measures, shelves, wiring: Wiring::default() };
    let rows: Vec<_> = shelves.rows().collect();
    match (WiringStyle::of(scene, rows.len()), rows.as_slice()) {
        (WiringStyle::Lanes, [row]) => bus.hang(row, hubs),
        (_, rows) => bus.branch(rows, hubs, across),
    }
    bus.wiring
}

struct BusRouter<'s> {
    scene: &'s Diagram,
    measures: &'s Measures,
    shelves: &'s CardGrid,
    wiring: Wiring,
}

impl BusRouter<'_> {
    /// The only row's lines right below their hubs.
    fn hang(&mut self, row: &CardRow, hubs: &[Rectangle]) {
        let ports: Vec<_> = row.cards.iter().flat_map(|card| self.ports(*card)).collect();
        let starts = row.lanes.iter().map(|hub| (*hub, beside(hubs[*hub].middle(), &ports))).collect();
        self.row(row, &starts);
        for (nth, hub) in row.lanes.iter().enumerate() {
            self.strand(*hub, format!("M{} {}V{}", starts[hub], hubs[*hub].bottom(), row.lane(nth)));
        }
    }

    /// Every row's lines from the sides.
    fn branch(&mut self, rows: &[&CardRow], hubs: &[Rectangle], across: Rectangle) {
        let trunks = self.trunks(hubs, across);
        let starts = trunks.iter().map(|(hub, (x, _))| (*hub, *x)).collect();
        for row in rows {
            self.row(row, &starts);
        }
        self.descend(&trunks, rows);
    }

    fn ports(&self, (frame, nth): (usize, usize)) -> Vec<i32> {
        let wires = &card_of(self.scene, (frame, nth)).wires;
        direct::port_places(wires, self.shelves.cards[frame][nth], self.measures)
    }

    fn strand(&mut self, hub: usize, path: String) {
        let kinds = || self.scene.wires().filter(|wire| wire.hub == hub).map(|wire| wire.kind);
        let kind = kinds().min().unwrap_or(WireKind::Cable);
        let detail = format!("{} wires to {}", kinds().count(), self.scene.hubs[hub].name);
        self.wiring.strands.push(Strand { hub, kind, path, detail, shared: true });
    }

    /// Where each hub's line goes down, and the path that leads there.
    fn trunks(&self, hubs: &[Rectangle], across: Rectangle) -> BTreeMap<usize, (i32, String)> {
        let (left, right) = sides(self.scene);
        let places = |side: Vec<usize>, edge: i32, step: i32| {
            let count = int(side.len());
            side.into_iter()
                .enumerate()
                .map(move |(nth, hub)| (hub, int(nth), edge + step * (count - int(nth))))
        };
        let all = places(left, across.x, -TURN).chain(places(right, across.right(), TURN));
        all.map(|(hub, nth, x)| {
            let area = hubs[hub];
            let path = if self.scene.hubs[hub].kind.is_band() {
                format!("M{} {}H{x}", area.x, area.y + area.height / 2)
            } else {
                format!("M{} {}V{}H{x}", area.middle(), area.bottom(), area.bottom() + 20 + TURN * nth)
            };
            (hub, (x, path))
        })
        .collect()
    }

    /// The lines down the sides, each to the last row that has its hub.
    fn descend(&mut self, trunks: &BTreeMap<usize, (i32, String)>, rows: &[&CardRow]) {
        for (hub, (x, path)) in trunks {
            let joins: Vec<_> = rows
                .iter()
                .filter_map(|row| Some(row.lane(row.lanes.iter().position(|lane| lane == hub)?)))
                .collect();
            let Some((last, before)) = joins.split_last() else { continue };
            self.strand(*hub, format!("{path}V{last}"));
            self.wiring.dots.extend(before.iter().map(|y| Dot { hub: *hub, at: (*x, *y) }));
        }
    }

    /// The lines above one row, and from them down to its cards.
    fn row(&mut self, row: &CardRow, starts: &BTreeMap<usize, i32>) {
        let mut drops: BTreeMap<usize, Vec<i32>> = BTreeMap::new();
        for &(frame, nth) in &row.cards {
            let card = card_of(self.scene, (frame, nth));
            let area = self.shelves.cards[frame][nth];
            for (wire, x) in card.wires.iter().zip(self.ports((frame, nth))) {
                let lane =
                    row.lanes.iter().position(|lane| *lane == wire.hub).map_or(area.y, |nth| row.lane(nth));
                let path = format!("M{x} {lane}V{}", area.y);
                let strand =
                    Strand { hub: wire.hub, kind: wire.kind, path, detail: String::new(), shared: false };
                self.wiring.strands.push(strand);
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
                self.strand(*hub, format!("M{least} {y}H{most}"));
                let inner = ends.into_iter().filter(|x| *x != least && *x != most);
                self.wiring.dots.extend(inner.map(|x| Dot { hub: *hub, at: (x, y) }));
            }
        }
    }
}

/// `x`, or a place near it where no port is straight below.
fn beside(x: i32, ports: &[i32]) -> i32 {
    let free = |x: &i32| ports.iter().all(|port| (port - x).abs() > 8);
    (0..8).map(|step| x + 10 * step).find(free).unwrap_or(x)
}
