//! The descriptor of a blob: its type, digest, size and platform.

use serde_json::{Map, Value, json};

use super::digest::Digest;
use super::error::OciError;
use ichor_values::Arch;
use ichor_values::read::Scalar as _;

/// An image for one architecture.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Images for several.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The configuration of an image.
pub(crate) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
/// A layer: a tar archive in gzip.
pub(crate) const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
/// The annotation that names an image in a layout.
pub(crate) const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// The same two, as Docker calls them.
pub(super) const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub(super) const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

/// A layer in Docker's format.
const DOCKER_LAYER: &str = "application/vnd.docker.image.rootfs.diff.tar.gzip";

/// Every supported type of manifest, as a registry is queried for them.
pub const ACCEPTED: [&str; 4] = [MANIFEST, INDEX, DOCKER_MANIFEST, DOCKER_INDEX];

/// A blob, described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The media type of the blob.
    pub media_type: String,
    /// The sum of its bytes.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
    /// Its operating system and architecture, if given.
    pub platform: Option<(String, String)>,
    /// Its name in a layout.
    pub(crate) ref_name: Option<String>,
}

impl Descriptor {
    /// Describes some bytes.
    pub fn of_blob(media_type: &str, bytes: &[u8]) -> Self {
        let digest = Digest::of_bytes(bytes);
        Self {
            media_type: media_type.to_owned(),
            digest,
            size: bytes.len() as u64,
            platform: None,
            ref_name: None,
        }
    }

    /// The same for machines of an architecture.
    #[must_use]
    pub fn on(self, arch: Arch) -> Self {
        Self { platform: Some(("linux".to_owned(), arch.word().to_owned())), ..self }
    }

    /// The same by a name.
    #[must_use]
    pub(crate) fn named(self, name: impl Into<String>) -> Self {
        Self { ref_name: Some(name.into()), ..self }
    }

    /// The same in the words of OCI: its manifests have no layers in Docker's.
    #[must_use]
    pub(super) fn in_oci(&self) -> Self {
        let media_type =
            if self.media_type == DOCKER_LAYER { LAYER.to_owned() } else { self.media_type.clone() };
        Self { media_type, ..self.clone() }
    }

    /// The architecture of Linux machines it is for; none for other systems, or if not given.
    pub fn arch(&self) -> Option<Arch> {
        let (os, arch) = self.platform.as_ref()?;
        (os == "linux").then(|| Arch::parse(arch).ok()).flatten()
    }

    /// Whether it describes a list of images.
    pub fn is_index(&self) -> bool {
        [INDEX, DOCKER_INDEX].contains(&self.media_type.as_str())
    }

    /// Whether it describes an image.
    pub fn is_manifest(&self) -> bool {
        [MANIFEST, DOCKER_MANIFEST].contains(&self.media_type.as_str())
    }

    pub(super) fn read(value: &Value, what: &str) -> Result<Self, OciError> {
        let wrong = |reason: &str| OciError::json(what, reason);
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let digest = text("digest").ok_or_else(|| wrong("a descriptor has no digest"))?;
        let digest = Digest::parse(digest)
            .ok_or_else(|| wrong(&format!("`{}` is not a SHA-256 digest", digest.escape_debug())))?;
        let size =
            value.get("size").and_then(Value::as_u64).ok_or_else(|| wrong("a descriptor has no size"))?;
        let platform = value.get("platform").and_then(|platform| {
            let text = |key: &str| platform.get(key).and_then(Value::as_str).map(str::to_owned);
            text("os").zip(text("architecture"))
        });
        let ref_name = value.get("annotations").and_then(|all| all.get(REF_NAME)).and_then(Value::as_str);
        Ok(Self {
            media_type: text("mediaType").unwrap_or_default().to_owned(),
            digest,
            size,
            platform,
            ref_name: ref_name.map(str::to_owned),
        })
    }

    pub(super) fn json(&self) -> Value {
        let mut map = Map::new();
        map.insert("mediaType".to_owned(), json!(self.media_type));
        map.insert("digest".to_owned(), json!(self.digest.to_string()));
        map.insert("size".to_owned(), json!(self.size));
        if let Some((os, arch)) = &self.platform {
            map.insert("platform".to_owned(), json!({"architecture": arch, "os": os}));
        }
        if let Some(name) = &self.ref_name {
            map.insert("annotations".to_owned(), json!({REF_NAME: name}));
        }
        Value::Object(map)
    }
}
