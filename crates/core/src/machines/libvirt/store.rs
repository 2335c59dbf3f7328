//! Places for disks and CDs, as pools: libvirt makes and fills volumes in pools alone.

use crate::render::hypervisor::libvirt::storage::StorageTarget;
use crate::render::xml::XmlElement;

/// A place for volumes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VolumeStore {
    /// A pool that is there.
    Pool(String),
    /// A folder, by its path.
    Folder(String),
    /// A volume group of LVM, by its folder below `/dev`.
    Group(String),
}

impl VolumeStore {
    /// What is meant by a text of the file.
    pub fn of(text: &str) -> Self {
        match StorageTarget::of(text) {
            StorageTarget::Pool(name) => Self::Pool(name.to_owned()),
            StorageTarget::Folder(path) => Self::Folder(path.to_owned()),
            StorageTarget::Group(path) => Self::Group(path.to_owned()),
        }
    }

    /// The path of what is no pool.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Pool(_) => None,
            Self::Folder(path) | Self::Group(path) => Some(path),
        }
    }

    /// The name of the pool: its own, or the one that is made of its path.
    pub fn pool(&self) -> String {
        match self {
            Self::Pool(name) => name.clone(),
            Self::Folder(path) | Self::Group(path) => {
                format!("ichor{}", path.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-"))
            }
        }
    }

    /// The document of the pool that is made of its path: one that is gone when the host starts anew, and nothing with it.
    pub fn document(&self) -> Option<String> {
        let target = |path: &str| XmlElement::new("target").hold(XmlElement::new("path").say(path));
        let name = XmlElement::new("name").say(self.pool());
        let pool = |kind: &str| XmlElement::new("pool").with("type", kind);
        match self {
            Self::Pool(_) => None,
            Self::Folder(path) => Some(pool("dir").hold(name).hold(target(path)).to_string()),
            Self::Group(path) => {
                let group = XmlElement::new("name").say(path.trim_start_matches("/dev/"));
                let format = XmlElement::new("format").with("type", "lvm2");
                let source = XmlElement::new("source").hold(group).hold(format);
                Some(pool("logical").hold(name).hold(source).hold(target(path)).to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_a_volume_group_become_pools() {
        assert_eq!(
            (VolumeStore::of("default").pool().as_str(), VolumeStore::of("default").document()),
            ("default", None)
        );
        assert_eq!(VolumeStore::of("/srv/vm/").pool(), "ichor-srv-vm");
        let folder = VolumeStore::of("/srv/vm").document().unwrap();
        assert!(folder.contains("type=\"dir\"") && folder.contains("<path>/srv/vm</path>"), "{folder}");
        let group = VolumeStore::of("/dev/vg0").document().unwrap();
        assert!(group.contains("type=\"logical\"") && group.contains("<name>vg0</name>"), "{group}");
    }
}
