//! The patches of a cluster file, each read once.
//!
//! Not here: patches encrypted with SOPS, which only commands with access to secrets decrypt, and checks of patches
//! (`rules::patch`).

use std::collections::HashMap;
use std::sync::Arc;

use ichor_talos::{document, kind};
use ichor_values::go_yaml::reader::{self as yaml, YamlNode};
use ichor_values::{Location, WordOrRecord, nearest};
use serde_json::Value;

use super::attachment::Attachments;
use crate::cluster::section::NodeSettings;
use crate::model::{Cluster, layer};

/// Every patch that is not encrypted.
#[derive(Debug, Default)]
pub struct ConfigPatches {
    pub list: Vec<ConfigPatch>,
    pub(crate) by_place: HashMap<Location, usize>,
}

/// One patch of one layer.
#[derive(Debug)]
pub struct ConfigPatch {
    /// Key path.
    pub key: String,
    /// Its place.
    pub place: Location,
    /// The file; none for an inline patch.
    pub file: Option<String>,
    /// Its documents as YAML nodes; none if they cannot be read.
    pub nodes: Arc<[YamlNode]>,
    /// Its content.
    pub content: Arc<PatchContent>,
}

/// Content of a patch.
#[derive(Debug)]
pub enum PatchContent {
    /// Talos documents to merge, without those that only delete a document.
    Documents(Vec<Value>),
    /// RFC 6902 operations.
    Operations,
    /// Content that Talos does not support, and why.
    Unreadable(String),
    /// The file cannot be read, which another rule reports.
    Missing,
}

impl ConfigPatch {
    /// The documents; none for other kinds of content.
    pub fn documents(&self) -> &[Value] {
        match &*self.content {
            PatchContent::Documents(documents) => documents,
            PatchContent::Operations | PatchContent::Unreadable(_) | PatchContent::Missing => &[],
        }
    }

    /// Its documents of one kind.
    pub(crate) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.documents().iter().filter(move |document| document::kind(document) == Some(kind))
    }

    /// Prepends the file to a message.
    pub fn message(&self, what: impl std::fmt::Display) -> String {
        match &self.file {
            Some(file) => format!("{file}: {what}"),
            None => what.to_string(),
        }
    }
}

impl ConfigPatches {
    /// Reads every patch of `cluster`.
    pub fn read(cluster: &Cluster, attachments: &Attachments) -> Self {
        let mut patches = Self::default();
        let mut files: HashMap<&str, (Arc<[YamlNode]>, Arc<PatchContent>)> = HashMap::new();
        for layer in layer::all_layers(cluster) {
            for (nth, patch) in layer.settings.patches.items().enumerate() {
                let key = layer.path(&format!("patches[{nth}]"));
                let (key, file, (nodes, content)) = match &patch.value {
                    WordOrRecord::Word(file) => {
                        let read = files.entry(file.as_str()).or_insert_with(|| {
                            let content = from_text(attachments, file.as_str());
                            let text =
                                attachments.texts.get(file.as_str()).and_then(|text| text.as_deref().ok());
                            let nodes = text.and_then(|text| yaml::parse(text).ok()).unwrap_or_default();
                            (nodes.into(), Arc::new(content))
                        });
                        (key, Some(file.to_string()), read.clone())
                    }
                    WordOrRecord::Record(source) => {
                        let Some(inline) = source.inline.get() else { continue };
                        let value = document::from_any(inline);
                        let nodes = Arc::from([YamlNode::from(inline)]);
                        (format!("{key}.inline"), None, (nodes, Arc::new(classify(vec![value]))))
                    }
                };
                patches.by_place.insert(patch.place, patches.list.len());
                patches.list.push(ConfigPatch { key, place: patch.place, file, nodes, content });
            }
        }
        patches
    }

