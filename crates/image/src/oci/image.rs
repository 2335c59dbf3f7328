//! An image in a source: found, read, and all that belongs to it.

use std::collections::BTreeSet;

use super::blob_store::BlobStore;
use super::config::ImageConfig;
use super::descriptor::Descriptor;
use super::digest::Digest;
use super::document::{Document, Manifest, index};
use super::error::{LayerError, OciError};
use super::file_tree::FileTree;
use super::layer::Layer;
use super::layout::NewImage;
use super::source::{self, BlobSource};
use super::unpack::LayerUnpacker;
use ichor_values::Arch;
use ichor_values::Moment;

/// The deepest nesting of indexes; builders make one level.
const DEEPEST: usize = 3;

/// An image for one architecture, in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciImage {
    /// The architecture it is for.
    pub arch: Arch,
    /// Its digest.
    pub digest: Digest,
    manifest: Manifest,
    config: ImageConfig,
}

impl OciImage {
    /// Every image for a Linux machine that is known, by its architecture; of several for one, the first.
    pub fn all(source: &mut dyn BlobSource) -> Result<Vec<OciImage>, OciError> {
        let mut images: Vec<OciImage> = Vec::new();
        let top = source::top(source)?;
        for (digest, manifest, arch) in manifests(source, &top, 0)? {
            if images.iter().any(|image| Some(image.arch) == arch) {
                continue;
            }
            let bytes = source::document(source, &manifest.config)?;
            let config = ImageConfig::read(&bytes, &format!("configuration {}", manifest.config.digest))?;
            if config.diff_ids.len() != manifest.layers.len() {
                let reason = format!(
                    "`rootfs.diff_ids` has {} digests for {} layers",
                    config.diff_ids.len(),
                    manifest.layers.len()
                );
                return Err(OciError::json(&format!("configuration {}", manifest.config.digest), reason));
            }
            match config.arch {
                Some(arch) if !images.iter().any(|image| image.arch == arch) => {
                    images.push(OciImage { arch, digest, manifest, config });
                }
                _ => {}
            }
        }
        images.sort_by_key(|image| image.arch);
        Ok(images)
    }

    /// The image for an architecture.
    pub fn find(source: &mut dyn BlobSource, arch: Arch) -> Result<OciImage, OciError> {
        let all = Self::all(source)?;
        let have: Vec<_> = all.iter().map(|image| format!("linux/{}", image.arch)).collect();
        let have =
            if have.is_empty() { "none for an architecture of Talos".to_owned() } else { have.join(", ") };
        let missing = OciError::Architecture { arch: arch.word().to_owned(), have };
        all.into_iter().find(|image| image.arch == arch).ok_or(missing)
    }

    /// Its root file system, with long files in the blob store. `step` is called after each layer.
    pub fn unpack(
        &self,
        source: &mut dyn BlobSource,
        spool: &mut dyn BlobStore,
        step: &dyn Fn(),
    ) -> Result<FileTree, OciError> {
        let mut unpack = LayerUnpacker::new(spool);
        for (layer, diff_id) in self.manifest.layers.iter().zip(&self.config.diff_ids) {
            let mut blob = source::blob(source, layer)?;
            let unpacked = unpack.layer(&mut blob, Some(diff_id));
            // A layer that does not match its digest may fail in any way before its end; without space, the rest is of no use.
            if !matches!(unpacked, Err(LayerError::Keep { .. })) {
                blob.finish()?;
            }
            unpacked.map_err(|source| OciError::Layer { digest: layer.digest.clone(), source })?;
            step();
        }
        Ok(unpack.finish())
    }

    /// Its lowest layers as stored, kept in the blob store.
    pub(crate) fn store_layers(
        &self,
        layers: usize,
        source: &mut dyn BlobSource,
        spool: &mut dyn BlobStore,
    ) -> Result<Vec<Layer>, OciError> {
        let mut kept = Vec::new();
        for (descriptor, diff_id) in self.manifest.layers.iter().zip(&self.config.diff_ids).take(layers) {
            let mut blob = source::blob(source, descriptor)?;
            let content = match spool.keep(&mut blob) {
                Ok(content) => content,
                Err(source) => {
                    let what = format!("blob {}", descriptor.digest);
                    return Err(blob.failure().unwrap_or(OciError::Keep { what, source }));
                }
            };
            blob.finish()?;
            kept.push(Layer { content, descriptor: descriptor.in_oci(), diff_id: diff_id.clone() });
        }
        Ok(kept)
    }

