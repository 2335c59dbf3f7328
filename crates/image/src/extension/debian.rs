//! Debian packages as a root file system.

use crate::oci::{FileTree, LayerError, LayerUnpacker, MemoryStore, TreeEntry};
use ichor_values::Arch;

/// An archive of Unix' `ar`, which a package is.
const MAGIC: &[u8] = b"!<arch>\n";

/// The length of a member's header.
const HEADER: usize = 60;

/// The longest description of a package that is read.
const LONGEST_CONTROL: u64 = 1 << 20;

/// Folders that are links into `/usr` since Debian 12; packages before and after have files in both.
const MERGED: [(&str, &str); 4] =
    [("bin", "usr/bin"), ("lib", "usr/lib"), ("lib64", "usr/lib64"), ("sbin", "usr/sbin")];

/// A package that cannot be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum DebError {
    /// It is not a Debian package.
    #[error("not a Debian package")]
    Other,
    /// It ends too soon.
    #[error("truncated Debian package")]
    Cut,
    /// It has no part of that name.
    #[error("the Debian package has no {0}")]
    Missing(&'static str),
    /// Its control file is incomplete.
    #[error("the control file of the Debian package has no field {0}")]
    Field(&'static str),
    /// Its files cannot be unpacked.
    #[error("cannot unpack its {0}")]
    Layer(&'static str, #[source] LayerError),
}

/// Unpacks the packages for an architecture over each other, with dpkg's lists of whose file is whose. Those for others are passed
/// over. An error comes with the number of the package.
pub fn unpack<'p>(
    packages: impl IntoIterator<Item = &'p [u8]>,
    arch: Arch,
) -> Result<FileTree, (usize, DebError)> {
    let mut root = FileTree::default();
    for (link, folder) in MERGED {
        root.put(folder, TreeEntry::folder());
        root.put(link, TreeEntry::link(folder));
    }
    let mut memory = MemoryStore::default();
    let mut unpack = LayerUnpacker::over(root, &mut memory);
    let (mut status, mut lists) = (String::new(), Vec::new());
    for (nth, bytes) in packages.into_iter().enumerate() {
        let at = |error| (nth, error);
        let package = DebPackage::read(bytes).map_err(at)?;
        if ![arch.word(), "all"].contains(&package.arch.as_str()) {
            continue;
        }
        let files =
            unpack.paths(package.data, None).map_err(|error| (nth, DebError::Layer("files", error)))?;
        let files = files.iter().fold(String::new(), |list, path| list + "/" + path + "\n");
        lists.push((format!("var/lib/dpkg/info/{}.list", package.name), files));
        status.push_str(&format!("{}\n\n", package.control.trim_end()));
    }
    let mut root = unpack.finish();
    for (path, list) in lists {
        root.put(&path, TreeEntry::file(0o644, list.into_bytes()));
    }
    root.put("var/lib/dpkg/status", TreeEntry::file(0o644, status.into_bytes()));
    Ok(root)
}

struct DebPackage<'p> {
    name: String,
    arch: String,
    control: String,
    data: &'p [u8],
}

impl<'p> DebPackage<'p> {
    fn read(bytes: &'p [u8]) -> Result<Self, DebError> {
        let members = members(bytes)?;
        let member =
            |start: &str| members.iter().find(|(name, _)| name.starts_with(start)).map(|(_, bytes)| *bytes);
        let control = member("control.tar").ok_or(DebError::Missing("control file"))?;
        let data = member("data.tar").ok_or(DebError::Missing("files"))?;
        let mut memory = MemoryStore::default();
        let mut unpack = LayerUnpacker::new(&mut memory);
        unpack.layer(control, None).map_err(|error| DebError::Layer("description", error))?;
        let root = unpack.finish();
        let control = root.read("control").ok_or(DebError::Missing("control file"))?;
        if control.len() as u64 > LONGEST_CONTROL {
            return Err(DebError::Field("end"));
        }
        let control = String::from_utf8_lossy(control).into_owned();
        let field = |name: &str| {
            let mut lines = control.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim().to_owned())
        };
        let name = field("Package").ok_or(DebError::Field("name"))?;
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_letter) {
            return Err(DebError::Field("name"));
        }
        field("Version").ok_or(DebError::Field("version"))?;
        let arch = field("Architecture").ok_or(DebError::Field("architecture"))?;
        Ok(Self { name, arch, control, data })
    }
}

/// The members of an `ar` archive.
fn members(bytes: &[u8]) -> Result<Vec<(String, &[u8])>, DebError> {
    let mut rest = bytes.strip_prefix(MAGIC).ok_or(DebError::Other)?;
    let mut members = Vec::new();
    while rest.len() >= HEADER {
        let (header, after) = rest.split_at(HEADER);
        let text = |range: std::ops::Range<usize>| String::from_utf8_lossy(&header[range]).trim().to_owned();
        let length: usize = text(48..58).parse().map_err(|_| DebError::Cut)?;
        let body = after.get(..length).ok_or(DebError::Cut)?;
        members.push((text(0..16).trim_end_matches('/').to_owned(), body));
        // Members begin at even places.
        rest = after.get(length + length % 2..).unwrap_or_default();
    }
    Ok(members)
}
