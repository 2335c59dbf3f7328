//! Patches: their form, their content, Talos' warnings about them, and secrets in them.

mod content;
mod form;
mod secret;
mod warning;

use super::{RuleContext, RuleGroup};
use crate::plan::NodeClass;
pub(super) use crate::plan::patch::{ConfigPatch, PatchContent};

/// The rules by subject.
pub(super) const GROUPS: &[RuleGroup] = &[
    ("Patches", form::RULES),
    ("Content of patches", content::RULES),
    ("Warnings of Talos", warning::RULES),
    ("Secrets", secret::RULES),
];

/// Every patch with the node classes that use it, in the order of the layers.
pub(super) fn used_patches<'c>(context: &RuleContext<'c>) -> Vec<(&'c ConfigPatch, Vec<&'c NodeClass>)> {
    let patches = &context.attachments.patches;
    let mut users: Vec<_> = patches.list.iter().map(|patch| (patch, Vec::new())).collect();
    for kind in &context.plan.classes {
        for patch in context.plan.nodes[kind.first()].written().patches.items() {
            if let Some(&nth) = patches.by_place.get(&patch.place) {
                users[nth].1.push(kind);
            }
        }
    }
    users
}

/// The numbers of all nodes of the classes, in the order of the file.
pub(super) fn nodes_of<'k>(kinds: impl IntoIterator<Item = &'k &'k NodeClass>) -> Vec<usize> {
    let mut nodes: Vec<_> = kinds.into_iter().flat_map(|kind| kind.nodes.iter().copied()).collect();
    nodes.sort_unstable();
    nodes
}
