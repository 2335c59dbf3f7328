//! Extensions: where they are, and which of them go into an image.

use std::collections::{BTreeSet, HashMap};

use anyhow::{Context as _, bail};
use ichor_image::build::extension::Extension;
use ichor_image::catalogue;
use ichor_image::catalogue::Catalogue;
use ichor_image::oci::{Archive, BlobSource, FileTree, LAYOUT, OciImage};
use ichor_talos::extension::Remark;
use ichor_values::Arch;
use ichor_values::TalosVersion;

use super::recipe::ImageRecipe;
use crate::image::{ArtifactCache, folder};
use crate::oci::{ImageLocation, TempFileStore, archive};
use crate::progress::Progress;

/// The longest catalogue that is read.
const LONGEST_CATALOGUE: u64 = 4 << 20;

/// Extensions that were asked for, each loaded once.
pub(super) struct ExtensionLoader<'s> {
    larder: &'s ArtifactCache,
    /// Where another catalogue is than the official one.
    catalogue: Option<&'s str>,
    loaded: HashMap<(String, String, Arch), Extension>,
    catalogues: HashMap<String, Catalogue>,
    /// What Talos passes over without a word.
    pub(super) warnings: Vec<(String, Remark)>,
}

impl<'s> ExtensionLoader<'s> {
    pub(super) fn new(larder: &'s ArtifactCache, catalogue: Option<&'s str>) -> Self {
        Self { larder, catalogue, loaded: HashMap::new(), catalogues: HashMap::new(), warnings: Vec::new() }
    }

    /// The extensions of an image by itself, in the order they are given.
    pub(super) fn named(&mut self, recipe: &ImageRecipe) -> anyhow::Result<Vec<Extension>> {
        recipe.extensions.iter().map(|name| self.find(name, recipe)).collect()
    }

    /// The extensions of the image of a cluster. One of `given` takes the place of an official one of its name, and is the routing
    /// extension where it has that service; those that were used are added to `used`.
    pub(super) fn of_cluster(
        &mut self,
        recipe: &ImageRecipe,
        given: &[String],
        used: &mut BTreeSet<String>,
    ) -> anyhow::Result<Vec<Extension>> {
        let mut mine = Vec::new();
        for word in given {
            mine.push((word, self.find(word, recipe)?));
        }
        let mut extensions = Vec::new();
        for name in &recipe.extensions {
            let short = name.strip_prefix("siderolabs/").unwrap_or(name);
            match mine.iter().find(|(word, extension)| *word == name || extension.metadata.name == short) {
                Some((word, extension)) => {
                    used.insert((*word).clone());
                    extensions.push(extension.clone());
                }
                None => extensions.push(self.find(name, recipe)?),
            }
        }
        if let Some(service) =
            recipe.routing.as_deref().filter(|service| !extensions.iter().any(|it| has(it, service)))
        {
            match mine.iter().find(|(_, extension)| has(extension, service)) {
                Some((word, extension)) => {
                    used.insert((*word).clone());
                    extensions.push(extension.clone());
                }
                None => extensions.push(self.routing(service, recipe)?),
            }
        }
        Ok(extensions)
    }

    /// The routing extension, from the registry of the cluster.
    fn routing(&mut self, service: &str, recipe: &ImageRecipe) -> anyhow::Result<Extension> {
        let hint = || {
            format!(
                "{}: the nodes need the routing extension `{service}`; give it with --extension, as `ichor extension build` writes it",
                recipe.stem
            )
        };
        let registry = recipe.registry.as_deref().with_context(hint)?;
        self.find(&format!("{registry}/{service}:latest"), recipe).with_context(hint)
    }

    /// An extension by its name or place, judged by the release of the image.
    fn find(&mut self, name: &str, recipe: &ImageRecipe) -> anyhow::Result<Extension> {
        let (talos, arch) = (&recipe.profile.talos, recipe.profile.arch);
        let key = (name.to_owned(), talos.to_string(), arch);
        if let Some(known) = self.loaded.get(&key) {
            return Ok(known.clone());
        }
        let failed = || format!("cannot use the extension {name}");
        let root = if catalogue::is_official(name) {
            let place = self.official(name, talos)?;
            self.load(name, &place, arch).with_context(failed)?
        } else {
            self.load(name, &ImageLocation::parse(name).with_context(failed)?, arch).with_context(failed)?
        };
        let (extension, warnings) = Extension::of(root, talos).with_context(failed)?;
        self.warnings.extend(warnings.into_iter().map(|warning| (name.to_owned(), warning)));
        self.loaded.insert(key, extension.clone());
        Ok(extension)
    }

    /// Where an official extension is.
    fn official(&mut self, name: &str, talos: &TalosVersion) -> anyhow::Result<ImageLocation> {
        let catalogue = self.catalogue_of(talos).with_context(|| {
            format!("which image has the official extension {name} says the catalogue of {talos}; give it with --extension, or another --catalogue")
        })?;
        match catalogue.find(name) {
            Some(reference) => Ok(ImageLocation::Registry(reference.clone())),
            None => bail!(
                "Talos {talos} has no official extension {name}; it has {}",
                catalogue.names().collect::<Vec<_>>().join(", ")
            ),
        }
    }

    fn catalogue_of(&mut self, talos: &TalosVersion) -> anyhow::Result<&Catalogue> {
        let place = self.catalogue.map_or_else(|| catalogue::catalogue_reference(talos), str::to_owned);
        if !self.catalogues.contains_key(&place) {
            let read =
                self.read_catalogue(&place).with_context(|| format!("cannot read the catalogue {place}"))?;
            self.catalogues.insert(place.clone(), read);
        }
        Ok(&self.catalogues[&place])
    }

    fn read_catalogue(&self, place: &str) -> anyhow::Result<Catalogue> {
        // It has the same text for all machines, and may be there for one of them alone.
        let mut source = self.larder.open(&ImageLocation::parse(place)?)?;
        let images = OciImage::all(&mut *source)?;
        let image = images.first().context("the index is empty")?;
        let root = image.unpack(&mut *source, &mut TempFileStore::new()?, &|| {})?;
        let text = root.load(catalogue::FILE, LONGEST_CATALOGUE)?;
        let text = text.with_context(|| format!("there is no file {} in it", catalogue::FILE))?;
        Ok(Catalogue::read(&String::from_utf8_lossy(&text))?)
    }

    /// An extension, unpacked.
    fn load(&self, name: &str, place: &ImageLocation, arch: Arch) -> anyhow::Result<FileTree> {
        match place {
            ImageLocation::Folder(path) if !path.join(LAYOUT).is_file() => Ok(folder::read_tree(path)?),
            ImageLocation::File(path) => match archive(path)? {
                Archive::Extension(root) => Ok(root),
                Archive::Layout(mut unpacked) => unpack(&mut unpacked, arch),
            },
            place => unpack(&mut *self.larder.open(place)?, arch).with_context(|| place.read_error(name)),
        }
    }
}

/// Whether an extension has a service, or is called like it.
fn has(extension: &Extension, service: &str) -> bool {
    extension.metadata.name == service || extension.services.iter().any(|(name, _)| name == service)
}

fn unpack(source: &mut dyn BlobSource, arch: Arch) -> anyhow::Result<FileTree> {
    let image = OciImage::find(source, arch)?;
    let progress = Progress::count("reading extensions", image.layers());
    Ok(image.unpack(source, &mut TempFileStore::new()?, &|| progress.step())?)
}
