//! GRUB on an ISO, extracted from an existing one.

use super::GrubCd;
use crate::media::iso9660::BiosBootImage;
use crate::media::{Content, FileSystem, ImageError};
use crate::oci::{FileTree, TreeEntry};

/// The paths of GRUB's files on a CD, its boot image and its menu.
const FOLDER: &str = "boot/grub";
pub(super) const IMAGE: &str = "boot/grub/i386-pc/eltorito.img";
pub(super) const MENU: &str = "boot/grub/grub.cfg";

/// The most files and folders that are taken over, and how deep they may be: GRUB has 350, three deep.
const MOST: usize = 4096;
const DEEPEST: usize = 6;

impl GrubCd {
    /// GRUB on an ISO that a BIOS boots, such as one of Talos; none if it has no GRUB.
    ///
    /// Its boot image does not search: it uses `/boot/grub` of the medium it was booted from.
    pub fn find_in(cd: &Content) -> Result<Option<Self>, ImageError> {
        let Some(boot) = BiosBootImage::find_in(cd)? else { return Ok(None) };
        Ok(Some(Self { image: boot.image, record: boot.record, files: files(cd)? }))
    }
}

/// The files beside the boot image, without the menu.
fn files(cd: &Content) -> Result<FileTree, ImageError> {
    let mut files = FileTree::default();
    let found = FileSystem::open(cd)?;
    let mut seen = 0;
    let mut folders = vec![(FOLDER.to_owned(), found.find_path(cd, FOLDER)?)];
    while let Some((above, folder)) = folders.pop() {
        let Some(folder) = folder else { continue };
        for entry in found.list(cd, &folder)? {
            let path = format!("{above}/{}", entry.name);
            seen += 1;
            if seen > MOST || path.matches('/').count() > DEEPEST {
                return Err(ImageError::Broken("GRUB folder"));
            }
            if entry.folder {
                files.put(&path, TreeEntry::folder());
                folders.push((path, Some(entry)));
            } else if path != IMAGE && path != MENU {
                files.put(&path, TreeEntry::file(0o444, found.content(cd, &entry)?));
            }
        }
    }
    Ok(files)
}
