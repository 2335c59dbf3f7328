//! Where disks and CDs are on a libvirt host.

use crate::render::hypervisor::guest::Guest;
use crate::render::hypervisor::medium::{Medium, Source};
use crate::render::xml::Element;

/// A place for disks or ISO images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage<'s> {
    /// A pool of libvirt.
    Pool(&'s str),
    /// A folder.
    Folder(&'s str),
    /// A volume group of LVM, by its folder below `/dev`.
    Group(&'s str),
}

impl<'s> Storage<'s> {
    /// What is meant by a text of the file.
    pub fn of(text: &'s str) -> Self {
        let path = text.trim_end_matches('/');
        if path.starts_with("/dev/") {
            Self::Group(path)
        } else if text.starts_with('/') {
            Self::Folder(path)
        } else {
            Self::Pool(text)
        }
    }

    /// The element of a disk, or of a CD, for the file `name` in it.
    fn disk(self, device: &str, name: &str) -> Element {
        let disk = |kind: &str| Element::new("disk").with("type", kind).with("device", device);
        // Raw is what volumes of LVM always are and files can be, so that nobody has to know which a pool has.
        let driver = Element::new("driver").with("name", "qemu").with("type", "raw");
        let source = Element::new("source");
        match self {
            Self::Pool(pool) => {
                disk("volume").hold(driver).hold(source.with("pool", pool).with("volume", name))
            }
            Self::Folder(folder) => {
                disk("file").hold(driver).hold(source.with("file", format!("{folder}/{name}")))
            }
            Self::Group(group) => {
                disk("block").hold(driver).hold(source.with("dev", format!("{group}/{name}")))
            }
        }
    }
}

/// The element of a machine's disk.
pub fn disk(guest: &Guest<'_>) -> Element {
    let storage = Storage::of(&guest.vm.storage.value);
    storage.disk("disk", &name(guest))
}

/// The name of a machine's disk: a volume of LVM has no ending.
pub fn name(guest: &Guest<'_>) -> String {
    match Storage::of(&guest.vm.storage.value) {
        Storage::Group(_) => guest.name().to_owned(),
        Storage::Pool(_) | Storage::Folder(_) => format!("{guest}.img"),
    }
}

/// Where a CD is, for people.
pub(crate) fn cd(guest: &Guest<'_>, medium: &Medium) -> String {
    match &medium.source {
        Source::There(path) => path.clone(),
        _ => match Storage::of(&guest.vm.iso.value) {
            Storage::Pool(place) => format!("{} in the pool {place}", medium.name),
            Storage::Folder(place) | Storage::Group(place) => format!("{place}/{}", medium.name),
        },
    }
}

/// The element of a CD.
pub fn cdrom(guest: &Guest<'_>, medium: &Medium) -> Element {
    match &medium.source {
        Source::There(path) if path.starts_with('/') => match path.rsplit_once('/') {
            Some((folder, name)) => Storage::Folder(folder).disk("cdrom", name),
            None => Storage::Folder("").disk("cdrom", path),
        },
        _ => Storage::of(&guest.vm.iso.value).disk("cdrom", &medium.name),
    }
}

/// Where the document of a machine's disk goes.
pub fn path(guest: &Guest<'_>) -> String {
    format!("volumes/{guest}.xml")
}

/// The document of a machine's disk in a pool.
pub fn volume(guest: &Guest<'_>) -> Element {
    let size = Element::new("capacity").with("unit", "GiB").say(guest.disk);
    let format = Element::new("format").with("type", "raw");
    Element::new("volume")
        .hold(Element::new("name").say(name(guest)))
        .hold(size)
        .hold(Element::new("target").hold(format))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_pool_a_folder_or_a_volume_group() {
        assert_eq!(Storage::of("default"), Storage::Pool("default"));
        assert_eq!(Storage::of("/srv/vm/"), Storage::Folder("/srv/vm"));
        assert_eq!(Storage::of("/dev/vg-talos"), Storage::Group("/dev/vg-talos"));
    }
}
