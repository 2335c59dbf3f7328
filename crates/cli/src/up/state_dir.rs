//! The record of a bring-up: `.ichor/CLUSTER/up.json`, next to the cluster file.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use ichor_core::bringup::{BringupRecord, RECORD_VERSION};
use ichor_system::lock::LockFile;
use ichor_values::format::{Document, FormatError, Versioned};

use crate::disk::{self, WriteError};

/// Errors of the state directory.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StateDirError {
    #[error("{}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("another `ichor up` is running for this cluster; it holds the lock {}", .0.display())]
    Taken(PathBuf),
    #[error(
        "cannot read {}: {error}; it records whether etcd was bootstrapped, so do not delete it: {}", path.display(),
        match error { FormatError::TooNew { .. } => "use the ichor release that wrote it", _ => "repair or restore it" }
    )]
    Record { path: PathBuf, error: FormatError },
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The locked state directory of a cluster.
pub(crate) struct ClusterStateDir {
    record: PathBuf,
    _lock: LockFile,
}

impl ClusterStateDir {
    /// Locks the state directory of a cluster whose file is `file`, and reads the record.
    pub(crate) fn lock(file: &Path, cluster: &str) -> Result<(Self, BringupRecord), StateDirError> {
        let folder = state_folder(file, cluster);
        let wrong = |source| StateDirError::Io { path: folder.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(wrong)?;
        let path = folder.join("lock");
        let lock = LockFile::try_take(&path).map_err(|error| wrong(error.source))?;
        let lock = lock.ok_or(StateDirError::Taken(path))?;
        let record = read_record(file, cluster)?;
        Ok((Self { record: folder.join("up.json"), _lock: lock }, record))
    }

    /// Writes the record durably: it is synced to disk when this returns.
    pub(crate) fn write(&self, record: &BringupRecord) -> Result<(), StateDirError> {
        let record = Versioned::new(RECORD_VERSION, record);
        let mut text = serde_json::to_string_pretty(&record).expect("a record is JSON");
        text.push('\n');
        Ok(disk::replace_private(&self.record, text.as_bytes())?)
    }
}

impl ClusterStateDir {
    /// Deletes the state directory.
    pub(crate) fn remove(self) -> Result<(), StateDirError> {
        let folder = self.record.parent().expect("a file in a folder").to_owned();
        fs::remove_dir_all(&folder).map_err(|source| StateDirError::Io { path: folder.clone(), source })?;
        // The parent folder may have other clusters.
        let _ = folder.parent().map(fs::remove_dir);
        Ok(())
    }
}

/// Reads the record without locking.
pub(crate) fn read_record(file: &Path, cluster: &str) -> Result<BringupRecord, StateDirError> {
    let path = state_folder(file, cluster).join("up.json");
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BringupRecord::default()),
        Err(source) => Err(StateDirError::Io { path, source }),
        Ok(text) => {
            let record = Document::parse(&text, RECORD_VERSION).and_then(|document| Ok(document.read()?.0));
            record.map_err(|error| StateDirError::Record { path, error })
        }
    }
}

/// Path of the state directory of a cluster.
pub(crate) fn state_folder(file: &Path, cluster: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(".ichor").join(cluster)
}

#[cfg(test)]
mod tests {
    use ichor_core::bringup::BootstrapRecord;
    use ichor_values::Moment;

    use super::*;

    #[test]
    fn a_record_is_read_by_the_next_run_and_the_lock_is_exclusive() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ichor.yaml");
        let (place, mut record) = ClusterStateDir::lock(&file, "sol").unwrap();
        let begun = Moment::parse("2026-01-01T00:00:00Z").unwrap();
        record.bootstrap = Some(BootstrapRecord { node: "a".to_owned(), begun, done: None });

        place.write(&record).unwrap();

        assert!(matches!(ClusterStateDir::lock(&file, "sol"), Err(StateDirError::Taken(_))));
        drop(place);
        assert_eq!(ClusterStateDir::lock(&file, "sol").unwrap().1, record);
    }

    #[test]
    fn a_corrupt_record_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ichor.yaml");
        fs::create_dir_all(folder.path().join(".ichor/sol")).unwrap();
        fs::write(folder.path().join(".ichor/sol/up.json"), "{\"boot").unwrap();

        assert!(matches!(ClusterStateDir::lock(&file, "sol"), Err(StateDirError::Record { .. })));
    }

    /// Reads a record from this text.
    fn read_text(text: &str) -> Result<BringupRecord, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".ichor/sol")).unwrap();
        fs::write(folder.path().join(".ichor/sol/up.json"), text).unwrap();
        read_record(&folder.path().join("ichor.yaml"), "sol").map_err(|error| error.to_string())
    }

    #[test]
    fn a_newer_record_is_read_or_refused_by_its_version() {
        assert_eq!(read_text("{}"), Ok(BringupRecord::default()), "without a version");
        assert_eq!(read_text(r#"{"version": "2.9", "tomorrow": 1}"#), Ok(BringupRecord::default()));

        let unknown = read_text(r#"{"version": "2.0", "boostrap": null}"#).unwrap_err();
        assert!(unknown.contains("boostrap: unknown key; did you mean `bootstrap`?"), "{unknown}");
        let newer = read_text(r#"{"version": "3.0"}"#).unwrap_err();
        assert!(newer.contains("format version 3.0 is newer than 2.0"), "{newer}");
        assert!(newer.ends_with("use the ichor release that wrote it"), "{newer}");
    }
}
