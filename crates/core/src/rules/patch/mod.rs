//! What is wrong with patches: in their form, in what they bring, and in what they publish.

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

/// Every patch with the kinds of nodes that use it, in the order of the ladder.
pub(super) fn used<'c>(context: &RuleContext<'c>) -> Vec<(&'c ConfigPatch, Vec<&'c NodeClass>)> {
    let patches = &context.attachments.patches;
    let mut used: Vec<_> = patches.list.iter().map(|patch| (patch, Vec::new())).collect();
    for kind in &context.plan.kinds {
        for patch in context.plan.nodes[kind.first()].written().patches.items() {
            if let Some(&nth) = patches.by_place.get(&patch.place) {
                used[nth].1.push(kind);
            }
        }
    }
    used
}

/// The numbers of all nodes of some kinds, in the order of the file.
pub(super) fn nodes_of<'k>(kinds: impl IntoIterator<Item = &'k &'k NodeClass>) -> Vec<usize> {
    let mut nodes: Vec<_> = kinds.into_iter().flat_map(|kind| kind.nodes.iter().copied()).collect();
    nodes.sort_unstable();
    nodes
}
