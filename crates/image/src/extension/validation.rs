//! Validation of a new extension by Talos' rules, before it is published.

use std::io;

use super::ExtensionBuildError;
use crate::oci::{EntryKind, FileTree};
use ichor_talos::extension;
use ichor_talos::extension::{FileEntry, Remark, Tree, Verdict};
use ichor_talos::release;
use ichor_values::TalosVersion;

/// No manifest or service definition is longer.
const LONGEST_TEXT: u64 = 1 << 20;

/// Validates an unpacked extension, and each of its service definitions alone, as every known release does. A warning is
/// as bad as an error: every setting made here must take effect.
pub(super) fn validate_for_all_releases(root: &FileTree) -> Result<(), ExtensionBuildError> {
    let (oldest, newest) = release::known_releases();
    for minor in oldest..=newest {
        let talos = TalosVersion::parse(&format!("1.{minor}")).expect("a release ichor knows is a version");
        let mut remarks = remarks(validate(root, &talos).map_err(ExtensionBuildError::Read)?);
        for (path, entry) in root.below("rootfs/usr/local/etc/containers") {
            if let Some(bytes) = entry.memory() {
                remarks.extend(self::remarks(extension::judge_service(path, bytes, &talos)));
            }
        }
        if let Some(remark) = remarks.first() {
            let what = format!("{}: {} {}", remark.file, remark.issue.subject, remark.issue.message);
            return Err(ExtensionBuildError::Refused { talos: talos.to_string(), what });
        }
    }
    Ok(())
}

/// Validates the tree of an extension's image as a release does.
pub fn validate(root: &FileTree, talos: &TalosVersion) -> io::Result<Verdict> {
    Ok(extension::check_extension(&tree(root)?, talos))
}

fn remarks(verdict: Verdict) -> Vec<Remark> {
    verdict.problems.into_iter().chain(verdict.warnings).collect()
}

/// The extension in the form that Talos' rules validate.
pub fn tree(root: &FileTree) -> io::Result<Tree> {
    let mut tree = Tree::default();
    for (path, entry) in root.iter() {
        let kind = match &entry.kind {
            EntryKind::Folder => extension::FileKind::Folder,
            EntryKind::File(_) => extension::FileKind::File,
            EntryKind::Link(target) => extension::FileKind::Link(target.clone()),
            EntryKind::Special(name) => extension::FileKind::Special(name),
        };
        tree.add(path, FileEntry { kind, mode: entry.mode });
    }
    for path in tree.required_files() {
        if let Some(bytes) = root.load(&path, LONGEST_TEXT)? {
            tree.fill(path, bytes);
        }
    }
    Ok(tree)
}
