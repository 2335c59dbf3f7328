//! The file system on an existing volume.

use super::Content;
use super::file::FileImage;
use super::image::{Image, ImageError, piece};
use super::{fat, iso9660};

/// The longest file that is read at once. Configurations are far shorter.
const LONGEST: u64 = 16 << 20;

/// A file system: its label and root folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its type.
    pub kind: FileSystemType,
    /// Its label, without trailing spaces and zeros: of ISO 9660 that of the Joliet descriptor if there is one, as Talos
    /// reads it; of FAT that in the root folder, or else in the boot sector.
    pub label: String,
    /// The entries of the root folder, in their order on disk.
    pub files: Vec<DirectoryEntry>,
    /// Whether small and capital letters are the same in names.
    pub(crate) folds_case: bool,
    pub(super) tree: FileLookup,
}

/// How files and folders are looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileLookup {
    Fat(fat::AllocationTable),
    Iso9660(iso9660::NameSource),
}

/// The type of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystemType {
    /// A CD. Names are those of Rock Ridge, or else Joliet's, or else plain ones in lower case: the first that exist, as in
    /// Linux.
    Iso9660,
    /// A floppy, or a small stick.
    Fat12,
    /// A stick.
    Fat16,
    /// A larger stick.
    Fat32,
}

impl FileSystemType {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            FileSystemType::Iso9660 => "ISO 9660",
            FileSystemType::Fat12 => "FAT12",
            FileSystemType::Fat16 => "FAT16",
            FileSystemType::Fat32 => "FAT32",
        }
    }
}

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub length: u64,
    /// Whether it is a folder.
    pub folder: bool,
    /// Its start: a byte of a CD, a cluster of FAT.
    pub(super) start: u64,
}

impl FileSystem {
    /// Reads label and root folder.
    pub fn open(image: &dyn Image) -> Result<Self, ImageError> {
        Self::find_in(image)?.ok_or(ImageError::Unknown)
    }

    /// Opens a file system; none if no known one is found.
    pub fn find_in(image: &dyn Image) -> Result<Option<Self>, ImageError> {
        match fat::open(image)? {
            Some(found) => Ok(Some(found)),
            None => iso9660::open(image),
        }
    }

    /// Whether it is a CD that has neither Rock Ridge nor Joliet: then names may be cut, and have no letter but a-z, 0-9 and `_`.
    pub(crate) fn has_plain_names(&self) -> bool {
        self.tree == FileLookup::Iso9660(iso9660::NameSource::Plain)
    }

    /// The file or folder of this name, in the root folder.
    pub fn find(&self, name: &str) -> Option<&DirectoryEntry> {
        self.find_name(&self.files, name)
    }

    fn find_name<'e>(&self, files: &'e [DirectoryEntry], name: &str) -> Option<&'e DirectoryEntry> {
        let same = |entry: &&DirectoryEntry| {
            entry.name == name || (self.folds_case && entry.name.to_lowercase() == name.to_lowercase())
        };
        files.iter().find(same)
    }

    /// The file or folder at a path such as `EFI/Linux`. `image` is the one this was opened from, here and below.
    pub fn find_path(&self, image: &dyn Image, path: &str) -> Result<Option<DirectoryEntry>, ImageError> {
        let mut names = path.split('/');
        let mut found = names.next().and_then(|name| self.find(name)).cloned();
        for name in names {
            let Some(folder) = found.filter(|entry| entry.folder) else { return Ok(None) };
            found = self.find_name(&self.list(image, &folder)?, name).cloned();
        }
        Ok(found)
    }

    /// The entries of a folder; empty for a file.
    pub fn list(
        &self,
        image: &dyn Image,
        folder: &DirectoryEntry,
    ) -> Result<Vec<DirectoryEntry>, ImageError> {
        match &self.tree {
            _ if !folder.folder => Ok(Vec::new()),
            FileLookup::Fat(clusters) => fat::list(image, clusters, folder.start),
            FileLookup::Iso9660(names) => iso9660::list(image, *names, folder.start, folder.length),
        }
    }

    /// A file as an image, which is read on demand.
    pub fn file<'i>(&self, image: &'i dyn Image, file: &DirectoryEntry) -> Result<FileImage<'i>, ImageError> {
        if file.folder {
            return Err(ImageError::Folder(file.name.clone()));
        }
        match &self.tree {
            FileLookup::Fat(clusters) => clusters.file(image, file),
            FileLookup::Iso9660(_) => {
                let mut contents = FileImage::empty(image);
                contents.add(file.start, file.length)?;
                Ok(contents)
            }
        }
    }

    /// A file as parts of the image, of which nothing is copied.
    pub fn content(&self, image: &Content, file: &DirectoryEntry) -> Result<Content, ImageError> {
        self.file(image, file)?.parts_of(image).ok_or(ImageError::Short("files"))
    }

    /// The content of a file.
    pub fn read(&self, image: &dyn Image, file: &DirectoryEntry) -> Result<Vec<u8>, ImageError> {
        if file.length > LONGEST && !file.folder {
            return Err(ImageError::Long { name: file.name.clone(), length: file.length, longest: LONGEST });
        }
        let contents = self.file(image, file)?;
        let length = usize::try_from(contents.size()).unwrap_or(usize::MAX);
        piece(&contents, 0, length, "files")
    }
}
