//! An image layout: the files of an image, in a folder.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::config;
use super::descriptor::{CONFIG, Descriptor, INDEX, MANIFEST};
use super::digest::Digest;
use super::document::{Manifest, index};
use super::layer::{self, Layer};
use super::root::{Entry, Root};
use crate::cluster::section::Arch;
use crate::moment::Moment;

/// The file that says that a folder is a layout.
pub const LAYOUT: &str = "oci-layout";

/// The file that lists the images in it.
pub const LIST: &str = "index.json";

const LAYOUT_TEXT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// A layout that was made here.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Its files, by their paths.
    pub files: BTreeMap<String, Arc<[u8]>>,
    /// The digest of the image: of the list where there are several architectures.
    pub digest: Digest,
}

/// An image of one layer that is to be packed.
pub struct Packed {
    /// The architecture it is for.
    pub arch: Arch,
    /// What it is made of.
    pub layer: Layer,
}

impl Layout {
    /// Packs one image, or one for each of several architectures, under a name.
    ///
    /// Of several, each is in the list by itself, which is where Talos' imager looks for it, and then all of them as one list, which
    /// is what a registry gets.
    pub fn pack(images: &[Packed], name: &str, created: Moment) -> Layout {
        let mut files = BTreeMap::from([(LAYOUT.to_owned(), Arc::from(LAYOUT_TEXT))]);
        let mut add = |descriptor: &Descriptor, bytes: Arc<[u8]>| {
            files.insert(descriptor.digest.path(), bytes);
        };
        let mut list = Vec::new();
        for Packed { arch, layer } in images {
            let config = config::write(*arch, created, std::slice::from_ref(&layer.diff_id));
            let config_descriptor = Descriptor::of(CONFIG, &config);
            let layers = vec![layer.descriptor.clone()];
            let manifest = Manifest { config: config_descriptor.clone(), layers }.bytes();
            let descriptor = Descriptor::of(MANIFEST, &manifest).on(*arch);
            add(&layer.descriptor, layer.bytes.clone());
            add(&config_descriptor, config.into());
            add(&descriptor, manifest.into());
            list.push(descriptor);
        }
        let (list, digest) = match list.as_slice() {
            [one] => (vec![one.clone().named(name)], one.digest.clone()),
            several => {
                let bytes = index(several);
                let all = Descriptor::of(INDEX, &bytes).named(name);
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
        Layout { files, digest }
    }

    /// The layout as one file: a tar archive.
    pub fn archive(&self) -> Vec<u8> {
        let mut root = Root::default();
        for (path, bytes) in &self.files {
            root.put(path, Entry::file(0o644, bytes.clone()));
        }
        layer::archive(&root)
    }
}
