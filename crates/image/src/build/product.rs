//! The products of a release: boot media, or an installer.

/// A product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Product {
    /// Kernel, initramfs and command line, for machines that boot from the network.
    Netboot,
    /// A unified kernel image, for UEFI that boots from the network.
    Uki,
    /// A CD, or a stick.
    Iso,
    /// A disk, byte by byte.
    Disk,
    /// The same disk, as QEMU has it.
    Qcow2,
    /// The same disk, as Google's cloud takes it.
    Gcp,
    /// A container image that installs, as an archive.
    Installer,
    /// The same container image, as a folder.
    Layout,
}

impl Product {
    /// Every product.
    pub const ALL: [Self; 8] = [
        Self::Netboot,
        Self::Uki,
        Self::Iso,
        Self::Disk,
        Self::Qcow2,
        Self::Gcp,
        Self::Installer,
        Self::Layout,
    ];

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Netboot => "netboot",
            Self::Uki => "uki",
            Self::Iso => "iso",
            Self::Disk => "disk",
            Self::Qcow2 => "qcow2",
            Self::Gcp => "gcp",
            Self::Installer => "installer",
            Self::Layout => "layout",
        }
    }

    /// The names of its files, with a common stem.
    pub fn files(self, stem: &str) -> Vec<String> {
        let endings: &[&str] = match self {
            Self::Netboot => &[".vmlinuz", ".initramfs.xz", ".cmdline"],
            Self::Uki => &[".efi"],
            Self::Iso => &[".iso"],
            Self::Disk => &[".raw"],
            Self::Qcow2 => &[".qcow2"],
            Self::Gcp => &[".raw.tar.gz"],
            Self::Installer => &["-installer.tar"],
            Self::Layout => &["-installer"],
        };
        endings.iter().map(|ending| format!("{stem}{ending}")).collect()
    }

    /// Whether it is an installer, in any form.
    pub fn is_installer(self) -> bool {
        matches!(self, Self::Installer | Self::Layout)
    }
}

impl std::fmt::Display for Product {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}
