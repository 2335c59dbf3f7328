//! Where disks and CDs are on a libvirt host.

use crate::render::hypervisor::guest::VmDefinition;
use crate::render::hypervisor::medium::{Medium, MediumSource};
use crate::render::xml::XmlElement;

/// A place for disks or ISO images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageTarget<'s> {
    /// A pool of libvirt.
    Pool(&'s str),
    /// A folder.
    Folder(&'s str),
    /// A volume group of LVM, by its folder below `/dev`.
    Group(&'s str),
}

impl<'s> StorageTarget<'s> {
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
    fn disk(self, device: &str, name: &str) -> XmlElement {
        let disk = |kind: &str| XmlElement::new("disk").with("type", kind).with("device", device);
        // Raw is what volumes of LVM always are and files can be, so that nobody has to know which a pool has.
        let driver = XmlElement::new("driver").with("name", "qemu").with("type", "raw");
        let source = XmlElement::new("source");
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
pub fn disk(guest: &VmDefinition<'_>) -> XmlElement {
    let storage = StorageTarget::of(&guest.vm.storage.value);
    storage.disk("disk", &name(guest))
}

/// The name of a machine's disk: a volume of LVM has no ending.
pub fn name(guest: &VmDefinition<'_>) -> String {
    match StorageTarget::of(&guest.vm.storage.value) {
        StorageTarget::Group(_) => guest.name().to_owned(),
        StorageTarget::Pool(_) | StorageTarget::Folder(_) => format!("{guest}.img"),
    }
}

/// Where a CD is, for people.
pub(crate) fn cd(guest: &VmDefinition<'_>, medium: &Medium) -> String {
    match &medium.source {
        MediumSource::There(path) => path.clone(),
        _ => match StorageTarget::of(&guest.vm.iso.value) {
            StorageTarget::Pool(place) => format!("{} in the pool {place}", medium.name),
            StorageTarget::Folder(place) | StorageTarget::Group(place) => format!("{place}/{}", medium.name),
        },
    }
}

/// The element of a CD.
pub fn cdrom(guest: &VmDefinition<'_>, medium: &Medium) -> XmlElement {
    match &medium.source {
        MediumSource::There(path) if path.starts_with('/') => match path.rsplit_once('/') {
            Some((folder, name)) => StorageTarget::Folder(folder).disk("cdrom", name),
            None => StorageTarget::Folder("").disk("cdrom", path),
        },
        _ => StorageTarget::of(&guest.vm.iso.value).disk("cdrom", &medium.name),
    }
}

/// Where the document of a machine's disk goes.
pub fn path(guest: &VmDefinition<'_>) -> String {
    format!("volumes/{guest}.xml")
}

/// The document of a machine's disk in a pool.
pub fn volume(guest: &VmDefinition<'_>) -> XmlElement {
    let size = XmlElement::new("capacity").with("unit", "GiB").say(guest.disk);
    let format = XmlElement::new("format").with("type", "raw");
    XmlElement::new("volume")
        .hold(XmlElement::new("name").say(name(guest)))
        .hold(size)
        .hold(XmlElement::new("target").hold(format))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_pool_a_folder_or_a_volume_group() {
        assert_eq!(StorageTarget::of("default"), StorageTarget::Pool("default"));
        assert_eq!(StorageTarget::of("/srv/vm/"), StorageTarget::Folder("/srv/vm"));
        assert_eq!(StorageTarget::of("/dev/vg-talos"), StorageTarget::Group("/dev/vg-talos"));
    }
}
