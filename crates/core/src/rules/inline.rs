//! Talos documents that are written into the file itself.

use super::{Context, rung};
use crate::cluster::Place;
use crate::cluster::section::Rung;
use crate::cluster::value::{Any, Either};
use crate::plan::NodePlan;

/// The documents of this kind among the inline patches of a node's settings.
pub(super) fn documents<'s>(
    settings: &'s Rung,
    kind: &'static str,
) -> impl Iterator<Item = (&'s Any, Place)> {
    settings.patches.items().filter_map(move |patch| match &patch.value {
        Either::Record(source) => {
            Some((source.inline.get()?, patch.place)).filter(|(any, _)| text(any, "kind") == Some(kind))
        }
        Either::Word(_) => None,
    })
}

/// The text under `key` of a document.
pub(super) fn text<'s>(document: &'s Any, key: &str) -> Option<&'s str> {
    match document.get(key)? {
        Any::Scalar(text, _) => Some(text),
        Any::Null | Any::List(_) | Any::Map(_) => None,
    }
}

/// The path of a patch of node `nth` that stands at `place`.
pub(super) fn path(context: &Context<'_>, node: &NodePlan, place: Place) -> String {
    let found =
        rung::find(context.cluster, node, |rung| rung.patches.items().position(|patch| patch.place == place));
    found.map_or_else(|| "patches".to_owned(), |(step, position)| step.path(&format!("patches[{position}]")))
}
