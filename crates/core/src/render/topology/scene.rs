//! What is in the picture, before anything has a place.
//!
//! A [`Diagram`] has hubs (routers and networks) and frames of cards (nodes). Each card's wires name the hub they lead to.

use crate::cluster::section::Role;

/// Everything in the picture.
#[derive(Debug)]
pub struct Diagram {
    pub title: Title,
    /// By kind, from the top of the picture to the bottom.
    pub(crate) hubs: Vec<Hub>,
    pub cables: Vec<HubCable>,
    pub(crate) frames: Vec<Frame>,
}

impl Diagram {
    pub(crate) fn cards(&self) -> impl Iterator<Item = &Card> {
        self.frames.iter().flat_map(|frame| &frame.cards)
    }

    pub(crate) fn wires(&self) -> impl Iterator<Item = &Wire> {
        self.cards().flat_map(|card| &card.wires)
    }
}

/// The cluster's name and what holds for all of it.
#[derive(Debug)]
pub(crate) struct Title {
    pub name: String,
    pub facts: Vec<Fact>,
}

/// One line: what it is, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub label: String,
    pub value: String,
    /// Whether it shall catch the eye.
    pub(crate) accent: bool,
}

impl Fact {
    pub(crate) fn new(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self { label: label.into(), value: value.into(), accent: false }
    }

    pub(crate) fn accent(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self { accent: true, ..Self::new(label, value) }
    }
}

/// What a hub is, from the top of the picture to the bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HubKind {
    Spine,
    Leaf,
    Gateway,
    /// A neighbour that is no router of the file.
    Neighbor,
    /// The network of nodes that do not route.
    Network,
    Overlay,
}

impl HubKind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Spine => "spine",
            Self::Leaf => "leaf",
            Self::Gateway => "gateway",
            Self::Neighbor => "neighbour",
            Self::Network => "network",
            Self::Overlay => "overlay",
        }
    }

    /// Whether it is drawn as a bar over the whole width.
    pub(crate) fn is_band(self) -> bool {
        matches!(self, Self::Network | Self::Overlay)
    }
}

/// Something that nodes are connected to.
#[derive(Debug)]
pub(crate) struct Hub {
    pub kind: HubKind,
    pub name: String,
    pub facts: Vec<Fact>,
    /// How many it stands for.
    pub count: usize,
}

impl Hub {
    /// Said when the pointer rests on it.
    pub fn detail(&self) -> String {
        format!("{} {}\n{}", self.kind.word(), self.name, spoken(&self.facts))
    }
}

/// Facts as lines of text.
pub(crate) fn spoken(facts: &[Fact]) -> String {
    let line = |fact: &Fact| format!("{} {}", fact.label, fact.value).trim().to_owned();
    facts.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Connects two routers.
#[derive(Debug)]
pub(crate) struct HubCable {
    pub ends: (usize, usize),
    pub detail: String,
}

/// Nodes that belong together: a site, or a role.
#[derive(Debug)]
pub(crate) struct Frame {
    pub label: String,
    /// Addresses that its control planes have together.
    pub(crate) shared: String,
    pub note: String,
    pub(crate) cards: Vec<Card>,
}

/// One node, or several that are alike.
#[derive(Debug)]
pub(crate) struct Card {
    pub name: String,
    pub role: Role,
    /// Beside the name: the role, or a mark.
    pub(crate) caption: String,
    pub facts: Vec<Fact>,
    pub speaker: Option<SpeakerBox>,
    pub(crate) wires: Vec<Wire>,
    /// How many nodes it stands for.
    pub count: usize,
    /// Said when the pointer rests on it.
    pub detail: String,
}

/// The speaker of service addresses inside a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpeakerBox {
    pub name: String,
    pub lines: Vec<String>,
}

/// How a node is connected to a hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WireKind {
    /// A BGP session on a link.
    Unnumbered,
    /// A BGP session with an address.
    Numbered,
    /// A cable without a session.
    Cable,
    /// An address in a network.
    Attached,
    /// A tunnel.
    Tunnel,
}

/// Connects a card with a hub.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) hub: usize,
    pub kind: WireKind,
    /// The node's end.
    pub port: String,
    /// The hub's end, where it is known.
    pub far: Option<String>,
    pub bfd: bool,
    pub detail: String,
}
