//! Wires with their places, and how they run.

use crate::render::topology::scene::{Diagram, WireKind};

/// How wires run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WiringStyle {
    /// Each wire by itself: few cards in one row.
    Direct,
    /// One row of cards below a line for each hub.
    Lanes,
    /// Several rows, each below lines that come from the sides.
    Gutters,
}

/// More wires than this are too many to follow one by one.
const FOLLOWED: usize = 24;

impl WiringStyle {
    pub fn of(scene: &Diagram, rows: usize) -> Self {
        let to_band = scene.wires().filter(|wire| scene.hubs[wire.hub].kind.is_band()).count();
        let to_router = scene.wires().count() - to_band;
        match (rows, to_band, to_router) {
            (0 | 1, _, 0) => Self::Direct,
            (0 | 1, 0, few) if few <= FOLLOWED => Self::Direct,
            (0 | 1, 0, _) => Self::Lanes,
            _ => Self::Gutters,
        }
    }
}

/// Everything between hubs and cards.
#[derive(Debug, Default)]
pub struct Wiring {
    pub(crate) strands: Vec<Strand>,
    pub(crate) dots: Vec<Dot>,
    pub ports: Vec<PortMark>,
}

/// A drawn line.
#[derive(Debug)]
pub(crate) struct Strand {
    pub(crate) hub: usize,
    pub kind: WireKind,
    /// SVG path data.
    pub path: String,
    pub detail: String,
    /// Whether it stands for several wires.
    pub(crate) shared: bool,
}

/// Where two lines of one hub join.
#[derive(Debug)]
pub(crate) struct Dot {
    pub(crate) hub: usize,
    pub at: (i32, i32),
}

/// Where a wire meets a box.
#[derive(Debug)]
pub(crate) struct PortMark {
    pub(crate) hub: usize,
    /// Its middle.
    pub at: (i32, i32),
    /// Empty where there is no room for a name.
    pub name: String,
    pub(crate) width: i32,
    pub bfd: bool,
    pub detail: String,
}