    /// An image that runs as this one does, with its lowest layers and an additional one on top.
    pub fn with_layers(&self, mut lowest: Vec<Layer>, top: Layer, created: Moment, by: &str) -> NewImage {
        let config = self.config.with_layer(self.arch, created, lowest.len(), &top.diff_id, by);
        lowest.push(top);
        NewImage { arch: self.arch, config, layers: lowest }
    }

    /// The number of its layers.
    pub fn layers(&self) -> usize {
        self.manifest.layers.len()
    }
}

/// Every manifest that a document leads to, with its digest and the architecture its descriptor names.
fn manifests(
    source: &mut dyn BlobSource,
    bytes: &[u8],
    depth: usize,
) -> Result<Vec<(Digest, Manifest, Option<Arch>)>, OciError> {
    let digest = Digest::of_bytes(bytes);
    match Document::read(bytes, &format!("document {digest}"))? {
        Document::Manifest(manifest) => Ok(vec![(digest, manifest, None)]),
        Document::Index(_) if depth == DEEPEST => {
            Err(OciError::json(&format!("document {digest}"), "indexes are nested too deeply"))
        }
        Document::Index(items) => {
            let mut found = Vec::new();
            for item in items {
                // Others are for other platforms, or not images, such as attestations.
                let is_ours = item.platform.is_none() || item.arch().is_some();
                if !is_ours || !(item.is_manifest() || item.is_index()) {
                    continue;
                }
                let bytes = source::document(source, &item)?;
                let below = manifests(source, &bytes, depth + 1)?;
                let arch = item.arch();
                found.extend(
                    below.into_iter().map(|(digest, manifest, below)| (digest, manifest, below.or(arch))),
                );
            }
            Ok(found)
        }
    }
}

/// Everything that is uploaded for an image, or for the images of several architectures: blobs, then documents, each after those
/// it refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageUpload {
    /// Layers and configurations.
    pub blobs: Vec<Descriptor>,
    /// Manifests and lists with their bytes; the last one is the image.
    pub documents: Vec<(Descriptor, Vec<u8>)>,
}

impl ImageUpload {
    /// The blobs of the image of a layout. If it has several, it is the nested index, or else an index of all of them.
    pub fn collect(source: &mut dyn BlobSource) -> Result<ImageUpload, OciError> {
        let top = source::top(source)?;
        let mut shipment = ImageUpload { blobs: Vec::new(), documents: Vec::new() };
        let image = match Document::read(&top, "the image index")? {
            Document::Manifest(_) => {
                return Err(OciError::json("the image index", "a manifest where an index was expected"));
            }
            Document::Index(items) => {
                let known: Vec<_> =
                    items.into_iter().filter(|it| it.is_manifest() || it.is_index()).collect();
                match known.as_slice() {
                    [] => return Err(OciError::json("the image index", "the index is empty")),
                    [one] => one.clone(),
                    several => match several.iter().find(|item| item.is_index()) {
                        Some(list) => list.clone(),
                        None => {
                            let bytes = index(several);
                            several.iter().try_for_each(|item| shipment.add(source, item, 1))?;
                            let descriptor = Descriptor::of_blob(super::descriptor::INDEX, &bytes);
                            shipment.documents.push((descriptor, bytes));
                            return Ok(shipment);
                        }
                    },
                }
            }
        };
        shipment.add(source, &image, 0)?;
        Ok(shipment)
    }

    fn add(&mut self, source: &mut dyn BlobSource, item: &Descriptor, depth: usize) -> Result<(), OciError> {
        let bytes = source::document(source, item)?;
        let what = format!("document {}", item.digest);
        let known: BTreeSet<_> = self.blobs.iter().map(|blob| blob.digest.clone()).collect();
        match Document::read(&bytes, &what)? {
            Document::Manifest(manifest) => {
                let blobs = manifest.layers.into_iter().chain([manifest.config]);
                self.blobs.extend(blobs.filter(|blob| !known.contains(&blob.digest)));
            }
            Document::Index(_) if depth == DEEPEST => {
                return Err(OciError::json(&what, "indexes are nested too deeply"));
            }
            Document::Index(items) => items.iter().try_for_each(|item| self.add(source, item, depth + 1))?,
        }
        if !self.documents.iter().any(|(descriptor, _)| descriptor.digest == item.digest) {
            self.documents.push((item.clone(), bytes));
        }
        Ok(())
    }
}
