//! Writes files that stay unnamed until all of them are complete.
//!
//! Unnamed files disappear with the process: after an error, Ctrl-C or a power failure.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use ichor_image::media::{Content, Image as _};
use ichor_image::oci::ImageLayout;
use ichor_system::file::{ReplaceError, StagedFile};

use crate::progress::Progress;

/// Copy buffer size.
const BUFFER: usize = 1 << 20;

/// Blob folder of an OCI layout.
const BLOBS: &str = "blobs/sha256";

/// File modes: world-readable, or owner only if the image contains a machine configuration.
const PUBLIC: u32 = 0o644;
const PRIVATE: u32 = 0o600;

/// Files of one folder that get their names together.
pub(crate) struct StagedFiles {
    folder: PathBuf,
    files: Vec<StagedFile>,
    /// Blob folders of layouts.
    blobs: Vec<PathBuf>,
}

impl StagedFiles {
    /// Stages files for `folder`, which is created when they are committed.
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), files: Vec::new(), blobs: Vec::new() }
    }

    /// Checks that files can be written to a folder, before the expensive work starts.
    pub(crate) fn check(folder: &Path) -> Result<(), ReplaceError> {
        let failed = |source| ReplaceError { path: folder.to_owned(), source };
        if folder.ancestors().find(|it| it.exists()).is_some_and(|it| !it.is_dir()) {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        StagedFile::unnamed(&folder.join("draft")).map(drop).map_err(|error| failed(error.source))
    }

    /// Stages a file that `fill` writes.
    pub(crate) fn write_with<T, E: From<ReplaceError>>(
        &mut self,
        name: &str,
        private: bool,
        fill: impl FnOnce(&mut File) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut file = StagedFile::unnamed(&self.folder.join(name))?;
        file.set_mode(if private { PRIVATE } else { PUBLIC })?;
        let filled = fill(file.file())?;
        self.files.push(file);
        Ok(filled)
    }

    /// Stages a file with this content, keeping its holes.
    pub(crate) fn write(&mut self, name: &str, private: bool, content: &Content) -> Result<(), ReplaceError> {
        let path = self.folder.join(name);
        let progress = Progress::bytes(name, content.len());
        self.write_with(name, private, |file| {
            copy_sparse(content, file, &progress).map_err(|source| ReplaceError { path, source })
        })
    }

    /// Stages an OCI layout as a folder that replaces an earlier one; returns the total size.
    ///
    /// Blobs are renamed before the index that refers to them, and stale blobs are removed last, so the layout is valid
    /// at any time.
    pub(crate) fn write_layout(
        &mut self,
        name: &str,
        private: bool,
        layout: &ImageLayout,
    ) -> Result<u64, ReplaceError> {
        for (path, content) in &layout.files {
            self.write(&format!("{name}/{path}"), private, content)?;
        }
        self.blobs.push(self.folder.join(name).join(BLOBS));
        Ok(layout.files.values().map(Content::len).sum())
    }

    /// Syncs all files and gives them their names; returns the paths.
    pub(crate) fn commit(self) -> Result<Vec<PathBuf>, ReplaceError> {
        for file in &self.files {
            file.sync()?;
        }
        let keep = |file: StagedFile| {
            let path = file.path().to_owned();
            file.place().map(|()| path)
        };
        let kept = self.files.into_iter().map(keep).collect::<Result<Vec<_>, ReplaceError>>()?;
        let names: BTreeSet<&Path> = kept.iter().map(PathBuf::as_path).collect();
        self.blobs.iter().for_each(|folder| remove_stale_blobs(folder, &names));
        Ok(kept)
    }
}

/// Removes blobs without a reference. Best effort: a stale blob is harmless.
fn remove_stale_blobs(folder: &Path, kept: &BTreeSet<&Path>) {
    let found = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in found.filter(|path| !kept.contains(path.as_path())) {
        let _ = fs::remove_file(path);
    }
}

