//! Flow layout with line breaks, for the title's facts and the legend.

use crate::render::topology::diagram::{Diagram, Fact, Title, WireKind};
use crate::render::topology::text::{FontFace, width};

const NAME: i32 = 44;
const FACT: i32 = 40;
const ENTRY: i32 = 24;
/// Width of an entry's symbol.
pub(crate) const SIGN: i32 = 52;

/// Positions of items with these widths: left edge and line number.
pub(crate) fn flow(widths: impl Iterator<Item = i32>, room: i32) -> Vec<(i32, i32)> {
    let (mut x, mut line) = (0, 0);
    widths
        .map(|width| {
            if x > 0 && x + width > room {
                (x, line) = (0, line + 1);
            }
            let at = (x, line);
            x += width;
            at
        })
        .collect()
}

/// Positions of the title's facts, relative to its upper left corner.
pub fn title(title: &Title, room: i32) -> Vec<(i32, i32)> {
    let positions = flow(title.facts.iter().map(|fact| fact_width(fact) + 32), room);
    positions.into_iter().map(|(x, line)| (x, NAME + line * FACT)).collect()
}

/// Width of one fact of the title.
pub(crate) fn fact_width(fact: &Fact) -> i32 {
    width(&fact.label, FontFace::Plain, 11).max(width(&fact.value, FontFace::Mono, 13)).min(820)
}

/// Height of the title, with the space below it.
pub(crate) fn title_height(facts: &Title, room: i32) -> i32 {
    title(facts, room).last().map_or(NAME, |(_, y)| y + FACT) + 20
}

/// An entry of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegendEntry {
    Wire(WireKind),
    Bfd(bool),
    RouterCable,
    Stack,
    Speaker,
    Vip,
    Anycast,
}

impl LegendEntry {
    pub fn label(self) -> &'static str {
        match self {
            Self::Wire(WireKind::Unnumbered) => "BGP session, unnumbered",
            Self::Wire(WireKind::Numbered) => "BGP session by address",
            Self::Wire(WireKind::Cable) => "cable without a session",
            Self::Wire(WireKind::Attached) => "connected to the network",
            Self::Wire(WireKind::Tunnel) => "tunnel of the overlay",
            Self::Bfd(true) => "port of a session with BFD",
            Self::Bfd(false) => "port of a session without BFD",
            Self::RouterCable => "cable between routers",
            Self::Stack => "several similar nodes or routers",
            Self::Speaker => "speaker of service addresses",
            Self::Vip => "held by one control plane at a time",
            Self::Anycast => "announced by every control plane",
        }
    }
}

/// The legend entries of a diagram.
pub fn entries(diagram: &Diagram) -> Vec<LegendEntry> {
    use WireKind::{Attached, Cable, Numbered, Tunnel, Unnumbered};
    let session = |kind| matches!(kind, Unnumbered | Numbered);
    let kinds = [Unnumbered, Numbered, Cable, Attached, Tunnel].map(LegendEntry::Wire);
    let bfd = [true, false].map(LegendEntry::Bfd);
    let stacks = diagram.cards().any(|card| card.count > 1) || diagram.hubs.iter().any(|hub| hub.count > 1);
    let shared = |word: &str| diagram.frames.iter().any(|frame| frame.shared.contains(word));
    let needed = |entry: &LegendEntry| match *entry {
        LegendEntry::Wire(kind) => diagram.wires().any(|wire| wire.kind == kind),
        LegendEntry::Bfd(bfd) => diagram.wires().any(|wire| session(wire.kind) && wire.bfd == bfd),
        LegendEntry::RouterCable => !diagram.cables.is_empty(),
        LegendEntry::Stack => stacks,
        LegendEntry::Speaker => diagram.cards().any(|card| card.speaker.is_some()),
        LegendEntry::Vip => shared("VIP"),
        LegendEntry::Anycast => shared("anycast"),
    };
    let rest = [
        LegendEntry::RouterCable,
        LegendEntry::Speaker,
        LegendEntry::Vip,
        LegendEntry::Anycast,
        LegendEntry::Stack,
    ];
    kinds.into_iter().chain(bfd).chain(rest).filter(needed).collect()
}

/// Positions of the legend's entries, relative to its upper left corner.
pub(crate) fn legend(entries: &[LegendEntry], room: i32) -> Vec<(i32, i32)> {
    let positions =
        flow(entries.iter().map(|entry| SIGN + width(entry.label(), FontFace::Plain, 12) + 24), room);
    positions.into_iter().map(|(x, line)| (x, line * ENTRY)).collect()
}

/// Height of the legend.
pub(crate) fn legend_height(diagram: &Diagram, room: i32) -> i32 {
    legend(&entries(diagram), room).last().map_or(0, |(_, y)| y + ENTRY)
}
