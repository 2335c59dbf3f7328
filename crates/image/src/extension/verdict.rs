//! What Talos says of what was made, asked before anybody else sees it.

use std::io;

use super::MakeError;
use crate::oci::{Kind, Root};
use ichor_talos::extension;
use ichor_talos::extension::{Entry, Remark, Tree, Verdict};
use ichor_talos::release;
use ichor_values::TalosVersion;

/// No manifest or service definition is longer.
const LONGEST_TEXT: u64 = 1 << 20;

/// Has every release that is known judge an unpacked extension, and each of its service definitions by itself. A warning is as bad as an
/// error: what is made here means what it says.
pub(super) fn pass(root: &Root) -> Result<(), MakeError> {
    let (oldest, newest) = release::known();
    for minor in oldest..=newest {
        let talos = TalosVersion::parse(&format!("1.{minor}")).expect("a release ichor knows is a version");
        let mut remarks = remarks(judge(root, &talos).map_err(MakeError::Read)?);
        for (path, entry) in root.below("rootfs/usr/local/etc/containers") {
            if let Some(bytes) = entry.memory() {
                remarks.extend(self::remarks(extension::judge_service(path, bytes, &talos)));
            }
        }
        if let Some(remark) = remarks.first() {
            let what = format!("{}: {} {}", remark.file, remark.issue.subject, remark.issue.message);
            return Err(MakeError::Refused { talos: talos.to_string(), what });
        }
    }
    Ok(())
}

/// Judges what the image of an extension unpacks to as a release does.
pub fn judge(root: &Root, talos: &TalosVersion) -> io::Result<Verdict> {
    Ok(extension::judge(&tree(root)?, talos))
}

fn remarks(verdict: Verdict) -> Vec<Remark> {
    verdict.problems.into_iter().chain(verdict.warnings).collect()
}

/// The extension as Talos' judgement looks at it.
pub fn tree(root: &Root) -> io::Result<Tree> {
    let mut tree = Tree::default();
    for (path, entry) in root.iter() {
        let kind = match &entry.kind {
            Kind::Folder => extension::Kind::Folder,
            Kind::File(_) => extension::Kind::File,
            Kind::Link(target) => extension::Kind::Link(target.clone()),
            Kind::Special(name) => extension::Kind::Special(name),
        };
        tree.add(path, Entry { kind, mode: entry.mode });
    }
    for path in tree.wanted() {
        if let Some(bytes) = root.load(&path, LONGEST_TEXT)? {
            tree.fill(path, bytes);
        }
    }
    Ok(tree)
}
