//! Finds and loads the extensions of an image.

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

/// Size limit of a catalogue.
const MAX_CATALOGUE: u64 = 4 << 20;

/// Loads extensions, each once.
pub(super) struct ExtensionLoader<'s> {
    cache: &'s ArtifactCache,
    /// Image of a catalogue other than the official one.
    catalogue: Option<&'s str>,
    loaded: HashMap<(String, String, Arch), Extension>,
    catalogues: HashMap<String, Catalogue>,
    /// Mistakes that Talos silently ignores.
    pub(super) warnings: Vec<(String, Remark)>,
}

impl<'s> ExtensionLoader<'s> {
    pub(super) fn new(cache: &'s ArtifactCache, catalogue: Option<&'s str>) -> Self {
        Self { cache, catalogue, loaded: HashMap::new(), catalogues: HashMap::new(), warnings: Vec::new() }
    }

    /// Loads the extensions of a single image, in the given order.
    pub(super) fn load_all(&mut self, recipe: &ImageRecipe) -> anyhow::Result<Vec<Extension>> {
        recipe.extensions.iter().map(|name| self.find(name, recipe)).collect()
    }

    /// Loads the extensions of a cluster's image. An extension in `given` replaces an official one of the same name, and
    /// is the routing extension if it has that service; used ones are added to `used`.
    pub(super) fn load_for_cluster(
        &mut self,
        recipe: &ImageRecipe,
        given: &[String],
        used: &mut BTreeSet<String>,
    ) -> anyhow::Result<Vec<Extension>> {
        let mut loaded = Vec::new();
        for argument in given {
            loaded.push((argument, self.find(argument, recipe)?));
        }
        let mut extensions = Vec::new();
        for name in &recipe.extensions {
            let short = name.strip_prefix("siderolabs/").unwrap_or(name);
            match loaded
                .iter()
                .find(|(argument, extension)| *argument == name || extension.metadata.name == short)
            {
                Some((argument, extension)) => {
                    used.insert((*argument).clone());
                    extensions.push(extension.clone());
                }
                None => extensions.push(self.find(name, recipe)?),
            }
        }
        if let Some(service) =
            recipe.routing.as_deref().filter(|service| !extensions.iter().any(|it| has_service(it, service)))
        {
            match loaded.iter().find(|(_, extension)| has_service(extension, service)) {
                Some((argument, extension)) => {
                    used.insert((*argument).clone());
                    extensions.push(extension.clone());
                }
                None => extensions.push(self.load_routing(service, recipe)?),
            }
        }
        Ok(extensions)
    }

    /// Loads the routing extension from the registry of the cluster.
    fn load_routing(&mut self, service: &str, recipe: &ImageRecipe) -> anyhow::Result<Extension> {
        let hint = || {
            format!(
                "{}: missing routing extension `{service}`; build it with `ichor extension build` and pass it with --extension",
                recipe.stem
            )
        };
        let registry = recipe.registry.as_deref().with_context(hint)?;
        self.find(&format!("{registry}/{service}:latest"), recipe).with_context(hint)
    }

    /// Loads an extension by its name or location, and validates it for the release of the image.
    fn find(&mut self, name: &str, recipe: &ImageRecipe) -> anyhow::Result<Extension> {
        let (talos, arch) = (&recipe.profile.talos, recipe.profile.arch);
        let key = (name.to_owned(), talos.to_string(), arch);
        if let Some(known) = self.loaded.get(&key) {
            return Ok(known.clone());
        }
        let failed = || format!("cannot use the extension {name}");
        let root = if catalogue::is_official(name) {
            let place = self.locate_official(name, talos)?;
            self.load(name, &place, arch).with_context(failed)?
        } else {
            self.load(name, &ImageLocation::parse(name).with_context(failed)?, arch).with_context(failed)?
        };
        let (extension, warnings) = Extension::from_tree(root, talos).with_context(failed)?;
        self.warnings.extend(warnings.into_iter().map(|warning| (name.to_owned(), warning)));
        self.loaded.insert(key, extension.clone());
        Ok(extension)
    }

    /// Location of an official extension.
    fn locate_official(&mut self, name: &str, talos: &TalosVersion) -> anyhow::Result<ImageLocation> {
        let catalogue = self.catalogue_of(talos).with_context(|| {
            format!("cannot resolve the official extension {name} without the catalogue of {talos}; pass its image with --extension, or set --catalogue")
        })?;
        match catalogue.find(name) {
            Some(reference) => Ok(ImageLocation::Registry(reference.clone())),
            None => bail!(
                "Talos {talos} has no official extension {name}; want one of {}",
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
        // The catalogue is the same for all architectures, and its image may exist for only one of them.
        let mut source = self.cache.open_file(&ImageLocation::parse(place)?)?;
        let images = OciImage::all(&mut *source)?;
        let image = images.first().context("the index is empty")?;
        let root = image.unpack(&mut *source, &mut TempFileStore::new()?, &|| {})?;
        let text = root.load(catalogue::FILE, MAX_CATALOGUE)?;
        let text = text.with_context(|| format!("missing file {}", catalogue::FILE))?;
        Ok(Catalogue::read(&String::from_utf8_lossy(&text))?)
    }

    /// Unpacks an extension.
    fn load(&self, name: &str, place: &ImageLocation, arch: Arch) -> anyhow::Result<FileTree> {
        match place {
            ImageLocation::Folder(path) if !path.join(LAYOUT).is_file() => Ok(folder::read_tree(path)?),
            ImageLocation::File(path) => match archive(path)? {
                Archive::Extension(root) => Ok(root),
                Archive::Layout(mut unpacked) => unpack(&mut unpacked, arch),
            },
            place => unpack(&mut *self.cache.open_file(place)?, arch).with_context(|| place.read_error(name)),
        }
    }
}

/// Whether an extension has a service, or its name.
fn has_service(extension: &Extension, service: &str) -> bool {
    extension.metadata.name == service || extension.services.iter().any(|(name, _)| name == service)
}

fn unpack(source: &mut dyn BlobSource, arch: Arch) -> anyhow::Result<FileTree> {
    let image = OciImage::find(source, arch)?;
    let progress = Progress::count("reading extensions", image.layers());
    Ok(image.unpack(source, &mut TempFileStore::new()?, &|| progress.step())?)
}
