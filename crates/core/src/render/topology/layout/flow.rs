//! Things beside each other, and on the next line when there is no room left: the title's facts and the legend.

use crate::render::topology::scene::{Diagram, Fact, Title, WireKind};
use crate::render::topology::text::{FontFace, width};

const NAME: i32 = 44;
const FACT: i32 = 40;
const ENTRY: i32 = 24;
/// Room for an entry's sign.
pub(crate) const SIGN: i32 = 52;

/// Where things of these widths go: their left ends and lines.
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

/// Where the title's facts go, from the title's upper left corner.
pub fn title(title: &Title, room: i32) -> Vec<(i32, i32)> {
    let at = flow(title.facts.iter().map(|fact| fact_width(fact) + 32), room);
    at.into_iter().map(|(x, line)| (x, NAME + line * FACT)).collect()
}

/// Room for one fact of the title.
pub(crate) fn fact_width(fact: &Fact) -> i32 {
    width(&fact.label, FontFace::Plain, 11).max(width(&fact.value, FontFace::Mono, 13)).min(820)
}

/// How high the title is, and the space below it.
pub(crate) fn title_height(facts: &Title, room: i32) -> i32 {
    title(facts, room).last().map_or(NAME, |(_, y)| y + FACT) + 20
}

/// What the legend explains.
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
    pub fn words(self) -> &'static str {
        match self {
            Self::Wire(WireKind::Unnumbered) => "BGP session, unnumbered",
            Self::Wire(WireKind::Numbered) => "BGP session by address",
            Self::Wire(WireKind::Cable) => "cable without a session",
            Self::Wire(WireKind::Attached) => "connected to the network",
            Self::Wire(WireKind::Tunnel) => "tunnel of the overlay",
            Self::Bfd(true) => "port of a session with BFD",
            Self::Bfd(false) => "port of a session without BFD",
            Self::RouterCable => "cable between routers",
            Self::Stack => "several nodes or routers that are alike",
            Self::Speaker => "speaker of service addresses",
            Self::Vip => "held by one control plane at a time",
            Self::Anycast => "announced by every control plane",
        }
    }
}

/// What in `scene` needs to be explained.
pub fn entries(scene: &Diagram) -> Vec<LegendEntry> {
    use WireKind::{Attached, Cable, Numbered, Tunnel, Unnumbered};
    let session = |kind| matches!(kind, Unnumbered | Numbered);
    let kinds = [Unnumbered, Numbered, Cable, Attached, Tunnel].map(LegendEntry::Wire);
    let bfd = [true, false].map(LegendEntry::Bfd);
    let stacks = scene.cards().any(|card| card.count > 1) || scene.hubs.iter().any(|hub| hub.count > 1);
    let shared = |word: &str| scene.frames.iter().any(|frame| frame.shared.contains(word));
    let needed = |entry: &LegendEntry| match *entry {
        LegendEntry::Wire(kind) => scene.wires().any(|wire| wire.kind == kind),
        LegendEntry::Bfd(bfd) => scene.wires().any(|wire| session(wire.kind) && wire.bfd == bfd),
        LegendEntry::RouterCable => !scene.cables.is_empty(),
        LegendEntry::Stack => stacks,
        LegendEntry::Speaker => scene.cards().any(|card| card.speaker.is_some()),
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

/// Where the legend's entries go, from its upper left corner.
pub(crate) fn legend(entries: &[LegendEntry], room: i32) -> Vec<(i32, i32)> {
    let at = flow(entries.iter().map(|entry| SIGN + width(entry.words(), FontFace::Plain, 12) + 24), room);
    at.into_iter().map(|(x, line)| (x, line * ENTRY)).collect()
}

/// How high the legend is.
pub(crate) fn legend_height(scene: &Diagram, room: i32) -> i32 {
    legend(&entries(scene), room).last().map_or(0, |(_, y)| y + ENTRY)
}