/// Copies the data and leaves holes in place.
fn copy_sparse(content: &Content, file: &File, progress: &Progress) -> io::Result<()> {
    file.set_len(content.len())?;
    let mut buffer = vec![0; BUFFER];
    for stretch in content.stretches() {
        if stretch.is_hole {
            progress.steps(stretch.length);
            continue;
        }
        let (mut at, end) = (stretch.start, stretch.start + stretch.length);
        while at < end {
            let length = usize::try_from(end - at).unwrap_or(BUFFER).min(BUFFER);
            content.read_at(at, &mut buffer[..length])?;
            file.write_all_at(&buffer[..length], at)?;
            at += length as u64;
            progress.steps(length as u64);
        }
    }
    (&*file).flush()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use ichor_image::oci::{FileTree, MemoryStore, NewImage, TreeEntry, layer};
    use ichor_values::Arch;
    use ichor_values::Moment;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn staged_files_appear_together_on_commit() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "old").unwrap();
        let mut staged = StagedFiles::new(folder.path());

        staged.write("a", false, &Content::from(b"new")).unwrap();
        staged.write("b", true, &Content::from(b"secret")).unwrap();

        assert_eq!(names(folder.path()), ["a"]);
        assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"old");
        assert_eq!(staged.commit().unwrap(), [folder.path().join("a"), folder.path().join("b")]);
        assert_eq!(names(folder.path()), ["a", "b"]);
        assert_eq!(fs::read(folder.path().join("a")).unwrap(), b"new");
        assert_eq!(fs::metadata(folder.path().join("a")).unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(fs::metadata(folder.path().join("b")).unwrap().permissions().mode() & 0o777, 0o600);
    }

    fn layout(text: &[u8]) -> ImageLayout {
        let mut root = FileTree::default();
        root.put("file", TreeEntry::file(0o644, text));
        let layer = layer(&root, &mut MemoryStore::default()).unwrap();
        ImageLayout::pack(&[NewImage::single_layer(Arch::Amd64, layer, Moment::from_unix(0).unwrap())], "1")
    }

    #[test]
    fn a_layout_replaces_an_earlier_one_completely() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (layout(b"old"), layout(b"new"));
        for layout in [&old, &new] {
            let mut staged = StagedFiles::new(folder.path());

            let length = staged.write_layout("it", false, layout).unwrap();
            let before = names(folder.path());
            staged.commit().unwrap();

            assert_eq!(before.len(), usize::from(layout.digest == new.digest));
            assert_eq!(length, layout.files.values().map(Content::len).sum::<u64>());
            assert_eq!(names(&folder.path().join("it")), ["blobs", "index.json", "oci-layout"]);
            assert_eq!(names(&folder.path().join("it").join(BLOBS)).len(), layout.files.len() - 2);
            for (path, content) in &layout.files {
                assert_eq!(fs::read(folder.path().join("it").join(path)).unwrap(), content.read().unwrap());
            }
        }
    }

    #[test]
    fn abandoned_files_leave_no_trace() {
        let folder = tempfile::tempdir().unwrap();
        let mut staged = StagedFiles::new(folder.path());
        staged.write("a", false, &Content::from(b"new")).unwrap();

        let broken: Result<(), ReplaceError> = staged.write_with("b", false, |_| {
            Err(ReplaceError { path: PathBuf::from("b"), source: io::Error::other("the disk is full") })
        });
        drop(staged);

        assert!(broken.is_err());
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn holes_use_no_disk_space() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("new/images");
        let mut content = Content::from(b"start");
        content.pad_to(64 << 20);
        content.push(b"end");
        let mut staged = StagedFiles::new(&new);

        staged.write("disk", false, &content).unwrap();
        assert!(!new.exists());
        staged.commit().unwrap();

        let file = fs::metadata(new.join("disk")).unwrap();
        assert_eq!(file.len(), (64 << 20) + 3);
        assert!(file.blocks() * 512 < 1 << 20, "{} blocks", file.blocks());
        assert!(fs::read(new.join("disk")).unwrap().ends_with(b"\0end"));
    }
}
