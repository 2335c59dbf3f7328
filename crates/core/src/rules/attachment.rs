//! The files a cluster file names: patches, templates, values, manifests.

use std::collections::BTreeMap;

use super::patch::Patches;
use super::rung::{self, Step};
use crate::cluster::Place;
use crate::cluster::key::Key;
use crate::cluster::value::{Either, FilePath};
use crate::model::Cluster;

/// Texts of the files a cluster file names.
#[derive(Debug, Default)]
pub struct Attachments {
    /// By the path as written: the text, or why it could not be read.
    pub texts: BTreeMap<String, Result<String, String>>,
    /// The patches among them, and those in the cluster file itself.
    pub patches: Patches,
}

impl Attachments {
    /// Reads every file `cluster` names by `read`, each once.
    pub fn gather(cluster: &Cluster, mut read: impl FnMut(&str) -> Result<String, String>) -> Self {
        let mut texts = BTreeMap::new();
        for named in named(cluster) {
            texts.entry(named.path.clone()).or_insert_with(|| read(&named.path));
        }
        let mut attachments = Self { texts, patches: Patches::default() };
        attachments.patches = Patches::read(cluster, &attachments);
        attachments
    }
}

/// A file that a cluster file names.
#[derive(Clone, Debug)]
pub struct NamedFile {
    /// The path as written, from the folder of the cluster file.
    pub path: String,
    /// The key that names it.
    pub key: String,
    /// Where it is named.
    pub place: Place,
}

/// Every file `cluster` names, in the order of the file; patterns, which only `cluster.manifests` may have, are left out.
pub fn named(cluster: &Cluster) -> Vec<NamedFile> {
    let mut names = Names(Vec::new());
    let section = cluster.section();
    if let Some(Either::Record(own)) = section.cni.get() {
        names.key("cluster.cni.manifest", &own.manifest);
    }
    if let Some(cilium) = section.cilium.get() {
        names.key("cluster.cilium.values", &cilium.values);
        names.key("cluster.cilium.manifest", &cilium.manifest);
    }
    let manifests = section.manifests.items().enumerate();
    for (nth, manifest) in manifests.filter(|(_, manifest)| !manifest.value.as_str().contains('*')) {
        names.add(format!("cluster.manifests[{nth}]"), &manifest.value, manifest.place);
    }
    rung::all(cluster).for_each(|step| names.rung(&step));
    names.0
}

struct Names(Vec<NamedFile>);

impl Names {
    fn add(&mut self, key: String, path: &FilePath, place: Place) {
        self.0.push(NamedFile { path: path.to_string(), key, place });
    }

    fn key(&mut self, key: &str, path: &Key<FilePath>) {
        if let Some(at) = path.at() {
            self.add(key.to_owned(), at.value, at.place);
        }
    }

    fn rung(&mut self, step: &Step<'_>) {
        let routing = step.rung.routing.get();
        let templates = routing.into_iter().flat_map(|routing| routing.template.entries());
        for (backend, template) in templates {
            self.add(step.path(&format!("routing.template.{backend}")), template.value, template.place);
        }
        for (nth, patch) in step.rung.patches.items().enumerate() {
            let key = step.path(&format!("patches[{nth}]"));
            match &patch.value {
                Either::Word(file) => self.add(key, file, patch.place),
                Either::Record(source) => self.key(&format!("{key}.sops"), &source.sops),
            }
        }
    }
}
