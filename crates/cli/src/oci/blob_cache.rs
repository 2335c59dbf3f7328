//! A registry whose blobs are kept on this machine: each is fetched once.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use ichor_image::oci::{Descriptor, Failure, Source};
use ichor_system::file::StagedFile;
use ichor_talos::digest::hex;
use sha2::{Digest as _, Sha256};

/// A source, and the folder that its blobs are kept in.
pub(crate) struct CachedSource {
    source: Box<dyn Source>,
    folder: PathBuf,
}

impl CachedSource {
    pub(crate) fn new(source: Box<dyn Source>, folder: PathBuf) -> Self {
        Self { source, folder }
    }

    /// Brings a blob into its place, where it is whole or not at all.
    fn fetch(&mut self, descriptor: &Descriptor, path: &Path) -> Result<(), Failure> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut staged = StagedFile::beside(path)?;
        let file = staged.file();
        io::copy(&mut self.source.blob(descriptor)?.take(descriptor.size.saturating_add(1)), file)?;
        file.seek(SeekFrom::Start(0))?;
        let got = file_digest(file)?;
        if got != descriptor.digest.to_string() {
            return Err(format!("its SHA-256 is {got}, and should be {}", descriptor.digest).into());
        }
        Ok(staged.place()?)
    }
}

impl Source for CachedSource {
    /// Always asked for: a name may lead to another image today.
    fn top(&mut self) -> Result<Vec<u8>, Failure> {
        self.source.top()
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Box<dyn Read + '_>, Failure> {
        let path = self.folder.join(descriptor.digest.path());
        let is_there = File::open(&path)
            .and_then(|mut file| file_digest(&mut file))
            .is_ok_and(|sum| sum == descriptor.digest.to_string());
        if !is_there {
            self.fetch(descriptor, &path)?;
        }
        Ok(Box::new(File::open(path)?))
    }
}

/// The digest of a file.
fn file_digest(file: &mut impl Read) -> io::Result<String> {
    let mut sum = Sha256::new();
    io::copy(file, &mut sum)?;
    Ok(format!("sha256:{}", hex(&sum.finalize())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a blob so many times.
    struct CountedSource(usize, &'static [u8]);

    impl Source for CountedSource {
        fn top(&mut self) -> Result<Vec<u8>, Failure> {
            Ok(Vec::new())
        }

        fn blob(&mut self, _: &Descriptor) -> Result<Box<dyn Read + '_>, Failure> {
            self.0 = self.0.checked_sub(1).ok_or("asked too often")?;
            Ok(Box::new(self.1))
        }
    }

    #[test]
    fn a_blob_is_fetched_once_and_again_when_it_is_damaged() {
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
    fn what_is_another_blob_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let descriptor = Descriptor::of_blob("x", b"blob");
        let mut cached =
            CachedSource::new(Box::new(CountedSource(1, b"blob and more")), folder.path().to_owned());

        assert!(cached.blob(&descriptor).is_err());
        assert!(!folder.path().join(descriptor.digest.path()).exists());
    }
}
