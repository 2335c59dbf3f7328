//! Boot assets of a release from files, folders, URLs and container images.
//!
//! Downloads are verified and cached.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use ichor_image::build::{AssetCollector, AssetError, packed_disk};
use ichor_image::media::Content;
use ichor_image::oci::{BlobSource, LAYOUT, OciError, OciImage};
use ichor_talos::asset::{Asset, AssetRequest, Factory};
use ichor_talos::digest::sha256;
use ichor_talos::schematic::Schematic;
use ichor_values::Arch;
use ichor_values::TalosVersion;

use super::FileImage;
use crate::cache::{AssetFetch, FetchError};
use crate::http::{self, HttpClient};
use crate::oci::{CachedSource, ImageLocation, ImageOpenError, TempFileError, TempFileStore};
use crate::progress::Progress;

/// Errors of gathering boot assets.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not a regular file", .0.display())]
    NotFile(PathBuf),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error(
        "{0}: want the URL of a kernel, an initramfs, an ISO, a UKI or a disk image with its official file name"
    )]
    Address(String),
    #[error(transparent)]
    Open(#[from] ImageOpenError),
    #[error(transparent)]
    Spool(#[from] TempFileError),
    #[error("{failure}")]
    Image { failure: String, source: OciError },
    #[error(transparent)]
    Parts(#[from] AssetError),
    #[error(
        "no Talos files for {arch} in {}; want files such as vmlinuz-{arch}, initramfs-{arch}.xz or metal-{arch}.iso",
        folder.display()
    )]
    Nothing { arch: Arch, folder: PathBuf },
    #[error("cannot unpack {name}")]
    Unpack { name: String, source: io::Error },
}

impl InputError {
    fn read(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Read { path: path.to_owned(), source }
    }
}

/// Block size of unpacking a disk; blocks of zeros become holes.
const BLOCK: usize = 64 << 10;

/// Size limit of an unpacked disk image, against decompression bombs.
const MAX_DISK: u64 = 16 << 30;

/// Prefixes and suffixes of known file names, the cheapest to read first.
const NAMES: [&str; 9] =
    ["vmlinuz", "kernel-", "initramfs", "systemd-", "-uki.efi", ".iso", ".raw", ".raw.zst", ".raw.xz"];

/// A source of boot assets on the command line.
enum ReleaseSource {
    Folder(PathBuf),
    File(PathBuf),
    Url(String),
    Image(ImageLocation),
}

impl ReleaseSource {
    /// Parses an argument; existing paths take precedence over image references.
    fn parse(argument: &str) -> Result<Self, InputError> {
        if argument.starts_with("https://") || argument.starts_with("http://") {
            return Ok(Self::Url(argument.to_owned()));
        }
        let place = ImageLocation::parse(argument)?;
        Ok(match place {
            ImageLocation::Folder(path) if !path.join(LAYOUT).is_file() => Self::Folder(path),
            ImageLocation::File(path) if !is_tar(&path)? => Self::File(path),
            place => Self::Image(place),
        })
    }
}

/// Whether a file is a tar archive.
fn is_tar(path: &Path) -> Result<bool, InputError> {
    let failed = InputError::read(path);
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(InputError::NotFile(path.to_owned()));
    }
    let mut mark = [0; 5];
    let read = File::open(path).map_err(failed)?.read_at(&mut mark, 257);
    Ok(read.map_err(failed)? == mark.len() && &mark == b"ustar")
}

/// The cache of downloads, and the options of registries.
pub(crate) struct ArtifactCache {
    pub cache: PathBuf,
    pub insecure: bool,
}

impl ArtifactCache {
    /// Gathers all assets of the sources `arguments` for an architecture.
    pub(crate) fn gather(&self, arguments: &[String], arch: Arch) -> Result<AssetCollector, InputError> {
        let mut parts = AssetCollector::new(arch);
        for argument in arguments {
            self.add(&mut parts, argument, arch)?;
        }
        Ok(parts)
    }

    fn add(&self, parts: &mut AssetCollector, argument: &str, arch: Arch) -> Result<(), InputError> {
        match ReleaseSource::parse(argument)? {
            ReleaseSource::Folder(path) => add_folder(parts, &path, arch),
            ReleaseSource::File(path) => add_file(parts, &path),
            ReleaseSource::Url(url) => add_file(parts, &self.fetch(&url)?),
            ReleaseSource::Image(place) => self.add_image(parts, argument, &place, arch),
        }
    }

    /// Downloads the official ISO of a release, which has all assets, from an Image Factory.
    pub(crate) fn official(
        &self,
        factory: &Factory,
        talos: &TalosVersion,
        arch: Arch,
    ) -> Result<AssetCollector, InputError> {
        let id = Schematic::default().id();
        let order = AssetRequest { id: &id, talos, platform: "metal", arch: arch.word(), secure_boot: false };
        let path: PathBuf = [id.as_str(), &talos.to_string(), &order.file_name(&Asset::Iso)].iter().collect();
        let url = order.url(factory, &Asset::Iso);
        let (client, path) = (HttpClient::new(), self.cache.join(path));
        let fetched = AssetFetch { client: &client, url: &url, asset: &Asset::Iso, path }.run()?;
        let mut parts = AssetCollector::new(arch);
        add_file(&mut parts, &fetched.path)?;
        Ok(parts)
    }

