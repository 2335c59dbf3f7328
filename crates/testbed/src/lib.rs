//! Clusters for tests: from a folder of cases or from a text, planned and checked; and comparison with expected files.
#![allow(missing_docs, reason = "fixtures are read beside the tests that use them")]

pub mod command_reference;
pub mod elf;
pub mod extension_service;
pub mod fabric;
pub mod firmware;
pub mod frr;
pub mod kubernetes;
pub mod lab;
pub mod libvirt;
pub mod machine;
pub mod metallb;
pub mod parts;
pub mod random;
pub mod routing;
pub mod schema;
pub mod speaker;
pub mod vm;
pub mod vty;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ichor_core::cluster::{FileError, Files, LoadResult, load};
use ichor_core::model::{self, Cluster};
use ichor_core::plan::attachment::Attachments;
use ichor_core::plan::{self, Plan};
use ichor_core::rules::{self, Finding, RuleContext};

/// A substitute for helm's output of Cilium's chart.
pub const CILIUM: &str =
    "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: cilium, namespace: kube-system}\n";

/// The folder `tests/NAME` of `ichor-core`.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/tests").join(name)
}

/// The text of a page below `docs/`.
pub fn document(page: &str) -> String {
    fs::read_to_string(folder("../../../docs").join(page)).unwrap()
}

/// The sub-folders of `tests/NAME`, in order.
pub fn cases(name: &str) -> Vec<PathBuf> {
    let mut cases: Vec<_> = fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

/// The folders `tests/cases/GROUP-…`, in order.
pub fn group(group: &str) -> Vec<PathBuf> {
    let is_member = |case: &PathBuf| {
        let rest = case.file_name().unwrap().to_str().unwrap().strip_prefix(group);
        rest.is_some_and(|rest| rest.starts_with('-'))
    };
    cases("cases").into_iter().filter(is_member).collect()
}

/// The files below one folder; `*` matches within one name.
pub struct FolderFiles(pub PathBuf);

impl Files for FolderFiles {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        fs::read(self.0.join(path)).map_err(FileError::new)
    }

    fn find(&mut self, pattern: &str) -> Result<Vec<String>, FileError> {
        let (folder, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        let Some((start, end)) = name.split_once('*') else {
            return Ok(if self.0.join(pattern).exists() { vec![pattern.to_owned()] } else { Vec::new() });
        };
        let names = fs::read_dir(self.0.join(folder)).map_err(FileError::new)?;
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut found: Vec<_> = names
            .filter(|name| name.starts_with(start) && name.ends_with(end))
            .map(|name| if folder.is_empty() { name } else { format!("{folder}/{name}") })
            .collect();
        found.sort();
        Ok(found)
    }
}

/// The files of a case, with another Talos release in each.
pub struct ReleaseFiles<'r>(pub FolderFiles, pub &'r str);

impl Files for ReleaseFiles<'_> {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        let text = String::from_utf8(self.0.read(path)?).unwrap();
        let mut parts = text.split("talos: v");
        let mut changed = parts.next().unwrap().to_owned();
        for part in parts {
            let rest = part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "-.".contains(c));
            changed += &format!("talos: {}{rest}", self.1);
        }
        Ok(changed.into_bytes())
    }

    fn find(&mut self, pattern: &str) -> Result<Vec<String>, FileError> {
        self.0.find(pattern)
    }
}

/// Reads the cluster file `name` of a case.
pub fn load_case(case: &Path, name: &str) -> LoadResult {
    load(name, &mut FolderFiles(case.to_owned()))
}

/// A cluster file and nothing beside it.
pub struct SingleFile(pub Vec<u8>);

impl Files for SingleFile {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        if path == "ichor.yaml" { Ok(self.0.clone()) } else { Err(FileError::new("not here")) }
    }

    fn find(&mut self, _: &str) -> Result<Vec<String>, FileError> {
        Ok(Vec::new())
    }
}

/// Reads a text as a cluster file.
pub fn load_text(text: impl Into<Vec<u8>>) -> LoadResult {
    load("ichor.yaml", &mut SingleFile(text.into()))
}

/// Plans a cluster file, which must have no problems.
pub fn planned(loaded: LoadResult) -> (Cluster, Plan) {
    planned_as("ichor.yaml", loaded)
}

/// The cluster file `name` of a case, planned.
pub fn planned_case(case: &Path, name: &str) -> (Cluster, Plan) {
    planned_as(&case.join(name).to_string_lossy(), load_case(case, name))
}

fn planned_as(name: &str, loaded: LoadResult) -> (Cluster, Plan) {
    let cluster = model::validate(loaded.file, loaded.problems)
        .unwrap_or_else(|problems| panic!("{name}: {problems:#?}"));
    let plan = plan::plan(&cluster);
    (cluster, plan)
}

/// Everything the rules find in the cluster file `name` of a case.
pub fn findings_of_case(case: &Path, name: &str) -> Vec<Finding> {
    check(&planned_case(case, name), &mut FolderFiles(case.to_owned()))
}

/// Everything the rules find in a text.
pub fn findings_of_text(text: &str) -> Vec<Finding> {
    check(&planned(load_text(text)), &mut SingleFile(text.into()))
}

/// Everything the rules find, with these files beside the cluster file.
pub fn check((cluster, plan): &(Cluster, Plan), files: &mut dyn Files) -> Vec<Finding> {
    let attachments = Attachments::gather(cluster, "ichor.yaml", files);
    rules::check(&RuleContext { cluster, plan, attachments: &attachments })
}

/// Compares with the expected text in the file `path`, or rewrites it when `UPDATE_GOLDEN` is set.
pub fn assert_same(path: &Path, got: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, got).unwrap();
    }
    let want = fs::read_to_string(path).unwrap_or_default();
    similar_asserts::assert_eq!(got: got, want: want, "{}", path.display());
}

/// Compares with the section between two marks of a document, or rewrites it when `UPDATE_GOLDEN` is set.
pub fn assert_section(document: &str, section: &str, got: &str) {
    let path = folder("../../..").join(document);
    // Tests of several crates may rewrite sections of one document at once.
    let lock = fs::File::open(&path).unwrap();
    lock.lock().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {section}: begin -->\n"), format!("<!-- {section}: end -->"));
    let from = text.find(&begin).unwrap_or_else(|| panic!("{document} has no mark {begin}")) + begin.len();
    let to = text.find(&end).unwrap_or_else(|| panic!("{document} has no mark {end}"));

    assert_same(&path, &format!("{}\n{got}\n{}", &text[..from], &text[to..]));
}

/// Compares texts with all files in a folder, or rewrites the folder when `UPDATE_GOLDEN` is set.
pub fn assert_same_texts(folder: &Path, texts: &BTreeMap<String, String>) {
    let is_stale = |path: &PathBuf| !texts.keys().any(|name| *path == folder.join(name));
    let stale: Vec<_> = files_below(folder).into_iter().filter(is_stale).collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        for path in &stale {
            fs::remove_file(path).unwrap();
        }
    } else {
        assert!(stale.is_empty(), "{stale:#?} are expected no longer");
    }
    for (name, text) in texts {
        assert_same(&folder.join(name), text);
    }
}

/// Every file below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
