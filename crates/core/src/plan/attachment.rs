//! The files a cluster file names: patches, templates, values, manifests.

use std::collections::BTreeMap;

use super::patch::Patches;
use crate::cluster::load::beside;
use crate::cluster::{FileError, Files};
use crate::model::Cluster;
use crate::model::rung;
use crate::model::rung::Step;
use crate::plan::{CniPlan, Plan};
use ichor_values::Place;
use ichor_values::key::Key;
use ichor_values::{Either, FilePath, Word};

/// Texts of the files a cluster file names.
#[derive(Debug, Default)]
pub struct Attachments {
    /// By the path as written: the text, or why it could not be read.
    pub texts: BTreeMap<String, Result<String, Unread>>,
    /// By the pattern as written: the files that match it, or why that could not be told.
    pub matches: BTreeMap<String, Result<Vec<String>, FileError>>,
    /// The patches among them, and those in the cluster file itself.
    pub patches: Patches,
    /// The file in which Cilium is kept as helm rendered it, where it is there.
    pub lock: Option<String>,
}

/// The lock's file of a cluster, beside its cluster file. It ends on nothing that a pattern for manifests would match.
pub fn lock_name(cluster: &Word) -> String {
    format!("cilium.{cluster}.lock")
}

/// Why there is no text of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// It could not be read, for this reason.
    #[error(transparent)]
    Failed(#[from] FileError),
    /// It is there, and not UTF-8.
    #[error("it is not UTF-8")]
    NotText,
}

impl Attachments {
    /// Reads every file that `cluster`, read from the file `name`, names; each once.
    pub fn gather(cluster: &Cluster, name: &str, files: &mut dyn Files) -> Self {
        let mut attachments = Self::default();
        for named in named(cluster) {
            attachments.texts.entry(named.path).or_insert_with_key(|path| text(files, &beside(name, path)));
        }
        for named in patterns(cluster) {
            let found = attachments
                .matches
                .entry(named.path)
                .or_insert_with_key(|pattern| files.find(&beside(name, pattern)));
            for path in found.iter().flatten() {
                attachments.texts.entry(path.clone()).or_insert_with(|| text(files, path));
            }
        }
        attachments.patches = Patches::read(cluster, &attachments);
        let lock = cluster.section().name.get().map(lock_name);
        attachments.lock = lock.and_then(|lock| text(files, &beside(name, &lock)).ok());
        attachments
    }
}

fn text(files: &mut dyn Files, path: &str) -> Result<String, Unread> {
    String::from_utf8(files.read(path)?).map_err(|_| Unread::NotText)
}

/// A file that a cluster file names.
#[derive(Clone, Debug)]
pub(crate) struct NamedFile {
    /// The path or pattern as written, from the folder of the cluster file.
    pub path: String,
    /// The key that names it.
    pub key: String,
    /// Where it is named.
    pub place: Place,
}

impl NamedFile {
    /// The name of the file without its folder and ending.
    pub(crate) fn stem(&self) -> &str {
        let file = self.path.rsplit('/').next().unwrap_or(&self.path);
        file.trim_end_matches(".yaml").trim_end_matches(".yml")
    }
}

/// Every file `cluster` names, in the order of the file, but for those of [`patterns`].
pub(crate) fn named(cluster: &Cluster) -> Vec<NamedFile> {
    let mut names = Names(Vec::new());
    let section = cluster.section();
    if let Some(Either::Record(own)) = section.cni.get() {
        names.key("cluster.cni.manifest", &own.manifest);
    }
    if let Some(cilium) = section.cilium.get() {
        names.key("cluster.cilium.values", &cilium.values);
        names.key("cluster.cilium.manifest", &cilium.manifest);
    }
    names.0.extend(written(cluster).filter(|manifest| !manifest.path.contains('*')));
    rung::all(cluster).for_each(|step| names.rung(&step));
    names.0
}

/// Every pattern for files in `cluster`; only `cluster.manifests` may have them.
pub(crate) fn patterns(cluster: &Cluster) -> impl Iterator<Item = NamedFile> {
    written(cluster).filter(|manifest| manifest.path.contains('*'))
}

/// The files whose manifests go into the configurations of control planes: the pod network's own, and those of
/// `cluster.manifests` with all that its patterns match.
pub(crate) fn manifests(cluster: &Cluster, plan: &Plan, attachments: &Attachments) -> Vec<NamedFile> {
    let mut names = Names(Vec::new());
    let section = cluster.section();
    match (&plan.cluster.cni.value, section.cni.get(), section.cilium.get()) {
        (CniPlan::Manifest(_), Some(Either::Record(own)), _) => {
            names.key("cluster.cni.manifest", &own.manifest);
        }
        (CniPlan::Cilium, _, Some(cilium)) => names.key("cluster.cilium.manifest", &cilium.manifest),
        _ => {}
    }
    for named in written(cluster) {
        match attachments.matches.get(&named.path) {
            Some(Ok(found)) => {
                names.0.extend(found.iter().map(|path| NamedFile { path: path.clone(), ..named.clone() }));
            }
            Some(Err(_)) | None => names.0.push(named),
        }
    }
    names.0
}

fn written(cluster: &Cluster) -> impl Iterator<Item = NamedFile> {
    cluster.section().manifests.items().enumerate().map(|(nth, manifest)| NamedFile {
        path: manifest.value.to_string(),
        key: format!("cluster.manifests[{nth}]"),
        place: manifest.place,
    })
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
