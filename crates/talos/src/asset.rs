//! The images that the Image Factory offers for a schematic, and their URLs.
//!
//! A [`Factory`] and an [`AssetRequest`] make URLs and image references. The paths are the factory's own: an initramfs is called
//! `.xz` although it is zstd. An [`AssetSelection`] is the inverse: the asset that an address selects.
//!
//! Not here: fetching them.

use ichor_values::TalosVersion;

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

    /// The URL to register schematics.
    pub fn schematics(&self) -> String {
        format!("{}/schematics", self.url)
    }

    /// Its name in image references.
    fn registry(&self) -> &str {
        self.url.split_once("://").map_or(self.url.as_str(), |(_, host)| host)
    }

    /// The URL of PXE scripts: the public factory has a host of its own for them.
    fn pxe(&self) -> String {
        if self.url == FACTORY { "https://pxe.talos.dev/pxe".to_owned() } else { format!("{}/pxe", self.url) }
    }
}

/// A request for an image of a release, for a machine.
#[derive(Clone, Debug)]
pub struct AssetRequest<'a> {
    /// The schematic's id.
    pub id: &'a str,
    /// The release.
    pub talos: &'a TalosVersion,
    /// The Talos platform, such as `metal`.
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

/// An invalid format.
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

impl AssetRequest<'_> {
    /// The platform and architecture, with a tail for secure boot.
    fn machine(&self) -> String {
        let AssetRequest { platform, arch, .. } = self;
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
        let AssetRequest { id, talos, platform, .. } = self;
        format!("{}/{platform}-installer{}/{id}:{talos}", factory.registry(), self.tail())
    }
}

/// The asset that a factory URL or an installer reference selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetSelection {
    /// The schematic's id.
    pub id: String,
    /// The release.
    pub talos: TalosVersion,
    /// The Talos platform; kernels are the same on every platform.
    pub platform: Option<String>,
    /// `amd64` or `arm64`; none if a reference is for both.
    pub arch: Option<&'static str>,
    /// Whether it boots with secure boot.
    pub secure_boot: bool,
    /// The asset; none for a PXE script.
    pub asset: Option<Asset>,
}

/// Why an address selects no asset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssetUrlError {
    /// It is not a factory's.
    #[error(
        "not an address of an Image Factory; want one such as {FACTORY}/image/ID/v1.13.9/metal-amd64.iso"
    )]
    Other,
    /// The id is invalid.
    #[error("`{0}` is not the id of a schematic; want 64 digits of 0-9 and a-f")]
    Id(String),
    /// The release is invalid.
    #[error("`{0}` is not a release of Talos; want one such as v1.13.9")]
    Talos(String),
    /// A factory has no such file.
    #[error(
        "`{0}` is not an asset of the factory; want a name such as metal-amd64.iso or nocloud-arm64.raw.zst"
    )]
    Asset(String),
}

const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];
const SECURE: &str = "-secureboot";

impl AssetSelection {
    /// Reads `…/image/ID/VERSION/NAME`, `…/pxe/ID/VERSION/MACHINE` and `HOST/PLATFORM-installer/ID:VERSION`.
    pub fn parse(text: &str) -> Result<Self, AssetUrlError> {
        let text = text.split(['?', '#']).next().unwrap_or_default();
        let text = text.split_once("://").map_or(text, |(_, rest)| rest);
        let parts: Vec<&str> = text.split('/').collect();
        match parts.as_slice() {
            [_, .., "image", id, talos, name] => Self::from_file_name(id, talos, name),
            [_, .., "pxe", id, talos, machine] => {
                let found =
                    Self::machine(machine).ok_or_else(|| AssetUrlError::Asset((*machine).to_owned()))?;
                Self::from_path(id, talos, found, None)
            }
            [_, .., image, reference] if image.contains("installer") => {
                let (id, talos) = reference.split_once(':').ok_or(AssetUrlError::Other)?;
                let (image, secure) =
                    image.strip_suffix(SECURE).map_or((*image, false), |image| (image, true));
                let platform = match image.strip_suffix("-installer") {
                    Some(platform) => platform,
                    None if image == "installer" => "metal",
                    None => return Err(AssetUrlError::Other),
                };
                Self::from_path(id, talos, (Some(platform), None, secure), Some(Asset::Installer))
            }
            _ => Err(AssetUrlError::Other),
        }
    }

    fn from_file_name(id: &str, talos: &str, name: &str) -> Result<Self, AssetUrlError> {
        let (machine, asset) = Self::file(name).ok_or_else(|| AssetUrlError::Asset(name.to_owned()))?;
        Self::from_path(id, talos, machine, Some(asset))
    }

