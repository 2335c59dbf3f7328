//! The EFI system partition: systemd-boot, and the kernel images that it offers.

use super::Profile;
use crate::media::Content;
use crate::oci::{FileTree, TreeEntry};
use ichor_values::Arch;

/// The label of the partition and of its file system.
pub(crate) const LABEL: &str = "EFI";

/// The path of systemd-boot's configuration.
pub(crate) const SETTINGS: &str = "loader/loader.conf";

/// The files. `settings` are those of systemd-boot.
pub fn tree(profile: &Profile, loader: &Content, uki: &Content, settings: &str) -> FileTree {
    let mut root = FileTree::default();
    root.put(loader_path(profile.arch), TreeEntry::file(0o644, loader.clone()));
    root.put(&format!("EFI/Linux/Talos-{}.efi", profile.talos), TreeEntry::file(0o644, uki.clone()));
    root.put(SETTINGS, TreeEntry::file(0o644, settings.as_bytes()));
    root
}

/// The default path from which UEFI boots a disk.
pub(crate) fn loader_path(arch: Arch) -> &'static str {
    match arch {
        Arch::Amd64 => "EFI/BOOT/BOOTX64.EFI",
        Arch::Arm64 => "EFI/BOOT/BOOTAA64.EFI",
    }
}
