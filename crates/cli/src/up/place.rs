//! Where a bring-up remembers what it did: `.ichor/CLUSTER/up.json`, beside the cluster file.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use ichor_core::bringup::{RECORD_VERSION, Record};
use ichor_system::lock::LockFile;
use ichor_values::format::{Document, FormatError, Versioned};

use crate::disk::{self, WriteError};

/// Why there is no remembering.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error("{}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("another `ichor up` works on this cluster; it holds {}", .0.display())]
    Taken(PathBuf),
    #[error(
        "cannot read {}: {error}; it records whether etcd was bootstrapped, so do not delete it: {}", path.display(),
        match error { FormatError::TooNew { .. } => "use the ichor release that wrote it", _ => "repair or restore it" }
    )]
    Record { path: PathBuf, error: FormatError },
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// The folder of a cluster, held by nobody else.
pub(crate) struct Place {
    record: PathBuf,
    _lock: LockFile,
}

impl Place {
    /// Takes the place of a cluster whose file is `file`, and gives what is remembered.
    pub(crate) fn take(file: &Path, cluster: &str) -> Result<(Self, Record), PlaceError> {
        let folder = folder(file, cluster);
        let wrong = |source| PlaceError::Io { path: folder.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(wrong)?;
        let path = folder.join("lock");
        let lock = LockFile::try_take(&path).map_err(|error| wrong(error.source))?;
        let lock = lock.ok_or(PlaceError::Taken(path))?;
        let record = read(file, cluster)?;
        Ok((Self { record: folder.join("up.json"), _lock: lock }, record))
    }

    /// Remembers, for good: when this returns, it is on the disk.
    pub(crate) fn write(&self, record: &Record) -> Result<(), PlaceError> {
        let record = Versioned::new(RECORD_VERSION, record);
        let mut text = serde_json::to_string_pretty(&record).expect("a record is JSON");
        text.push('\n');
        Ok(disk::replace_private(&self.record, text.as_bytes())?)
    }
}

impl Place {
    /// Forgets everything.
    pub(crate) fn remove(self) -> Result<(), PlaceError> {
        let folder = self.record.parent().expect("a file in a folder").to_owned();
        fs::remove_dir_all(&folder).map_err(|source| PlaceError::Io { path: folder.clone(), source })?;
        // Other clusters may be beside it.
        let _ = folder.parent().map(fs::remove_dir);
        Ok(())
    }
}

/// What is remembered, without taking the place.
pub(crate) fn read(file: &Path, cluster: &str) -> Result<Record, PlaceError> {
    let path = folder(file, cluster).join("up.json");
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Record::default()),
        Err(source) => Err(PlaceError::Io { path, source }),
        Ok(text) => {
            let record = Document::parse(&text, RECORD_VERSION).and_then(|document| Ok(document.read()?.0));
            record.map_err(|error| PlaceError::Record { path, error })
        }
    }
}

/// Where what is remembered of a cluster is.
pub(crate) fn folder(file: &Path, cluster: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(".ichor").join(cluster)
}

#[cfg(test)]
mod tests {
    use ichor_core::bringup::Begun;
    use ichor_values::Moment;

    use super::*;

    #[test]
    fn what_is_written_is_read_by_the_next_and_nobody_comes_between() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ichor.yaml");
        let (place, mut record) = Place::take(&file, "sol").unwrap();
        let begun = Moment::parse("2026-01-01T00:00:00Z").unwrap();
        record.bootstrap = Some(Begun { node: "a".to_owned(), begun, done: None });

        place.write(&record).unwrap();

        assert!(matches!(Place::take(&file, "sol"), Err(PlaceError::Taken(_))));
        drop(place);
        assert_eq!(Place::take(&file, "sol").unwrap().1, record);
    }

    #[test]
    fn a_record_that_cannot_be_read_is_no_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ichor.yaml");
        fs::create_dir_all(folder.path().join(".ichor/sol")).unwrap();
        fs::write(folder.path().join(".ichor/sol/up.json"), "{\"boot").unwrap();

        assert!(matches!(Place::take(&file, "sol"), Err(PlaceError::Record { .. })));
    }

    /// What is read from this text.
    fn read_text(text: &str) -> Result<Record, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".ichor/sol")).unwrap();
        fs::write(folder.path().join(".ichor/sol/up.json"), text).unwrap();
        read(&folder.path().join("ichor.yaml"), "sol").map_err(|error| error.to_string())
    }

    #[test]
    fn a_record_of_a_newer_release_is_read_or_refused_by_its_version() {
        assert_eq!(read_text("{}"), Ok(Record::default()), "without a version");
        assert_eq!(read_text(r#"{"version": "1.9", "tomorrow": 1}"#), Ok(Record::default()));

        let unknown = read_text(r#"{"version": "1.0", "boostrap": null}"#).unwrap_err();
        assert!(unknown.contains("boostrap: unknown key; did you mean `bootstrap`?"), "{unknown}");
        let newer = read_text(r#"{"version": "2.0"}"#).unwrap_err();
        assert!(newer.contains("format version 2.0 is newer than 1.0"), "{newer}");
        assert!(newer.ends_with("use the ichor release that wrote it"), "{newer}");
    }
}
