//! What stands on a volume that somebody made.

use super::image::{Image, ReadError};
use super::{fat, iso9660};

/// The longest file that is read. Configurations are far shorter.
const LONGEST: u64 = 16 << 20;

/// A file system: its label and root folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// What it is.
    pub kind: Kind,
    /// Its label, without the spaces and zeros after it: of ISO 9660 that of the Joliet descriptor where there is one, as Talos
    /// reads it; of FAT that in the root folder, or else in the boot sector.
    pub label: String,
    /// What is in the root folder, in the order it stands there.
    pub files: Vec<Entry>,
    /// Whether small and capital letters are the same in names.
    pub folds_case: bool,
    pub(super) clusters: Option<fat::Clusters>,
}

/// What a file system is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A CD. Names are those of Rock Ridge, or else Joliet's, or else plain ones in small letters: the first that there are, as Linux
    /// takes them.
    Iso9660,
    /// A floppy, or a small stick.
    Fat12,
    /// A stick.
    Fat16,
    /// A larger stick.
    Fat32,
}

/// A file or folder in the root folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// How many bytes it has.
    pub length: u64,
    /// Whether it is a folder.
    pub folder: bool,
    /// Where it starts: a byte of a CD, a cluster of FAT.
    pub(super) start: u64,
}

impl FileSystem {
    /// Reads label and root folder.
    pub fn open(image: &dyn Image) -> Result<Self, ReadError> {
        if let Some(found) = fat::open(image)? {
            return Ok(found);
        }
        iso9660::open(image)?.ok_or(ReadError::Unknown)
    }

    /// The file or folder of this name.
    pub fn find(&self, name: &str) -> Option<&Entry> {
        let same = |entry: &&Entry| {
            entry.name == name || (self.folds_case && entry.name.to_lowercase() == name.to_lowercase())
        };
        self.files.iter().find(same)
    }

    /// What a file holds. `image` is the one this was opened from.
    pub fn read(&self, image: &dyn Image, file: &Entry) -> Result<Vec<u8>, ReadError> {
        if file.folder {
            return Err(ReadError::Folder(file.name.clone()));
        }
        let long = || ReadError::Long { name: file.name.clone(), length: file.length, longest: LONGEST };
        let length = usize::try_from(file.length).ok().filter(|_| file.length <= LONGEST).ok_or_else(long)?;
        match &self.clusters {
            Some(clusters) => clusters.read(image, file.start, length),
            None => super::image::piece(image, file.start, length, "files"),
        }
    }
}
