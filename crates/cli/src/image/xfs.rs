//! XFS file systems, built with mkfs.xfs.
//!
//! mkfs.xfs of xfsprogs 6.1 writes the current time and random numbers into every inode, so its output is not
//! reproducible. Newer releases take the time and a seed from the environment.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ichor_image::media::{Content, Guid};
use ichor_image::oci::{EntryKind, FileTree, TreeEntry};

use super::FileImage;
use super::program::{self, ProgramError};

/// Features of newer file systems that GRUB may not support: the flag and the option that disables each.
const DISABLED_FEATURES: [(&str, &str); 4] =
    [("-i", "nrext64=0"), ("-i", "exchange=0"), ("-n", "parent=0"), ("-m", "metadir=0")];

/// The installed mkfs.xfs.
pub(super) struct MkfsXfs {
    program: PathBuf,
}

impl MkfsXfs {
    /// Finds mkfs.xfs; the error names the missing program.
    pub(super) fn find() -> Result<Self, &'static str> {
        program::find(&["mkfs.xfs"]).map(|program| Self { program }).ok_or("mkfs.xfs of xfsprogs")
    }

    /// Options for the features that this mkfs.xfs knows and must disable.
    fn disabled_features(&self) -> Result<Vec<&'static str>, ProgramError> {
        // Without arguments mkfs.xfs lists its options, each as `name=0|1`, and fails.
        let usage = program::usage(&self.program)?;
        let known =
            DISABLED_FEATURES.into_iter().filter(|(_, option)| usage.contains(&format!("{option}|1")));
        Ok(known.flat_map(|(flag, option)| [flag, option]).collect())
    }

    /// Builds a file system of `length` bytes from a tree whose names have no spaces; `folder` is for temporary files.
    pub(super) fn make(
        &self,
        tree: &FileTree,
        length: u64,
        label: &str,
        folder: &Path,
    ) -> Result<Content, ProgramError> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |source| ProgramError::File { what, program: "mkfs.xfs", source }
        };
        let mut list = Prototype::new();
        for (nth, (path, entry)) in tree.iter().enumerate() {
            let name = format!("file-{nth}");
            if let EntryKind::File(content) = &entry.kind {
                let copy = || content.copy_to(&mut File::create(folder.join(&name))?);
                copy().map_err(failed(path))?;
            }
            list.add(path, entry, &name);
        }
        fs::write(folder.join("list"), list.finish()).map_err(failed("a list of files"))?;
        let image = folder.join("image");
        let sparse = || File::create(&image)?.set_len(length);
        sparse().map_err(failed("a file system"))?;
        let disabled = self.disabled_features()?;
        program::run(&self.program, folder, |command| {
            command.args(["-q", "-n", "ftype=1", "-L", label]).args(disabled);
            command.args(["-m", &format!("uuid={}", Guid::from_label(label))]).args(["-p", "list", "image"]);
            command.env("SOURCE_DATE_EPOCH", "0").env("DETERMINISTIC_SEED", "1");
        })?;
        let read = || FileImage::content(File::open(&image)?);
        read().map_err(failed("a file system"))
    }
}

/// A prototype file for mkfs.xfs: nested folders, each with an end mark.
struct Prototype {
    lines: Vec<String>,
    /// Open folders, from the root.
    open: Vec<String>,
}

impl Prototype {
    fn new() -> Self {
        // No boot block and no size: fields of historic Unix.
        Self { lines: vec!["/".to_owned(), "0 0".to_owned(), "d--755 0 0".to_owned()], open: Vec::new() }
    }

    fn add(&mut self, path: &str, entry: &TreeEntry, file: &str) {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        while self.open.last().is_some_and(|open| open != above) {
            self.close();
        }
        let mode = entry.mode & 0o777;
        if entry.kind == EntryKind::Folder {
            self.lines.push(format!("{name} d--{mode:03o} 0 0"));
            self.open.push(path.to_owned());
        } else {
            self.lines.push(format!("{name} ---{mode:03o} 0 0 {file}"));
        }
    }

    fn close(&mut self) {
        self.open.pop();
        self.lines.push("$".to_owned());
    }

    fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.lines.push("$\n".to_owned());
        self.lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prototype_folders_are_closed_before_the_next_one() {
        let mut root = FileTree::default();
        for path in ["A/b/kernel", "A/c/kernel", "D/e"] {
            root.put(path, TreeEntry::file(0o644, b""));
        }
        let mut list = Prototype::new();

        root.iter().for_each(|(path, entry)| list.add(path, entry, "file"));

        let files = "d--755 0 0\nA d--755 0 0\nb d--755 0 0\nkernel ---644 0 0 file\n$\nc d--755 0 0\nkernel ---644 0 0 file\n$\n$\n";
        assert_eq!(list.finish(), format!("/\n0 0\n{files}D d--755 0 0\ne ---644 0 0 file\n$\n$\n"));
    }
}
