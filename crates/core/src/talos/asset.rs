//! What the Image Factory offers for a schematic, and where.
//!
//! A [`Factory`] and an [`Order`] make URLs and image references. The paths are the factory's own: an initramfs is called
//! `.xz` although it is zstd.
//!
//! Not here: fetching them.

use crate::cluster::value::TalosVersion;

/// The public factory.
pub const FACTORY: &str = "https://factory.talos.dev";

/// An Image Factory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Factory {
    /// Its URL, without a slash at the end.
    url: String,
}

impl Factory {
    /// The factory at a URL.
    pub fn new(url: &str) -> Factory {
        Factory { url: url.trim_end_matches('/').to_owned() }
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where schematics are registered.
    pub fn schematics(&self) -> String {
        format!("{}/schematics", self.url)
    }

    /// Its name in image references.
    fn registry(&self) -> &str {
        self.url.split_once("://").map_or(self.url.as_str(), |(_, host)| host)
    }

    /// Where PXE scripts are: the public factory has a host of its own for them.
    fn pxe(&self) -> String {
        if self.url == FACTORY { "https://pxe.talos.dev/pxe".to_owned() } else { format!("{}/pxe", self.url) }
    }
}

/// What is wanted: an image of a release, for a machine.
#[derive(Clone, Debug)]
pub struct Order<'a> {
    /// The schematic's id.
    pub id: &'a str,
    /// The release.
    pub talos: &'a TalosVersion,
    /// What it runs on, such as `metal`.
    pub platform: &'a str,
    /// `amd64` or `arm64`.
    pub arch: &'a str,
    /// Whether it boots with secure boot.
    pub secure_boot: bool,
}

/// A kind of asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asset {
    /// The kernel.
    Kernel,
    /// The initramfs.
    Initramfs,
    /// The kernel command line.
    Cmdline,
    /// An ISO.
    Iso,
    /// A unified kernel image, for secure boot.
    Uki,
    /// A disk image in a format, such as `raw.zst`.
    Disk(String),
    /// The installer as an archive.
    Installer,
}

/// Why a format is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a disk format; want raw, qcow2, vhd or ova, alone or with .gz, .xz, .zst or .tar.gz")]
pub struct FormatError(String);

impl Asset {
    /// A disk image in this format.
    pub fn disk(format: &str) -> Result<Asset, FormatError> {
        let (kind, packing) = format.split_once('.').unwrap_or((format, ""));
        if !["raw", "qcow2", "vhd", "ova"].contains(&kind)
            || !["", "gz", "xz", "zst", "tar.gz"].contains(&packing)
            || format.ends_with('.')
        {
            return Err(FormatError(format.to_owned()));
        }
        Ok(Asset::Disk(format.to_owned()))
    }

    /// A disk image in the format its platform takes.
    pub fn disk_of(platform: &str) -> Asset {
        let format = match platform {
            "gcp" => "raw.tar.gz",
            "azure" => "vhd.zst",
            "oracle" | "exoscale" => "qcow2.zst",
            "vmware" => "ova",
            _ => "raw.zst",
        };
        Asset::Disk(format.to_owned())
    }
}

impl Order<'_> {
    /// The platform and architecture, with a tail for secure boot.
    fn machine(&self) -> String {
        let Order { platform, arch, .. } = self;
        format!("{platform}-{arch}{}", self.tail())
    }

    fn tail(&self) -> &'static str {
        if self.secure_boot { "-secureboot" } else { "" }
    }

    /// The file name of an asset.
    pub fn file_name(&self, asset: &Asset) -> String {
        let (arch, machine) = (self.arch, self.machine());
        match asset {
            Asset::Kernel => format!("kernel-{arch}"),
            Asset::Initramfs => format!("initramfs-{arch}.xz"),
            Asset::Cmdline => format!("cmdline-{machine}"),
            Asset::Iso => format!("{machine}.iso"),
            Asset::Uki => format!("{machine}-uki.efi"),
            Asset::Disk(format) => format!("{machine}.{format}"),
            Asset::Installer => format!("{}-installer-{arch}{}.tar", self.platform, self.tail()),
        }
    }

    /// The URL of an asset.
    pub fn url(&self, factory: &Factory, asset: &Asset) -> String {
        format!("{}/image/{}/{}/{}", factory.url, self.id, self.talos, self.file_name(asset))
    }

    /// The URL of the PXE script.
    pub fn pxe(&self, factory: &Factory) -> String {
        format!("{}/{}/{}/{}", factory.pxe(), self.id, self.talos, self.machine())
    }

    /// The reference of the installer image.
    pub fn installer(&self, factory: &Factory) -> String {
        let Order { id, talos, platform, .. } = self;
        format!("{}/{platform}-installer{}/{id}:{talos}", factory.registry(), self.tail())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_factory() {
        let talos = TalosVersion::parse("v1.13.9").unwrap();
        let order = Order { id: "abc", talos: &talos, platform: "metal", arch: "amd64", secure_boot: false };
        let secure = Order { secure_boot: true, platform: "nocloud", arch: "arm64", ..order.clone() };
        let factory = Factory::new("https://factory.talos.dev/");

        for (order, asset, want) in [
            (&order, Asset::Kernel, "kernel-amd64"),
            (&order, Asset::Initramfs, "initramfs-amd64.xz"),
            (&order, Asset::Iso, "metal-amd64.iso"),
            (&order, Asset::disk_of("metal"), "metal-amd64.raw.zst"),
            (&order, Asset::Installer, "metal-installer-amd64.tar"),
            (&secure, Asset::Iso, "nocloud-arm64-secureboot.iso"),
            (&secure, Asset::Uki, "nocloud-arm64-secureboot-uki.efi"),
            (&secure, Asset::Cmdline, "cmdline-nocloud-arm64-secureboot"),
        ] {
            let url = format!("https://factory.talos.dev/image/abc/v1.13.9/{want}");
            assert_eq!(order.url(&factory, &asset), url);
        }
        assert_eq!(secure.installer(&factory), "factory.talos.dev/nocloud-installer-secureboot/abc:v1.13.9");
        assert_eq!(
            order.installer(&Factory::new("http://10.0.0.5:8080")),
            "10.0.0.5:8080/metal-installer/abc:v1.13.9"
        );
    }

    #[test]
    fn a_format_is_a_kind_and_how_it_is_packed() {
        for format in ["raw", "raw.zst", "qcow2", "raw.tar.gz", "vhd.gz"] {
            assert_eq!(Asset::disk(format), Ok(Asset::Disk(format.to_owned())));
        }
        for format in ["", "iso", "raw.", "raw.bz2", "raw.zst.gz", "../raw"] {
            assert!(Asset::disk(format).is_err(), "{format}");
        }
    }
}
