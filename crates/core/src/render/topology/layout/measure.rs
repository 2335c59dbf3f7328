//! Box sizes for their text.

use super::int;
use crate::render::topology::diagram::{Card, Diagram, Fact, Hub, Wire};
use crate::render::topology::text::{FontFace, width};

/// Horizontal padding of a box.
pub(crate) const PAD: i32 = 12;
/// Height of a card's header, with the node's name.
pub(crate) const HEAD: i32 = 30;
/// Line height of text.
pub(crate) const LINE: i32 = 18;
/// Height of a port mark.
pub(crate) const PORT: i32 = 16;
/// Height of a bar.
pub(crate) const BAND: i32 = 44;

/// Sizes common to all boxes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measures {
    pub(crate) card: (i32, i32),
    /// Width of a router.
    pub(crate) hub: i32,
    /// Width of labels in cards.
    pub label: i32,
    /// Width of labels in hubs.
    pub(crate) hub_label: i32,
    /// Whether port marks have names.
    pub(crate) ports_named: bool,
}

impl Measures {
    pub fn from_diagram(diagram: &Diagram) -> Self {
        let label = labels(diagram.cards().flat_map(|card| &card.facts));
        let boxes = || diagram.hubs.iter().filter(|hub| !hub.kind.is_band());
        let hub_label = labels(boxes().flat_map(|hub| &hub.facts));
        let hub = boxes().map(|hub| hub_width(hub, hub_label)).max().unwrap_or(0);
        let card_width =
            diagram.cards().map(|card| card_width(card, label)).max().unwrap_or(0).clamp(150, 330);
        let ports =
            diagram.cards().map(|card| card.wires.iter().map(port_width).sum::<i32>()).max().unwrap_or(0);
        Self {
            card: (card_width, diagram.cards().map(card_height).max().unwrap_or(0)),
            hub: hub.clamp(180, 340).max(far_width(diagram)),
            label,
            hub_label,
            ports_named: ports <= card_width,
        }
    }
}

fn labels<'f>(facts: impl Iterator<Item = &'f Fact>) -> i32 {
    let widest = facts.map(|fact| width(&fact.label, FontFace::Plain, 11)).max().unwrap_or(0);
    if widest == 0 { 0 } else { widest.min(90) + 10 }
}

fn facts_width(facts: &[Fact], label: i32) -> i32 {
    facts.iter().map(|fact| label + width(&fact.value, FontFace::Mono, 12)).max().unwrap_or(0)
}

fn card_width(card: &Card, label: i32) -> i32 {
    let head = width(&card.name, FontFace::Bold, 14) + width(&card.caption, FontFace::Plain, 11) + 12;
    let ports = card.wires.iter().map(port_width).sum::<i32>();
    let speaker = card.speaker.as_ref().map_or(0, |speaker| {
        let name = width(&speaker.name, FontFace::Bold, 11) + 8;
        let lines = speaker.lines.iter().enumerate();
        let line = |(nth, line): (usize, &String)| {
            width(line, FontFace::Plain, 11) + if nth == 0 { name } else { 0 }
        };
        lines.map(line).max().unwrap_or(0) + 2 * 8
    });
    (head.max(facts_width(&card.facts, label)).max(speaker) + 2 * PAD).max(ports)
}

/// Width for the port names of the router with the most, up to a limit.
fn far_width(diagram: &Diagram) -> i32 {
    let ports = |hub: usize| {
        let wires = || diagram.wires().filter(move |wire| wire.hub == hub);
        let widest = wires().filter_map(|wire| wire.far.as_deref()).map(mark_width).max();
        widest.map(|widest| (int(wires().count()) + 1) * (widest + 6))
    };
    (0..diagram.hubs.len()).filter_map(ports).filter(|width| *width <= 480).max().unwrap_or(0)
}

/// Width of a port mark with a name.
pub(crate) fn mark_width(name: &str) -> i32 {
    width(name, FontFace::Plain, 11) + 12
}

/// Width of a port mark and its margin.
pub(crate) fn port_width(wire: &Wire) -> i32 {
    mark_width(&wire.port) + 8
}

fn card_height(card: &Card) -> i32 {
    let speaker = card.speaker.as_ref().map_or(0, |speaker| 8 + speaker_height(speaker.lines.len()));
    HEAD + 8 + LINE * int(card.facts.len()) + speaker + 8
}

/// Height of a speaker's box, whose name and first line share a line.
pub(crate) fn speaker_height(lines: usize) -> i32 {
    10 + 16 * int(lines.max(1))
}

/// Height of a router, with space for the marks of known ports.
pub(crate) fn hub_height(diagram: &Diagram, hub: usize) -> i32 {
    let ports = diagram.wires().any(|wire| wire.hub == hub && wire.far.is_some());
    HEAD + LINE * int(diagram.hubs[hub].facts.len()) + if ports { 8 + PORT / 2 } else { 8 }
}

fn hub_width(hub: &Hub, label: i32) -> i32 {
    let head = width(&hub.name, FontFace::Bold, 14) + width(hub.kind.word(), FontFace::Plain, 11) + 16;
    head.max(facts_width(&hub.facts, label)) + 2 * PAD
}
