//! Places for disks and CDs, as pools: libvirt makes and fills volumes in pools alone.

use crate::render::hypervisor::libvirt::storage::Storage;
use crate::render::xml::Element;

/// A place for volumes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Store {
    /// A pool that is there.
    Pool(String),
    /// A folder, by its path.
    Folder(String),
    /// A volume group of LVM, by its folder below `/dev`.
    Group(String),
}

impl Store {
    /// What is meant by a text of the file.
    pub fn of(text: &str) -> Self {
        match Storage::of(text) {
            Storage::Pool(name) => Self::Pool(name.to_owned()),
            Storage::Folder(path) => Self::Folder(path.to_owned()),
            Storage::Group(path) => Self::Group(path.to_owned()),
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
        let target = |path: &str| Element::new("target").hold(Element::new("path").say(path));
        let name = Element::new("name").say(self.pool());
        let pool = |kind: &str| Element::new("pool").with("type", kind);
        match self {
            Self::Pool(_) => None,
            Self::Folder(path) => Some(pool("dir").hold(name).hold(target(path)).to_string()),
            Self::Group(path) => {
                let group = Element::new("name").say(path.trim_start_matches("/dev/"));
                let format = Element::new("format").with("type", "lvm2");
                let source = Element::new("source").hold(group).hold(format);
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
            (Store::of("default").pool().as_str(), Store::of("default").document()),
            ("default", None)
        );
        assert_eq!(Store::of("/srv/vm/").pool(), "ichor-srv-vm");
        let folder = Store::of("/srv/vm").document().unwrap();
        assert!(folder.contains("type=\"dir\"") && folder.contains("<path>/srv/vm</path>"), "{folder}");
        let group = Store::of("/dev/vg0").document().unwrap();
        assert!(group.contains("type=\"logical\"") && group.contains("<name>vg0</name>"), "{group}");
    }
}
