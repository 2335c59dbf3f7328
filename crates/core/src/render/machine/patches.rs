//! The patches of the cluster file, each read once for all nodes.

use std::collections::{BTreeMap, HashMap};

use super::RenderInputs;
use crate::model::Cluster;
use crate::model::layer;
use crate::plan::NodePlan;
use crate::plan::attachment::AttachmentError;
use ichor_talos::patch::{Patch, PatchError};
use ichor_values::{Issue, Location, WordOrRecord};

/// By the path as written: the decrypted text of a patch, or the error.
pub type PatchTexts = BTreeMap<String, Result<String, AttachmentError>>;

/// An error with a patch.
#[derive(Debug, thiserror::Error)]
enum PatchFileError {
    #[error("{path}: {reason}")]
    Unread { path: String, reason: AttachmentError },
    #[error("{path} was not read")]
    NotGathered { path: String },
    #[error(transparent)]
    Patch(#[from] PatchError),
}

/// The paths of encrypted patches, relative to the folder of the cluster file.
pub fn encrypted_patches(cluster: &Cluster) -> Vec<String> {
    let mut paths: Vec<String> = layer::all_layers(cluster)
        .flat_map(|layer| layer.settings.patches.values())
        .filter_map(|patch| match patch {
            WordOrRecord::Word(_) => None,
            WordOrRecord::Record(source) => source.sops.get().map(ToString::to_string),
        })
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

/// All patches, by the place of their reference.
pub(crate) struct PatchSet {
    by_place: HashMap<Location, Patch>,
}

impl PatchSet {
    /// Reads all patches and collects their errors.
    pub fn read(inputs: RenderInputs<'_>, errors: &mut Vec<Issue>) -> Self {
        let talos = &inputs.plan.cluster.contract.value;
        let mut files: HashMap<&str, Option<Patch>> = HashMap::new();
        let mut by_place = HashMap::new();
        for layer in layer::all_layers(inputs.cluster) {
            for (nth, at) in layer.settings.patches.items().enumerate() {
                let key = layer.path(&format!("patches[{nth}]"));
                let mut note = |patch: Result<Patch, PatchFileError>| {
                    patch.map_err(|error| errors.push(Issue::error(&key, error.to_string()))).ok()
                };
                let read = |text: Result<&str, PatchFileError>, file: &str| {
                    text.and_then(|text| Ok(Patch::read(file, text, talos)?))
                };
                let patch = match &at.value {
                    WordOrRecord::Word(file) => {
                        let text = || attachment_text(&inputs.attachments.texts, file.as_str());
                        files
                            .entry(file.as_str())
                            .or_insert_with(|| note(read(text(), file.as_str())))
                            .clone()
                    }
                    WordOrRecord::Record(source) => match (source.inline.get(), source.sops.get()) {
                        (Some(inline), _) => {
                            note(Patch::inline(&key, inline, talos).map_err(PatchFileError::Patch))
                        }
                        (None, Some(file)) => {
                            let text = || attachment_text(inputs.patches, file.as_str());
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

    /// The patches of a node, in the order of the layers.
    pub fn node_patches<'p>(&'p self, node: &'p NodePlan) -> impl Iterator<Item = &'p Patch> {
        node.patches.iter().filter_map(|patch| self.by_place.get(&patch.place()?))
    }
}

fn attachment_text<'t>(
    texts: &'t BTreeMap<String, Result<String, AttachmentError>>,
    path: &str,
) -> Result<&'t str, PatchFileError> {
    match texts.get(path) {
        Some(Ok(text)) => Ok(text),
        Some(Err(reason)) => Err(PatchFileError::Unread { path: path.to_owned(), reason: reason.clone() }),
        None => Err(PatchFileError::NotGathered { path: path.to_owned() }),
    }
}
