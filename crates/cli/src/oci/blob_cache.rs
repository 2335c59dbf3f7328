//! A local cache of registry blobs: each is fetched once.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use ichor_image::oci::{BlobSource, Descriptor, SourceError};
use ichor_system::file::StagedFile;
use ichor_talos::digest::hex;
use sha2::{Digest as _, Sha256};

/// A source whose blobs are cached in a folder.
pub(crate) struct CachedSource {
    source: Box<dyn BlobSource>,
    folder: PathBuf,
}

impl CachedSource {
    pub(crate) fn new(source: Box<dyn BlobSource>, folder: PathBuf) -> Self {
        Self { source, folder }
    }

    /// Fetches and verifies a blob, and writes it to the cache atomically.
    fn fetch(&mut self, descriptor: &Descriptor, path: &Path) -> Result<(), SourceError> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut staged = StagedFile::beside(path)?;
        let file = staged.file();
        io::copy(&mut self.source.blob(descriptor)?.take(descriptor.size.saturating_add(1)), file)?;
        file.seek(SeekFrom::Start(0))?;
        let got = file_digest(file)?;
        if got != descriptor.digest.to_string() {
            return Err(format!("the blob has SHA-256 {got}; want {}", descriptor.digest).into());
        }
        Ok(staged.place()?)
    }
}

impl BlobSource for CachedSource {
    /// Never cached: a tag may refer to another image now.
    fn top(&mut self) -> Result<Vec<u8>, SourceError> {
        self.source.top()
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Box<dyn Read + '_>, SourceError> {
        let path = self.folder.join(descriptor.digest.path());
        let is_cached = File::open(&path)
            .and_then(|mut file| file_digest(&mut file))
            .is_ok_and(|sum| sum == descriptor.digest.to_string());
        if !is_cached {
            self.fetch(descriptor, &path)?;
        }
        Ok(Box::new(File::open(path)?))
    }
}

/// SHA-256 digest of a file.
fn file_digest(file: &mut impl Read) -> io::Result<String> {
    let mut sum = Sha256::new();
    io::copy(file, &mut sum)?;
    Ok(format!("sha256:{}", hex(&sum.finalize())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that serves its blob a limited number of times.
    struct CountedSource(usize, &'static [u8]);

    impl BlobSource for CountedSource {
        fn top(&mut self) -> Result<Vec<u8>, SourceError> {
            Ok(Vec::new())
        }

        fn blob(&mut self, _: &Descriptor) -> Result<Box<dyn Read + '_>, SourceError> {
            self.0 = self.0.checked_sub(1).ok_or("too many requests")?;
            Ok(Box::new(self.1))
        }
    }

    #[test]
    fn a_blob_is_fetched_once_and_again_when_the_cache_is_corrupt() {
        let folder = tempfile::tempdir().unwrap();
        let descriptor = Descriptor::of_blob("x", b"blob");
        let mut cached = CachedSource::new(Box::new(CountedSource(2, b"blob")), folder.path().to_owned());
        let mut read = || {
            let mut bytes = Vec::new();
            cached.blob(&descriptor).map(|mut blob| blob.read_to_end(&mut bytes).unwrap()).ok()?;
            Some(bytes)
        };

        assert_eq!((read().unwrap(), read().unwrap()), (b"blob".to_vec(), b"blob".to_vec()));
        fs::write(folder.path().join(descriptor.digest.path()), "blot").unwrap();
        assert_eq!(read().unwrap(), b"blob");
        fs::remove_file(folder.path().join(descriptor.digest.path())).unwrap();
        assert_eq!(read(), None);
    }

    #[test]
    fn a_blob_with_another_digest_is_not_cached() {
        let folder = tempfile::tempdir().unwrap();
        let descriptor = Descriptor::of_blob("x", b"blob");
        let mut cached =
            CachedSource::new(Box::new(CountedSource(1, b"blob and more")), folder.path().to_owned());

        assert!(cached.blob(&descriptor).is_err());
        assert!(!folder.path().join(descriptor.digest.path()).exists());
    }
}
