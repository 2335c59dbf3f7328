//! Stores for disks and ISOs, as pools: libvirt creates and uploads volumes only in pools.

use crate::render::hypervisor::libvirt::storage::StorageTarget;
use crate::render::xml::XmlElement;

/// A store for volumes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VolumeStore {
    /// An existing pool.
    Pool(String),
    /// A folder, by its path.
    Folder(String),
    /// A volume group of LVM, by its folder below `/dev`.
    Group(String),
}

impl VolumeStore {
    /// Parses a setting of the cluster file.
    pub fn parse(text: &str) -> Self {
        match StorageTarget::parse(text) {
            StorageTarget::Pool(name) => Self::Pool(name.to_owned()),
            StorageTarget::Folder(path) => Self::Folder(path.to_owned()),
            StorageTarget::Group(path) => Self::Group(path.to_owned()),
        }
    }

    /// The path, unless it is a pool.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Pool(_) => None,
            Self::Folder(path) | Self::Group(path) => Some(path),
        }
    }

    /// The name of the pool, or one derived from the path.
    pub fn pool_name(&self) -> String {
        match self {
            Self::Pool(name) => name.clone(),
            Self::Folder(path) | Self::Group(path) => {
                format!("ichor{}", path.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-"))
            }
        }
    }

    /// The document of a transient pool for the path. It disappears when the host restarts, without losing files.
    pub fn document(&self) -> Option<String> {
        let target = |path: &str| XmlElement::new("target").child(XmlElement::new("path").text(path));
        let name = XmlElement::new("name").text(self.pool_name());
        let pool = |kind: &str| XmlElement::new("pool").with("type", kind);
        match self {
            Self::Pool(_) => None,
            Self::Folder(path) => Some(pool("dir").child(name).child(target(path)).to_string()),
            Self::Group(path) => {
                let group = XmlElement::new("name").text(path.trim_start_matches("/dev/"));
                let format = XmlElement::new("format").with("type", "lvm2");
                let source = XmlElement::new("source").child(group).child(format);
                Some(pool("logical").child(name).child(source).child(target(path)).to_string())
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
            (VolumeStore::parse("default").pool_name().as_str(), VolumeStore::parse("default").document()),
            ("default", None)
        );
        assert_eq!(VolumeStore::parse("/srv/vm/").pool_name(), "ichor-srv-vm");
        let folder = VolumeStore::parse("/srv/vm").document().unwrap();
        assert!(folder.contains("type=\"dir\"") && folder.contains("<path>/srv/vm</path>"), "{folder}");
        let group = VolumeStore::parse("/dev/vg0").document().unwrap();
        assert!(group.contains("type=\"logical\"") && group.contains("<name>vg0</name>"), "{group}");
    }
}