    /// A file name, as [`AssetRequest::file_name`] writes it.
    fn file(name: &str) -> Option<(Parsed<'_>, Asset)> {
        if let Some(machine) = name.strip_prefix("cmdline-") {
            return Some((Self::machine(machine)?, Asset::Cmdline));
        }
        if let Some(machine) = name.strip_suffix("-uki.efi") {
            return Some((Self::machine(machine)?, Asset::Uki));
        }
        if let Some(arch) = name.strip_prefix("kernel-") {
            return Some(((None, Some(known_arch(arch)?), false), Asset::Kernel));
        }
        if let Some(arch) = name.strip_prefix("initramfs-").and_then(|rest| rest.strip_suffix(".xz")) {
            return Some(((None, Some(known_arch(arch)?), false), Asset::Initramfs));
        }
        let (machine, extension) = name.split_once('.')?;
        let (platform, arch, secure) = Self::machine(machine)?;
        Some(match extension {
            "iso" => ((platform, arch, secure), Asset::Iso),
            "tar" => {
                let platform = platform?;
                let platform =
                    platform.strip_suffix("-installer").or((platform == "installer").then_some("metal"))?;
                ((Some(platform), arch, secure), Asset::Installer)
            }
            format => ((platform, arch, secure), Asset::disk(format).ok()?),
        })
    }

    /// `PLATFORM-ARCH`, with a tail for secure boot.
    fn machine(text: &str) -> Option<Parsed<'_>> {
        let (text, secure) = text.strip_suffix(SECURE).map_or((text, false), |text| (text, true));
        let (platform, arch) = text.rsplit_once('-')?;
        Some((Some(platform), Some(known_arch(arch)?), secure))
    }

    fn from_path(
        id: &str,
        talos: &str,
        (platform, arch, secure_boot): Parsed<'_>,
        asset: Option<Asset>,
    ) -> Result<Self, AssetUrlError> {
        if id.len() != 64 || !id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(AssetUrlError::Id(id.to_owned()));
        }
        let talos = TalosVersion::parse(talos).map_err(|_| AssetUrlError::Talos(talos.to_owned()))?;
        Ok(Self { id: id.to_owned(), talos, platform: platform.map(str::to_owned), arch, secure_boot, asset })
    }
}

/// Platform, architecture and secure boot.
type Parsed<'t> = (Option<&'t str>, Option<&'static str>, bool);

fn known_arch(text: &str) -> Option<&'static str> {
    ARCHITECTURES.into_iter().find(|known| *known == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_url_parses() {
        let talos = TalosVersion::parse("v1.13.9").unwrap();
        let id = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";
        let factory = Factory::new(FACTORY);
        let assets = [
            Asset::Cmdline,
            Asset::Iso,
            Asset::Uki,
            Asset::Installer,
            Asset::disk_of("gcp"),
            Asset::disk_of("metal"),
        ];
        for (platform, arch, secure_boot) in
            [("metal", "amd64", false), ("digital-ocean", "arm64", true), ("nocloud", "amd64", true)]
        {
            let order = AssetRequest { id, talos: &talos, platform, arch, secure_boot };
            let want = |arch, asset| AssetSelection {
                id: id.to_owned(),
                talos: talos.clone(),
                platform: Some(platform.to_owned()),
                arch,
                secure_boot,
                asset,
            };
            for asset in &assets {
                let url = order.url(&factory, asset);
                assert_eq!(AssetSelection::parse(&url), Ok(want(Some(arch), Some(asset.clone()))), "{url}");
            }
            assert_eq!(AssetSelection::parse(&order.pxe(&factory)), Ok(want(Some(arch), None)));
            assert_eq!(
                AssetSelection::parse(&order.installer(&factory)),
                Ok(want(None, Some(Asset::Installer)))
            );
        }
        let kernel =
            AssetSelection::parse(&format!("{FACTORY}/image/{id}/v1.13.9/kernel-arm64?a=b")).unwrap();
        assert_eq!((kernel.platform, kernel.asset), (None, Some(Asset::Kernel)));
    }

    #[test]
    fn a_url_of_another_server_is_reported() {
        let id = "0".repeat(64);
        for (text, said) in [
            ("https://a/b".to_owned(), "not an address"),
            ("https://a/image/abc/v1.13.9/metal-amd64.iso".to_owned(), "64 digits"),
            (format!("https://a/image/{id}/newest/metal-amd64.iso"), "release"),
            (format!("https://a/image/{id}/v1.13.9/metal-riscv.iso"), "not an asset of the factory"),
            (format!("https://a/image/{id}/v1.13.9/metal-amd64.bz2"), "not an asset of the factory"),
        ] {
            let error = AssetSelection::parse(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn paths_match_the_factory() {
        let talos = TalosVersion::parse("v1.13.9").unwrap();
        let order =
            AssetRequest { id: "abc", talos: &talos, platform: "metal", arch: "amd64", secure_boot: false };
        let secure = AssetRequest { secure_boot: true, platform: "nocloud", arch: "arm64", ..order.clone() };
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
    fn a_format_has_a_kind_and_a_compression() {
        for format in ["raw", "raw.zst", "qcow2", "raw.tar.gz", "vhd.gz"] {
            assert_eq!(Asset::disk(format), Ok(Asset::Disk(format.to_owned())));
        }
        for format in ["", "iso", "raw.", "raw.bz2", "raw.zst.gz", "../raw"] {
            assert!(Asset::disk(format).is_err(), "{format}");
        }
    }
}
