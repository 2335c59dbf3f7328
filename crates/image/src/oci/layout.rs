//! An image layout: the files of an image, in a folder.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use super::config;
use super::descriptor::{CONFIG, Descriptor, INDEX, MANIFEST};
use super::digest::Digest;
use super::document::{Manifest, index};
use super::error::SourceError;
use super::file_tree::{FileTree, TreeEntry};
use super::layer::{self, Layer};
use super::source::BlobSource;
use crate::media::Content;
use ichor_values::Arch;
use ichor_values::Moment;

/// The file that marks a folder as a layout.
pub const LAYOUT: &str = "oci-layout";

/// The file that lists the images in it.
pub const LIST: &str = "index.json";

const LAYOUT_TEXT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// A layout that was made here.
#[derive(Clone, Debug)]
pub struct ImageLayout {
    /// Its files, by their paths.
    pub files: BTreeMap<String, Content>,
    /// The digest of the image: of the index if there are several architectures.
    pub digest: Digest,
}

/// An image that is to be packed.
#[derive(Clone, Debug)]
pub struct NewImage {
    /// The architecture it is for.
    pub arch: Arch,
    /// Its configuration.
    pub config: Vec<u8>,
    /// Its layers, the lowest first.
    pub layers: Vec<Layer>,
}

impl NewImage {
    /// An image of one layer that is never run.
    pub fn single_layer(arch: Arch, layer: Layer, created: Moment) -> Self {
        let config = config::write(arch, created, &layer.diff_id);
        Self { arch, config, layers: vec![layer] }
    }

    /// The total length of its stored layers, without its documents.
    pub fn size(&self) -> u64 {
        self.layers.iter().map(|layer| layer.descriptor.size).sum()
    }
}

impl ImageLayout {
    /// Packs one image, or one for each of several architectures, under a name.
    ///
    /// With several, each is in the index separately, where Talos' imager looks for it, and then all of them as one nested
    /// index, which is pushed to a registry.
    pub fn pack(images: &[NewImage], name: &str) -> ImageLayout {
        let mut files = BTreeMap::from([(LAYOUT.to_owned(), LAYOUT_TEXT.into())]);
        let mut add = |descriptor: &Descriptor, content: Content| {
            files.insert(descriptor.digest.path(), content);
        };
        let mut list = Vec::new();
        for NewImage { arch, config, layers } in images {
            let config_descriptor = Descriptor::of_blob(CONFIG, config);
            let descriptors = layers.iter().map(|layer| layer.descriptor.clone()).collect();
            let manifest = Manifest { config: config_descriptor.clone(), layers: descriptors }.bytes();
            let descriptor = Descriptor::of_blob(MANIFEST, &manifest).on(*arch);
            for layer in layers {
                add(&layer.descriptor, layer.content.clone());
            }
            add(&config_descriptor, config.clone().into());
            add(&descriptor, manifest.into());
            list.push(descriptor);
        }
        let (list, digest) = match list.as_slice() {
            [one] => (vec![one.clone().named(name)], one.digest.clone()),
            several => {
                let bytes = index(several);
                let all = Descriptor::of_blob(INDEX, &bytes).named(name);
                let digest = all.digest.clone();
                add(&all, bytes.into());
                let named = |item: &Descriptor| match item.arch() {
                    Some(arch) => item.clone().named(format!("{name}-{arch}")),
                    None => item.clone(),
                };
                (several.iter().map(named).chain([all]).collect(), digest)
            }
        };
        files.insert(LIST.to_owned(), index(&list).into());
        ImageLayout { files, digest }
    }

    /// Writes the layout as one file: a tar archive.
    pub fn archive(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut root = FileTree::default();
        for (path, content) in &self.files {
            root.put(path, TreeEntry::file(0o644, content.clone()));
        }
        layer::archive(root.iter(), out)
    }
}

impl BlobSource for ImageLayout {
    fn top(&mut self) -> Result<Vec<u8>, SourceError> {
        Ok(self.files.get(LIST).map(Content::read).transpose()?.unwrap_or_default())
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Box<dyn Read + '_>, SourceError> {
        let content = self.files.get(&descriptor.digest.path());
        Ok(Box::new(content.ok_or("the layout lacks it")?.reader()))
    }
}
