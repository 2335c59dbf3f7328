//! Wires after layout.

use crate::render::topology::diagram::{Diagram, WireKind};

/// Layout style of wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WiringStyle {
    /// Separate wires, for few cards in one row.
    Direct,
    /// A shared line per hub above a single row of cards.
    Lanes,
    /// Several rows, with lines that branch off trunks on the sides.
    Gutters,
}

/// Maximum number of separate wires.
const FOLLOWED: usize = 24;

impl WiringStyle {
    pub fn choose(diagram: &Diagram, rows: usize) -> Self {
        let to_band = diagram.wires().filter(|wire| diagram.hubs[wire.hub].kind.is_band()).count();
        let to_router = diagram.wires().count() - to_band;
        match (rows, to_band, to_router) {
            (0 | 1, _, 0) => Self::Direct,
            (0 | 1, 0, few) if few <= FOLLOWED => Self::Direct,
            (0 | 1, 0, _) => Self::Lanes,
            _ => Self::Gutters,
        }
    }
}

/// All lines between hubs and cards.
#[derive(Debug, Default)]
pub struct Wiring {
    pub(crate) lines: Vec<WireLine>,
    pub(crate) dots: Vec<Dot>,
    pub ports: Vec<PortMark>,
}

/// A drawn line.
#[derive(Debug)]
pub(crate) struct WireLine {
    pub(crate) hub: usize,
    pub kind: WireKind,
    /// SVG path data.
    pub path: String,
    pub detail: String,
    /// Whether it represents several wires.
    pub(crate) shared: bool,
}

/// A junction of two lines of one hub.
#[derive(Debug)]
pub(crate) struct Dot {
    pub(crate) hub: usize,
    pub at: (i32, i32),
}

/// The mark of a wire at a box.
#[derive(Debug)]
pub(crate) struct PortMark {
    pub(crate) hub: usize,
    /// Centre.
    pub at: (i32, i32),
    /// Empty if there is no space for a name.
    pub name: String,
    pub(crate) width: i32,
    pub bfd: bool,
    pub detail: String,
}
