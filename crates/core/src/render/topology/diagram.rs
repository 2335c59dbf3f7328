//! The contents of the diagram, before layout.
//!
//! A [`Diagram`] has hubs (routers and networks) and frames of cards (nodes). Each wire of a card has the hub it is connected
//! to.

use crate::cluster::section::Role;

/// The contents of the diagram.
#[derive(Debug)]
pub struct Diagram {
    pub title: Title,
    /// By kind, from top to bottom.
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

/// The name of the cluster and its common facts.
#[derive(Debug)]
pub(crate) struct Title {
    pub name: String,
    pub facts: Vec<Fact>,
}

/// One line with a label and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub label: String,
    pub value: String,
    /// Whether it is highlighted.
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

/// The kind of a hub, from top to bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HubKind {
    Spine,
    Leaf,
    Gateway,
    /// A neighbour that is not a router in the file.
    Neighbor,
    /// The network of nodes without routing.
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

    /// Whether it is drawn as a bar over the full width.
    pub(crate) fn is_band(self) -> bool {
        matches!(self, Self::Network | Self::Overlay)
    }
}

/// A router or network that nodes are connected to.
#[derive(Debug)]
pub(crate) struct Hub {
    pub kind: HubKind,
    pub name: String,
    pub facts: Vec<Fact>,
    /// Number of hubs it represents.
    pub count: usize,
}

impl Hub {
    /// Tooltip.
    pub fn detail(&self) -> String {
        format!("{} {}\n{}", self.kind.word(), self.name, facts_text(&self.facts))
    }
}

/// Facts as lines of text.
pub(crate) fn facts_text(facts: &[Fact]) -> String {
    let line = |fact: &Fact| format!("{} {}", fact.label, fact.value).trim().to_owned();
    facts.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A cable between two routers.
#[derive(Debug)]
pub(crate) struct HubCable {
    pub ends: (usize, usize),
    pub detail: String,
}

/// A group of nodes: a site, or a role.
#[derive(Debug)]
pub(crate) struct Frame {
    pub label: String,
    /// Shared addresses of its control planes.
    pub(crate) shared: String,
    pub note: String,
    pub(crate) cards: Vec<Card>,
}

/// One node, or a stack of similar nodes.
#[derive(Debug)]
pub(crate) struct Card {
    pub name: String,
    pub role: Role,
    /// Text beside the name: the role, or a state.
    pub(crate) caption: String,
    pub facts: Vec<Fact>,
    pub speaker: Option<SpeakerBox>,
    pub(crate) wires: Vec<Wire>,
    /// Number of nodes it represents.
    pub count: usize,
    /// Tooltip.
    pub detail: String,
}

/// The speaker of service addresses inside a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpeakerBox {
    pub name: String,
    pub lines: Vec<String>,
}

/// Kind of a connection between node and hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WireKind {
    /// An unnumbered BGP session.
    Unnumbered,
    /// A numbered BGP session.
    Numbered,
    /// A cable without a session.
    Cable,
    /// Connected to the network.
    Attached,
    /// A tunnel of the overlay.
    Tunnel,
}

/// A connection between a card and a hub.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) hub: usize,
    pub kind: WireKind,
    /// The node's end.
    pub port: String,
    /// The hub's end, if known.
    pub far: Option<String>,
    pub bfd: bool,
    pub detail: String,
}
