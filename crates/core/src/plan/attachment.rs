//! The files that a cluster file refers to: patches, templates, values, manifests.

use std::collections::BTreeMap;

use super::patch::ConfigPatches;
use crate::cluster::load::resolve_path;
use crate::cluster::{FileError, Files};
use crate::model::Cluster;
use crate::model::layer;
use crate::model::layer::Layer;
use crate::plan::{CniPlan, Plan};
use ichor_values::Location;
use ichor_values::key::Key;
use ichor_values::{FilePath, Word, WordOrRecord};

/// Texts of the files that a cluster file refers to.
#[derive(Debug, Default)]
pub struct Attachments {
    /// By the path as written: the text, or why it could not be read.
    pub texts: BTreeMap<String, Result<String, AttachmentError>>,
    /// By the pattern as written: the files that match it, or why the search failed.
    pub matches: BTreeMap<String, Result<Vec<String>, FileError>>,
    /// The patches among them, and those in the cluster file itself.
    pub patches: ConfigPatches,
    /// The lock file with the rendered Cilium chart, if it exists.
    pub lock: Option<String>,
}

/// The name of a cluster's lock file, beside its cluster file. No pattern for manifests matches its ending.
pub fn lock_name(cluster: &Word) -> String {
    format!("cilium.{cluster}.lock")
}

/// The text of a file is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttachmentError {
    /// It cannot be read.
    #[error(transparent)]
    Failed(#[from] FileError),
    /// It is not UTF-8.
    #[error("not UTF-8")]
    NotText,
}

impl Attachments {
    /// Reads every file that `cluster` refers to, once; `name` is the path of the cluster file.
    pub fn gather(cluster: &Cluster, name: &str, files: &mut dyn Files) -> Self {
        let mut attachments = Self::default();
        for named in file_refs(cluster) {
            attachments
                .texts
                .entry(named.path)
                .or_insert_with_key(|path| read_text(files, &resolve_path(name, path)));
        }
        for named in file_patterns(cluster) {
            let found = attachments
                .matches
                .entry(named.path)
                .or_insert_with_key(|pattern| files.find(&resolve_path(name, pattern)));
            for path in found.iter().flatten() {
                attachments.texts.entry(path.clone()).or_insert_with(|| read_text(files, path));
            }
        }
        attachments.patches = ConfigPatches::read(cluster, &attachments);
        let lock = cluster.section().name.get().map(lock_name);
        attachments.lock = lock.and_then(|lock| read_text(files, &resolve_path(name, &lock)).ok());
        attachments
    }
}

fn read_text(files: &mut dyn Files, path: &str) -> Result<String, AttachmentError> {
    String::from_utf8(files.read(path)?).map_err(|_| AttachmentError::NotText)
}

/// A reference to a file.
#[derive(Clone, Debug)]
pub(crate) struct FileRef {
    /// The path or pattern as written, from the folder of the cluster file.
    pub path: String,
    /// Key path of the reference.
    pub key: String,
    /// Place of the reference.
    pub place: Location,
}

impl FileRef {
    /// The name of the file without its folder and ending.
    pub(crate) fn stem(&self) -> &str {
        let file = self.path.rsplit('/').next().unwrap_or(&self.path);
        file.trim_end_matches(".yaml").trim_end_matches(".yml")
    }
}

/// Every file that `cluster` refers to by path, in the order of the file.
pub(crate) fn file_refs(cluster: &Cluster) -> Vec<FileRef> {
    let mut names = FileRefs(Vec::new());
    let section = cluster.section();
    if let Some(WordOrRecord::Record(own)) = section.cni.get() {
        names.key("cluster.cni.manifest", &own.manifest);
    }
    if let Some(cilium) = section.cilium.get() {
        names.key("cluster.cilium.values", &cilium.values);
        names.key("cluster.cilium.manifest", &cilium.manifest);
    }
    names.0.extend(manifest_refs(cluster).filter(|manifest| !manifest.path.contains('*')));
    layer::all_layers(cluster).for_each(|layer| names.layer(&layer));
    names.0
}

/// Every file pattern in `cluster`; only `cluster.manifests` may have them.
pub(crate) fn file_patterns(cluster: &Cluster) -> impl Iterator<Item = FileRef> {
    manifest_refs(cluster).filter(|manifest| manifest.path.contains('*'))
}

/// The manifests in the configurations of control planes: the CNI's, and those of `cluster.manifests` with the files that
/// its patterns match.
pub(crate) fn manifests(cluster: &Cluster, plan: &Plan, attachments: &Attachments) -> Vec<FileRef> {
    let mut names = FileRefs(Vec::new());
    let section = cluster.section();
    match (&plan.cluster.cni.value, section.cni.get(), section.cilium.get()) {
        (CniPlan::Manifest(_), Some(WordOrRecord::Record(own)), _) => {
            names.key("cluster.cni.manifest", &own.manifest);
        }
        (CniPlan::Cilium, _, Some(cilium)) => names.key("cluster.cilium.manifest", &cilium.manifest),
        _ => {}
    }
    for named in manifest_refs(cluster) {
        match attachments.matches.get(&named.path) {
            Some(Ok(found)) => {
                names.0.extend(found.iter().map(|path| FileRef { path: path.clone(), ..named.clone() }));
            }
            Some(Err(_)) | None => names.0.push(named),
        }
    }
    names.0
}

fn manifest_refs(cluster: &Cluster) -> impl Iterator<Item = FileRef> {
    cluster.section().manifests.items().enumerate().map(|(nth, manifest)| FileRef {
        path: manifest.value.to_string(),
        key: format!("cluster.manifests[{nth}]"),
        place: manifest.place,
    })
}

struct FileRefs(Vec<FileRef>);

impl FileRefs {
    fn add(&mut self, key: String, path: &FilePath, place: Location) {
        self.0.push(FileRef { path: path.to_string(), key, place });
    }

    fn key(&mut self, key: &str, path: &Key<FilePath>) {
        if let Some(at) = path.at() {
            self.add(key.to_owned(), at.value, at.place);
        }
    }

    fn layer(&mut self, layer: &Layer<'_>) {
        let routing = layer.settings.routing.get();
        let templates = routing.into_iter().flat_map(|routing| routing.template.entries());
        for (backend, template) in templates {
            self.add(layer.path(&format!("routing.template.{backend}")), template.value, template.place);
        }
        for (nth, patch) in layer.settings.patches.items().enumerate() {
            let key = layer.path(&format!("patches[{nth}]"));
            match &patch.value {
                WordOrRecord::Word(file) => self.add(key, file, patch.place),
                WordOrRecord::Record(source) => self.key(&format!("{key}.sops"), &source.sops),
            }
        }
    }
}
