//! The patches of a cluster file: each read once, from the layers that name it and from the files these name.
//!
//! Not here: patches in the SOPS form, which only commands that may have secrets can open, and what is wrong with a patch
//! (`rules::patch`).

use std::collections::HashMap;
use std::sync::Arc;

use ichor_talos::{document, kind};
use ichor_values::go_yaml::reader::{self as yaml, Node};
use ichor_values::{Either, Place, nearest};
use serde_json::Value;

use super::attachment::Attachments;
use crate::cluster::section::Rung;
use crate::model::{Cluster, rung};

/// Every patch that is not in the SOPS form.
#[derive(Debug, Default)]
pub struct Patches {
    pub list: Vec<Patch>,
    pub(crate) by_place: HashMap<Place, usize>,
}

/// One patch, where one rung names it.
#[derive(Debug)]
pub struct Patch {
    /// Key path.
    pub key: String,
    /// Where it is named.
    pub place: Place,
    /// The file, unless it stands in the cluster file itself.
    pub file: Option<String>,
    /// Its documents as they are written; none where they could not be had.
    pub nodes: Arc<[Node]>,
    /// What it holds.
    pub content: Arc<Content>,
}

/// What a patch holds.
#[derive(Debug)]
pub enum Content {
    /// Talos documents, to be merged; those that only take one away are left out.
    Documents(Vec<Value>),
    /// RFC 6902 operations.
    Operations,
    /// Nothing Talos understands, and why.
    Unreadable(String),
    /// The file could not be had: another rule says so.
    Missing,
}

impl Patch {
    /// The documents, none for another form of patch.
    pub fn documents(&self) -> &[Value] {
        match &*self.content {
            Content::Documents(documents) => documents,
            Content::Operations | Content::Unreadable(_) | Content::Missing => &[],
        }
    }

    /// Its documents of one kind.
    pub(crate) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.documents().iter().filter(move |document| document::kind(document) == Some(kind))
    }

    /// `what` is wrong, and in which file.
    pub fn says(&self, what: impl std::fmt::Display) -> String {
        match &self.file {
            Some(file) => format!("{file}: {what}"),
            None => what.to_string(),
        }
    }
}

impl Patches {
    /// Reads every patch that `cluster` names.
    pub fn read(cluster: &Cluster, attachments: &Attachments) -> Self {
        let mut patches = Self::default();
        let mut files: HashMap<&str, (Arc<[Node]>, Arc<Content>)> = HashMap::new();
        for step in rung::all(cluster) {
            for (nth, patch) in step.rung.patches.items().enumerate() {
                let key = step.path(&format!("patches[{nth}]"));
                let (key, file, (nodes, content)) = match &patch.value {
                    Either::Word(file) => {
                        let read = files.entry(file.as_str()).or_insert_with(|| {
                            let content = from_text(attachments, file.as_str());
                            let text =
                                attachments.texts.get(file.as_str()).and_then(|text| text.as_deref().ok());
                            let nodes = text.and_then(|text| yaml::parse(text).ok()).unwrap_or_default();
                            (nodes.into(), Arc::new(content))
                        });
                        (key, Some(file.to_string()), read.clone())
                    }
                    Either::Record(source) => {
                        let Some(inline) = source.inline.get() else { continue };
                        let value = document::from_any(inline);
                        let nodes = Arc::from([Node::from(inline)]);
                        (format!("{key}.inline"), None, (nodes, Arc::new(judge(vec![value]))))
                    }
                };
                patches.by_place.insert(patch.place, patches.list.len());
                patches.list.push(Patch { key, place: patch.place, file, nodes, content });
            }
        }
        patches
    }

    /// All of them, in the order of the ladder.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Patch> {
        self.list.iter()
    }

    /// The patches that a rung lists.
    pub fn of<'p>(&'p self, settings: &Rung) -> impl Iterator<Item = &'p Patch> {
        settings.patches.items().filter_map(|patch| self.list.get(*self.by_place.get(&patch.place)?))
    }
}

fn from_text(attachments: &Attachments, path: &str) -> Content {
    match attachments.texts.get(path) {
        Some(Ok(text)) => match document::read(text) {
            Ok(documents) => judge(documents),
            Err(error) => Content::Unreadable(error.to_string()),
        },
        Some(Err(_)) | None => Content::Missing,
    }
}

/// Tells the forms of a patch apart, the way Talos does.
fn judge(documents: Vec<Value>) -> Content {
    if documents.is_empty() {
        return Content::Unreadable("there is nothing in it".to_owned());
    }
    if let [Value::Array(operations)] = documents.as_slice() {
        let is_operation = |item: &Value| item.get("op").is_some() && item.get("path").is_some();
        return if !operations.is_empty() && operations.iter().all(is_operation) {
            Content::Operations
        } else {
            Content::Unreadable("a list, but not of JSON patch operations".to_owned())
        };
    }
    match documents.iter().find_map(fault) {
        Some(fault) => Content::Unreadable(fault),
        // A document that takes another away brings nothing.
        None => {
            let brings = |document: &Value| !document.as_object().is_some_and(document::deletes);
            Content::Documents(documents.into_iter().filter(brings).collect())
        }
    }
}

/// Why a value is not a document of Talos.
fn fault(document: &Value) -> Option<String> {
    let Some(map) = document.as_object() else { return Some("a document that is not a map".to_owned()) };
    if map.contains_key("sops") {
        return Some("in the SOPS form; name it as {sops: FILE}".to_owned());
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

    fn judged(text: &str) -> String {
        match judge(document::read(text).unwrap()) {
            Content::Documents(documents) => format!("{} documents", documents.len()),
            Content::Operations => "operations".to_owned(),
            Content::Unreadable(why) => why,
            Content::Missing => "missing".to_owned(),
        }
    }

    #[test]
    fn the_forms_of_a_patch_are_told_apart() {
        assert_eq!(
            judged("machine: {}\n---\n{apiVersion: v1alpha1, kind: LinkConfig, name: eth0}"),
            "2 documents"
        );
        assert_eq!(judged("[{op: add, path: /machine/env, value: {}}]"), "operations");
        assert_eq!(
            judged("{apiVersion: v1alpha1, kind: LinkConfig, name: eth0, $patch: delete}"),
            "0 documents"
        );
        assert_eq!(judged("[1]"), "a list, but not of JSON patch operations");
        assert_eq!(judged("---"), "there is nothing in it");
        assert_eq!(judged("machin: {}"), "`machin` is not the start of a Talos document");
        assert_eq!(judged("kind: LinkConfig"), "LinkConfig without `apiVersion: v1alpha1`");
        assert_eq!(judged("machine: x\nsops: {}"), "in the SOPS form; name it as {sops: FILE}");
        assert_eq!(
            judged("{apiVersion: v1alpha1, kind: LinkConfg}"),
            "Talos has no kind `LinkConfg`; did you mean `LinkConfig`?"
        );
    }
}