    /// All patches, in the order of the layers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ConfigPatch> {
        self.list.iter()
    }

    /// The patches in the settings of a layer or node.
    pub fn in_settings<'p>(&'p self, settings: &NodeSettings) -> impl Iterator<Item = &'p ConfigPatch> {
        settings.patches.items().filter_map(|patch| self.list.get(*self.by_place.get(&patch.place)?))
    }
}

fn from_text(attachments: &Attachments, path: &str) -> PatchContent {
    match attachments.texts.get(path) {
        Some(Ok(text)) => match document::read(text) {
            Ok(documents) => classify(documents),
            Err(error) => PatchContent::Unreadable(error.to_string()),
        },
        Some(Err(_)) | None => PatchContent::Missing,
    }
}

/// Classifies the content of a patch as Talos does.
fn classify(documents: Vec<Value>) -> PatchContent {
    if documents.is_empty() {
        return PatchContent::Unreadable("the patch is empty".to_owned());
    }
    if let [Value::Array(operations)] = documents.as_slice() {
        let is_operation = |item: &Value| item.get("op").is_some() && item.get("path").is_some();
        return if !operations.is_empty() && operations.iter().all(is_operation) {
            PatchContent::Operations
        } else {
            PatchContent::Unreadable("a list that is not of JSON patch operations".to_owned())
        };
    }
    match documents.iter().find_map(document_fault) {
        Some(fault) => PatchContent::Unreadable(fault),
        // A document that deletes another has no content.
        None => {
            let has_content = |document: &Value| !document.as_object().is_some_and(document::deletes);
            PatchContent::Documents(documents.into_iter().filter(has_content).collect())
        }
    }
}

/// Why a value is not a Talos document.
fn document_fault(document: &Value) -> Option<String> {
    let Some(map) = document.as_object() else { return Some("a document that is not a map".to_owned()) };
    if map.contains_key("sops") {
        return Some("encrypted with SOPS; write it as {sops: FILE}".to_owned());
    }
    let Some(name) = document::kind(document) else {
        let known = document::is_machine_config(document);
        let first = map.keys().next().map_or("nothing", String::as_str);
        return (!known).then(|| format!("`{first}` is not the start of a Talos document"));
    };
    if document.get("apiVersion").is_none_or(|version| version != "v1alpha1") {
        return Some(format!("{name} without `apiVersion: v1alpha1`"));
    }
    if kind::find(name).is_some() {
        return None;
    }
    let near = nearest(name, kind::all().map(|kind| kind.name));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Some(format!("Talos has no kind `{name}`{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(text: &str) -> String {
        match classify(document::read(text).unwrap()) {
            PatchContent::Documents(documents) => format!("{} documents", documents.len()),
            PatchContent::Operations => "operations".to_owned(),
            PatchContent::Unreadable(why) => why,
            PatchContent::Missing => "missing".to_owned(),
        }
    }

    #[test]
    fn the_content_of_a_patch_is_classified() {
        assert_eq!(
            describe("machine: {}\n---\n{apiVersion: v1alpha1, kind: LinkConfig, name: eth0}"),
            "2 documents"
        );
        assert_eq!(describe("[{op: add, path: /machine/env, value: {}}]"), "operations");
        assert_eq!(
            describe("{apiVersion: v1alpha1, kind: LinkConfig, name: eth0, $patch: delete}"),
            "0 documents"
        );
        assert_eq!(describe("[1]"), "a list that is not of JSON patch operations");
        assert_eq!(describe("---"), "the patch is empty");
        assert_eq!(describe("machin: {}"), "`machin` is not the start of a Talos document");
        assert_eq!(describe("kind: LinkConfig"), "LinkConfig without `apiVersion: v1alpha1`");
        assert_eq!(describe("machine: x\nsops: {}"), "encrypted with SOPS; write it as {sops: FILE}");
        assert_eq!(
            describe("{apiVersion: v1alpha1, kind: LinkConfg}"),
            "Talos has no kind `LinkConfg`; did you mean `LinkConfig`?"
        );
    }
}