    /// Downloads a file and caches it by its URL.
    fn fetch(&self, url: &str) -> Result<PathBuf, InputError> {
        let path = url.split(['?', '#']).next().unwrap_or(url);
        let name = path.rsplit('/').next().unwrap_or_default();
        let asset = asset_kind(name).ok_or_else(|| InputError::Address(http::redact_url(url)))?;
        let place = self.cache.join("url").join(&sha256(url.as_bytes())[..16]).join(name);
        let client = HttpClient::new();
        Ok(AssetFetch { client: &client, url, asset: &asset, path: place }.run()?.path)
    }

    /// Opens a container image; layers from a registry are cached.
    pub(crate) fn open_file(&self, place: &ImageLocation) -> Result<Box<dyn BlobSource>, InputError> {
        let source = place.open(self.insecure)?;
        Ok(match place {
            ImageLocation::Registry(_) => Box::new(CachedSource::new(source, self.cache.join("oci"))),
            ImageLocation::Folder(_) | ImageLocation::File(_) => source,
        })
    }

    fn add_image(
        &self,
        parts: &mut AssetCollector,
        argument: &str,
        place: &ImageLocation,
        arch: Arch,
    ) -> Result<(), InputError> {
        let mut source = self.open_file(place)?;
        let failed = |source| InputError::Image { failure: place.read_error(argument), source };
        let image = OciImage::find(&mut *source, arch).map_err(failed)?;
        let progress = Progress::count("reading layers", image.layers());
        let mut spool = TempFileStore::new()?;
        let root = image.unpack(&mut *source, &mut spool, &|| progress.step()).map_err(failed)?;
        parts.add_root(argument, &root)?;
        Ok(())
    }
}

/// The asset with an official file name.
fn asset_kind(name: &str) -> Option<Asset> {
    let starts = |prefix: &str| name.starts_with(prefix);
    let ends = |suffix: &str| name.ends_with(suffix);
    if starts("vmlinuz") || starts("kernel-") {
        Some(Asset::Kernel)
    } else if starts("initramfs") {
        Some(Asset::Initramfs)
    } else if ends(".iso") {
        Some(Asset::Iso)
    } else if ends(".efi") {
        Some(Asset::Uki)
    } else {
        Asset::disk(name.split_once('.')?.1).ok()
    }
}

/// Adds the assets in a folder. Files for other architectures and unknown files are ignored.
fn add_folder(parts: &mut AssetCollector, folder: &Path, arch: Arch) -> Result<(), InputError> {
    let failed = InputError::read(folder);
    let mut found = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let is_other = Arch::ALL.iter().any(|other| *other != arch && name.contains(other.word()));
        let rank = NAMES.iter().position(|known| name.starts_with(known) || name.ends_with(known));
        if let Some(rank) = rank.filter(|_| !is_other && path.is_file()) {
            found.push((rank, path));
        }
    }
    if found.is_empty() {
        return Err(InputError::Nothing { arch, folder: folder.to_owned() });
    }
    found.sort();
    for (_, path) in found {
        if !parts.is_complete() {
            add_file(parts, &path)?;
        }
    }
    Ok(())
}

fn add_file(parts: &mut AssetCollector, path: &Path) -> Result<(), InputError> {
    let name = path.display().to_string();
    let content = open_file(path)?;
    Ok(parts.add(&name, &unpack_if_packed(&name, content)?)?)
}

/// Unpacks a compressed disk image; other contents are returned unchanged.
pub(crate) fn unpack_if_packed(name: &str, content: Content) -> Result<Content, InputError> {
    match packed_disk(&content, &mut |packed| unpack_disk(packed)) {
        Some(disk) => disk.map_err(|source| InputError::Unpack { name: name.to_owned(), source }),
        None => Ok(content),
    }
}

/// Opens a file without reading it.
pub(crate) fn open_file(path: &Path) -> Result<Content, InputError> {
    let failed = InputError::read(path);
    // Opening a pipe would block.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(InputError::NotFile(path.to_owned()));
    }
    File::open(path).and_then(FileImage::content).map_err(failed)
}

/// Unpacks a disk image into an unnamed sparse file.
fn unpack_disk(packed: &mut dyn Read) -> io::Result<Content> {
    let _progress = Progress::start("unpacking the disk image");
    let file = tempfile::tempfile()?;
    let (mut block, zeros) = (vec![0; BLOCK], vec![0; BLOCK]);
    let mut length = 0;
    loop {
        let filled = read_block(packed, &mut block)?;
        if filled == 0 {
            break;
        }
        if block[..filled] != zeros[..filled] {
            file.write_all_at(&block[..filled], length)?;
        }
        length += filled as u64;
        if length > MAX_DISK {
            return Err(io::Error::other(format!(
                "the unpacked image is larger than {} GiB, the maximum for Talos",
                MAX_DISK >> 30
            )));
        }
    }
    file.set_len(length)?;
    FileImage::content(file)
}

/// Reads until the buffer is full or the input ends.
fn read_block(reader: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Reference of the installer without a kernel, the base of installer images.
pub(crate) fn installer_base(talos: &TalosVersion) -> String {
    format!("ghcr.io/siderolabs/installer-base:{talos}")
}
