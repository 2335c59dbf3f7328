//! The patches of the file, each read once for all nodes that have it.

use std::collections::{BTreeMap, HashMap};

use super::Ground;
use crate::model::Cluster;
use crate::model::rung;
use crate::plan::NodePlan;
use crate::plan::attachment::Unread;
use ichor_talos::patch::{Patch, PatchError};
use ichor_values::{Either, Issue, Place};

/// By the path as written: the text of an encrypted patch, opened, or why it could not be had.
pub type PatchTexts = BTreeMap<String, Result<String, Unread>>;

/// Why a patch cannot be used.
#[derive(Debug, thiserror::Error)]
enum PatchFileError {
    #[error("{path}: {reason}")]
    Unread { path: String, reason: Unread },
    #[error("{path} was not read")]
    NotGathered { path: String },
    #[error(transparent)]
    Patch(#[from] PatchError),
}

/// The paths of patches that are encrypted, from the folder of the cluster file.
pub fn sealed_patches(cluster: &Cluster) -> Vec<String> {
    let mut paths: Vec<String> = rung::all(cluster)
        .flat_map(|step| step.rung.patches.values())
        .filter_map(|patch| match patch {
            Either::Word(_) => None,
            Either::Record(source) => source.sops.get().map(ToString::to_string),
        })
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

/// All patches, by where they are named.
pub(crate) struct Patches {
    by_place: HashMap<Place, Patch>,
}

impl Patches {
    /// Reads them all, and notes what is wrong with each.
    pub fn read(ground: Ground<'_>, errors: &mut Vec<Issue>) -> Self {
        let talos = &ground.plan.cluster.contract.value;
        let mut files: HashMap<&str, Option<Patch>> = HashMap::new();
        let mut by_place = HashMap::new();
        for step in rung::all(ground.cluster) {
            for (nth, at) in step.rung.patches.items().enumerate() {
                let key = step.path(&format!("patches[{nth}]"));
                let mut note = |patch: Result<Patch, PatchFileError>| {
                    patch.map_err(|error| errors.push(Issue::error(&key, error.to_string()))).ok()
                };
                let read = |text: Result<&str, PatchFileError>, file: &str| {
                    text.and_then(|text| Ok(Patch::read(file, text, talos)?))
                };
                let patch = match &at.value {
                    Either::Word(file) => {
                        let text = || text(&ground.attachments.texts, file.as_str());
                        files
                            .entry(file.as_str())
                            .or_insert_with(|| note(read(text(), file.as_str())))
                            .clone()
                    }
                    Either::Record(source) => match (source.inline.get(), source.sops.get()) {
                        (Some(inline), _) => {
                            note(Patch::inline(&key, inline, talos).map_err(PatchFileError::Patch))
                        }
                        (None, Some(file)) => {
                            let text = || text(ground.patches, file.as_str());
                            files
                                .entry(file.as_str())
                                .or_insert_with(|| note(read(text(), file.as_str())))
                                .clone()
                        }
                        (None, None) => None,
                    },
                };
                by_place.extend(patch.map(|patch| (at.place, patch)));
            }
        }
        Self { by_place }
    }

    /// The patches of a node, in the order of the ladder.
    pub fn of<'p>(&'p self, node: &'p NodePlan) -> impl Iterator<Item = &'p Patch> {
        node.patches.iter().filter_map(|patch| self.by_place.get(&patch.place()?))
    }
}

fn text<'t>(
    texts: &'t BTreeMap<String, Result<String, Unread>>,
    path: &str,
) -> Result<&'t str, PatchFileError> {
    match texts.get(path) {
        Some(Ok(text)) => Ok(text),
        Some(Err(reason)) => Err(PatchFileError::Unread { path: path.to_owned(), reason: reason.clone() }),
        None => Err(PatchFileError::NotGathered { path: path.to_owned() }),
    }
}
