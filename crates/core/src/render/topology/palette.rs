//! The colours: dark text on explicit light backgrounds, so that the diagram looks the same in light and dark viewers.

use super::diagram::HubKind;
use crate::cluster::section::Role;

pub(crate) const PAPER: &str = "#ffffff";
pub(crate) const INK: &str = "#0f172a";
pub(crate) const MUTED: &str = "#475569";
pub(crate) const RULE: &str = "#cbd5e1";
pub(crate) const FRAME: &str = "#f1f5f9";
pub(crate) const ACCENT: &str = "#b91c1c";
pub(crate) const CABLE: &str = "#94a3b8";
pub(crate) const SPEAKER: &str = "#fef3c7";
pub(crate) const SPEAKER_EDGE: &str = "#d97706";

/// Colours of wires, distinguishable with red-green colour blindness.
const WIRES: [&str; 12] = [
    "#0369a1", "#c2410c", "#15803d", "#a21caf", "#854d0e", "#0e7490", "#be123c", "#4338ca", "#4d7c0f",
    "#1e293b", "#9d174d", "#7c2d12",
];

/// The header colour of a node.
pub fn role(role: Role) -> &'static str {
    match role {
        Role::Controlplane => "#1e3a8a",
        Role::Worker => "#334155",
    }
}

/// The colour of the `nth` hub and its wires.
pub(crate) fn hub(kind: HubKind, nth: usize) -> &'static str {
    match kind {
        HubKind::Spine => "#475569",
        HubKind::Network => "#0f766e",
        HubKind::Overlay => "#6d28d9",
        HubKind::Leaf | HubKind::Gateway | HubKind::Neighbor => WIRES[nth % WIRES.len()],
    }
}

/// The background colour of a hub.
pub(crate) fn background(kind: HubKind) -> &'static str {
    match kind {
        HubKind::Spine => "#e2e8f0",
        HubKind::Leaf => "#f8fafc",
        HubKind::Gateway => "#fffbeb",
        HubKind::Neighbor => PAPER,
        HubKind::Network => "#ccfbf1",
        HubKind::Overlay => "#ede9fe",
    }
}
