//! `image build`: build boot media and installers from official assets and extensions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use ichor_image::build::extension::Extension;
use ichor_image::build::{AssetCollector, AssetKind, BootAssets, Product};
use ichor_image::oci::{ImageUpload, Reference};
use ichor_talos::asset::FACTORY;
use ichor_values::Arch;
use ichor_values::TalosVersion;
use serde_json::json;

use super::extensions::ExtensionLoader;
use super::product::{BuiltProduct, ImageBuilder};
use super::recipe::{self, ImageRecipe};
use super::report::{self, ImageReport};
use crate::argument::{ArgumentError, OutputFormat};
use crate::commands::extension::{arch, created};
use crate::commands::schematic::{FactoryUrl, known_platform};
use crate::commands::talos::known_release;
use crate::image::{ArtifactCache, BaseRelease, LIMITS, Signer, StagedFiles, scratch};
use crate::oci::{self, Registry};
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::{cache, project, style, table};

/// Build the images of a cluster's nodes, or a single image
///
/// With a cluster file, the command builds the base images of all nodes whose `image.source` is ichor. Nodes that are alike share an
/// image. Its name is the one that `ichor build` writes into images.json, installer references and VM definitions. With --talos or
/// --platform, the command builds a single image and reads no cluster file. Neither Docker nor Talos' imager is needed.
///
/// --base names parts of the release: files of a release or of an Image Factory (vmlinuz-amd64, initramfs-amd64.xz,
/// metal-amd64-uki.efi, metal-amd64.iso, metal-amd64.raw.zst), folders of such files, their URLs, or images such as
/// ghcr.io/siderolabs/imager:v1.13.9. Each fills in what the others lack, and all must be of the same release. An extension is an OCI
/// layout, an archive, a reference, an unpacked folder, or an official name such as siderolabs/gvisor, which is resolved in the
/// catalogue of the release.
///
/// Everything is read and validated before the first byte is written. Missing parts, parts of another release or architecture, and
/// extensions that conflict are refused. Files get their names when all of them are complete. The same input gives the same bytes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 built, 1 extensions conflict, 2 the build failed. With 1 and 2\nnothing was written.\n\n\
    Examples:\n  \
    ichor image build --extension frr.tar --push\n  \
    ichor image build sol/ichor.yaml --base ./v1.13.9 --extension frr.tar -o images\n  \
    ichor image build --talos v1.13.9 --platform nocloud --base metal-amd64.iso --extension frr.tar --product iso,qcow2\n  \
    ichor image build --talos v1.13.9 --base ghcr.io/siderolabs/imager:v1.13.9 --extension siderolabs/gvisor \\\n    \
    --product installer --push ghcr.io/me/installer:v1.13.9\n  \
    ichor image build --base ./v1.13.9 --meta 0xa=\"$(cat meta-10.yaml)\" --kernel-arg console=ttyS0 --dry-run"
)]
pub(crate) struct Args {
    /// Cluster file [default: ichor.yaml, without --talos and --platform]
    #[arg(value_name = "FILE", conflicts_with_all = ["talos", "platform", "arch", "kernel_arg", "meta", "embed", "name"])]
    pub(super) file: Option<PathBuf>,
    /// Talos release that all parts must have [default: that of the parts]
    #[arg(long, value_name = "VERSION", value_parser = known_release)]
    pub(super) talos: Option<TalosVersion>,
    /// Talos platform: metal, nocloud or gcp [default: metal]
    #[arg(long, value_name = "PLATFORM", value_parser = known_platform)]
    pub(super) platform: Option<String>,
    /// CPU architecture: amd64 or arm64 [default: amd64]
    #[arg(long, value_name = "ARCH", value_parser = arch)]
    pub(super) arch: Option<Arch>,
    /// Parts of the release: a file, folder, URL or image (repeatable)
    ///
    /// [default: the ISO of the Image Factory]
    #[arg(long, value_name = "SOURCE")]
    pub(super) base: Vec<String>,
    /// Extension to include: a path, reference or official name (repeatable)
    #[arg(long, value_name = "EXTENSION")]
    pub(super) extension: Vec<String>,
    /// Kernel argument to add, or -NAME to remove one (repeatable)
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub(super) kernel_arg: Vec<String>,
    /// META value, such as 0xa=TEXT (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) meta: Vec<String>,
    /// Machine configuration to embed, from Talos 1.12 on
    #[arg(long, value_name = "FILE")]
    pub(super) embed: Option<PathBuf>,
    /// Comma-separated products to build
    ///
    /// Products are netboot, uki, iso, disk, qcow2, gcp, installer and layout.
    ///
    /// [default: what the nodes need, or iso,installer for a single image]
    #[arg(long, value_name = "PRODUCT", value_delimiter = ',', value_parser = product)]
    product: Vec<Product>,
    /// Name of the files, without suffix
    #[arg(long, value_name = "NAME", value_parser = file_name)]
    pub(super) name: Option<String>,
    /// Build only the images of this node (repeatable)
    #[arg(long, value_name = "NODE")]
    pub(super) only: Vec<String>,
    /// Folder of `ichor build`, for configurations to embed
    #[arg(long, value_name = "DIR", default_value = "build")]
    pub(super) build: PathBuf,
    /// Folder to write to
    #[arg(short, long, value_name = "DIR", default_value = "images")]
    out: PathBuf,
    /// Push the installer to a registry
    ///
    /// A single image needs REFERENCE. With a cluster file, the references come from `image.registry`.
    #[arg(long, value_name = "REFERENCE", num_args = 0..=1, default_missing_value = "")]
    pub(super) push: Option<String>,
    /// Base image of the installer
    ///
    /// [default: ghcr.io/siderolabs/installer-base of the release]
    #[arg(long, value_name = "IMAGE")]
    installer_base: Option<String>,
    /// Catalogue of official extensions
    ///
    /// [default: ghcr.io/siderolabs/extensions of the release]
    #[arg(long, value_name = "IMAGE")]
    catalogue: Option<String>,
    #[command(flatten)]
    factory: FactoryUrl,
    /// Secure Boot key in PEM to sign images with; needs sbsign
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Secure Boot certificate in PEM that the machines have enrolled
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// Cache folder for downloads [default: the user's cache]
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Use HTTP instead of HTTPS; a registry on localhost always uses HTTP
    #[arg(long)]
    insecure: bool,
    /// Validate everything and print what would be built, write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: OutputFormat,
}

fn product(value: &str) -> Result<Product, ArgumentError> {
    let known = Product::ALL.into_iter().find(|product| product.word() == value);
    known.ok_or_else(|| ArgumentError::want_one_of(&Product::ALL.map(Product::word)))
}

fn file_name(value: &str) -> Result<String, ArgumentError> {
    if value.is_empty() || value.starts_with('.') || value.contains('/') {
        return Err(ArgumentError::want("a file name such as metal-amd64; set the folder with -o"));
    }
    Ok(value.to_owned())
}

impl Args {
    /// Architecture of a single image.
    pub(super) fn arch(&self) -> Arch {
        self.arch.unwrap_or(Arch::Amd64)
    }

    /// Whether images are signed.
    pub(super) fn signs(&self) -> bool {
        self.key.is_some()
    }

    /// The selected products, or `default`.
    pub(super) fn products(&self, default: &[Product]) -> Vec<Product> {
        let mut products = if self.product.is_empty() { default.to_vec() } else { self.product.clone() };
        products.sort_unstable();
        products.dedup();
        products
    }

    fn is_single_image(&self) -> bool {
        self.file.is_none() && (self.talos.is_some() || self.platform.is_some())
    }
}

/// Supported platforms.
const PLATFORMS: [&str; 3] = ["metal", "nocloud", "gcp"];

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    scratch::install_signal_handler();
    let folder = args.cache.clone().map_or_else(cache::user_cache, Ok)?;
    let artifacts = ArtifactCache { cache: folder, insecure: args.insecure };
    let signer = args.signer()?;
    if !args.dry_run {
        StagedFiles::check(&args.out)?;
    }
    if signer.is_some() {
        style::say(&format!("{}note:{} {LIMITS}", style::NOTE, style::NOTE.render_reset()));
    }
    let (recipes, releases) = if args.is_single_image() {
        let assets = args.collect_assets(&artifacts, args.arch(), args.talos.as_ref(), FACTORY)?;
        let talos = assets.release(args.talos.as_ref())?;
        let recipes = vec![recipe::single_image(args, talos.clone())?];
        check(&recipes, args)?;
        let release = open_release(&assets, &talos, args.arch(), &recipes)?;
        (recipes, BTreeMap::from([(key(&talos, args.arch()), release)]))
    } else {
        let file = args.cluster_file()?;
        let project = project::open(&file)?;
        let recipes = recipe::cluster_images(args, &project)?;
        if recipes.is_empty() {
            style::say("no images to build: no node has `image.source: ichor`");
            return Ok(ExitCode::SUCCESS);
        }
        check(&recipes, args)?;
        let releases = open_releases(args, &artifacts, &recipes, factory_of(&project))?;
        (recipes, releases)
    };
    let loader = ExtensionLoader::new(&artifacts, args.catalogue.as_deref());
    let sets = load_extensions(args, loader, &recipes, &releases)?;
    let builder = ImageBuilder {
        cache: &artifacts,
        installer_base: args.installer_base.as_deref(),
        signer: signer.as_ref(),
        created: created()?,
    };
    builder.check(&recipes)?;
    if args.dry_run {
        return print_plan(args, &recipes, &sets, out);
    }
    build_images(args, &builder, &recipes, &releases, &sets, out)
}

/// Release and architecture of boot assets.
type ReleaseArch = (String, Arch);

fn key(talos: &TalosVersion, arch: Arch) -> ReleaseArch {
    (talos.to_string(), arch)
}

/// Rejects recipes that cannot be built, before anything is downloaded.
fn check(recipes: &[ImageRecipe], args: &Args) -> anyhow::Result<()> {
    for recipe in recipes {
        let (stem, platform) = (&recipe.stem, recipe.profile.platform.as_str());
        if !PLATFORMS.contains(&platform) {
            bail!(
                "{stem}: ichor builds images only for {}; for {platform} use the Image Factory or Talos' imager",
                PLATFORMS.join(", ")
            );
        }
        if recipe.secure_boot && !args.signs() {
            bail!(
                "{stem} needs a signature for Secure Boot; set your key with --key and --certificate, or use signed \
                 images of the Image Factory with official extensions only (`image.source: factory`)"
            );
        }
        if recipe.products.contains(&Product::Gcp) && platform != "gcp" {
            bail!("{stem}: --product gcp requires the platform gcp, not {platform}; set --platform gcp");
        }
        for product in &recipe.products {
            product
                .files(stem)
                .iter()
                .try_for_each(|name| check_output_path(*product, &args.out.join(name)))?;
        }
        if recipe.profile.talos.patch().is_none() {
            bail!("{stem}: Talos {} is not a complete version; want one such as {0}.0", recipe.profile.talos);
        }
    }
    let pushes = args.push.is_some();
    let has_installer = |recipe: &&ImageRecipe| recipe.products.iter().any(|product| product.is_installer());
    if pushes && !recipes.iter().any(|recipe| has_installer(&recipe)) {
        bail!("--push needs an installer; add --product installer or --product layout");
    }
    if let Some(recipe) = recipes.iter().filter(has_installer).find(|it| pushes && it.installer.is_none()) {
        bail!(
            "no reference for the installer of {}; set it after --push, or set `image.registry`",
            recipe.stem
        );
    }
    if !args.is_single_image() && args.push.as_ref().is_some_and(|reference| !reference.is_empty()) {
        bail!(
            "with a cluster file, installers are pushed to `image.registry`; remove the reference after --push"
        );
    }
    Ok(())
}

/// Refuses to replace a folder or an unrelated file.
fn check_output_path(product: Product, path: &Path) -> anyhow::Result<()> {
    if product == Product::Layout {
        return Ok(oci::check_folder(path)?);
    }
    if path.is_dir() {
        bail!("cannot write {}: it is a folder", path.display());
    }
    Ok(())
}

/// The Image Factory for official assets.
fn factory_of(project: &project::Project) -> &str {
    let mut factories = project.plan.nodes.iter().map(|node| &node.boot.factory);
    factories.find(|factory| factory.is_written()).map_or(FACTORY, |factory| factory.value.as_str())
}

impl Args {
    /// Path of the cluster file.
    fn cluster_file(&self) -> anyhow::Result<PathBuf> {
        let default = PathBuf::from("ichor.yaml");
        if self.file.is_none() && !default.exists() {
            bail!("no ichor.yaml in this folder; pass a cluster file, or --talos VERSION for a single image");
        }
        Ok(self.file.clone().unwrap_or(default))
    }

    fn signer(&self) -> anyhow::Result<Option<Signer>> {
        let (Some(key), Some(certificate)) = (&self.key, &self.certificate) else { return Ok(None) };
        Ok(Some(Signer::find(key, certificate)?))
    }

    /// Collects the assets of --base, or of the official ISO.
    fn collect_assets(
        &self,
        cache: &ArtifactCache,
        arch: Arch,
        talos: Option<&TalosVersion>,
        factory: &str,
    ) -> anyhow::Result<AssetCollector> {
        if !self.base.is_empty() {
            return Ok(cache.gather(&self.base, arch)?);
        }
        let talos = talos.context(
            "unknown Talos release; pass --talos VERSION, such as --talos v1.13.9, or --base with its files",
        )?;
        let factory = self.factory.or(factory);
        cache
            .official(&factory, talos, arch)
            .context("cannot download the official ISO, and --base is not set")
    }
}

/// Opens the boot assets for every release and architecture.
fn open_releases(
    args: &Args,
    cache: &ArtifactCache,
    recipes: &[ImageRecipe],
    factory: &str,
) -> anyhow::Result<BTreeMap<ReleaseArch, BaseRelease>> {
    let mut releases = BTreeMap::new();
    for recipe in recipes {
        let (talos, arch) = (&recipe.profile.talos, recipe.profile.arch);
        if releases.contains_key(&key(talos, arch)) {
            continue;
        }
        let assets = args.collect_assets(cache, arch, Some(talos), factory)?;
        assets.release(Some(talos))?;
        let matching: Vec<_> =
            recipes.iter().filter(|it| key(&it.profile.talos, it.profile.arch) == key(talos, arch)).collect();
        releases.insert(key(talos, arch), open_release(&assets, talos, arch, matching)?);
    }
    Ok(releases)
}

/// Opens the boot assets; fails unless all assets that the products need are present.
fn open_release<'r>(
    assets: &AssetCollector,
    talos: &TalosVersion,
    arch: Arch,
    recipes: impl IntoIterator<Item = &'r ImageRecipe>,
) -> anyhow::Result<BaseRelease> {
    let mut missing: BTreeMap<AssetKind, Vec<&str>> = BTreeMap::new();
    for product in recipes.into_iter().flat_map(|recipe| &recipe.products) {
        for part in assets.missing(*product) {
            let products = missing.entry(part).or_default();
            if !products.contains(&product.word()) {
                products.push(product.word());
            }
        }
    }
    if !missing.is_empty() {
        let line = |(part, products): (&AssetKind, &Vec<&str>)| {
            format!(
                "missing {} for {}; it is part of {}",
                part.name(),
                products.join(", "),
                part.is_in(talos, arch)
            )
        };
        bail!("{}", missing.iter().map(line).collect::<Vec<_>>().join("\n       "));
    }
    let parts = assets.parts().context("missing kernel and initramfs")?;
    Ok(BaseRelease::open(parts, talos, arch)?)
}

/// Loads the extensions of every recipe; fails if any of them conflict.
fn load_extensions(
    args: &Args,
    mut loader: ExtensionLoader<'_>,
    recipes: &[ImageRecipe],
    releases: &BTreeMap<ReleaseArch, BaseRelease>,
) -> anyhow::Result<Vec<Vec<Extension>>> {
    let (mut used, mut sets, mut is_good) = (BTreeSet::new(), Vec::new(), true);
    for recipe in recipes {
        let profile = &recipe.profile;
        let mut set = if args.is_single_image() {
            loader.load_all(recipe)?
        } else {
            loader.load_for_cluster(recipe, &args.extension, &mut used)?
        };
        if let Some(config) = &profile.embedded {
            set.push(Extension::embedded(config, &profile.talos)?);
        }
        let release = &releases[&key(&profile.talos, profile.arch)];
        for (conflict, is_fatal) in release.conflicts(&set)? {
            let (colour, kind) = if is_fatal { (style::ERROR, "error") } else { (style::WARNING, "warning") };
            style::say(&format!("{colour}{kind}:{colour:#} {}: {conflict}", recipe.stem));
            is_good &= !is_fatal;
        }
        sets.push(set);
    }
    if let Some(unused) = args.extension.iter().find(|name| !args.is_single_image() && !used.contains(*name))
    {
        bail!("no node uses the extension {unused}; add it to `extensions` of the nodes");
    }
    for (name, warning) in &loader.warnings {
        let colour = style::WARNING;
        let message = &warning.issue.message;
        style::say(&format!("{colour}warning:{colour:#} {name}: {}: {message}", warning.file));
    }
    if !is_good {
        style::say("nothing was written");
        return Err(Refusal::Printed.into());
    }
    Ok(sets)
}

/// Prints which images would be built.
fn print_plan(
    args: &Args,
    recipes: &[ImageRecipe],
    sets: &[Vec<Extension>],
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let names = |set: &[Extension]| -> Vec<String> {
        set.iter().map(|it| format!("{} {}", it.metadata.name, it.metadata.version)).collect()
    };
    let files = |recipe: &ImageRecipe| -> Vec<String> {
        recipe.products.iter().flat_map(|product| product.files(&recipe.stem)).collect()
    };
    if args.format.json {
        let extension = |it: &Extension| json!({"name": it.metadata.name, "version": it.metadata.version});
        let image = |(recipe, set): (&ImageRecipe, &Vec<Extension>)| {
            json!({
                "name": recipe.stem,
                "file_names": files(recipe),
                "extensions": set.iter().map(extension).collect::<Vec<_>>(),
                "installer_image": recipe.installer,
                "nodes": recipe.nodes,
            })
        };
        writeln!(out, "{:#}", json!({"images": recipes.iter().zip(sets).map(image).collect::<Vec<_>>()}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |(recipe, set): (&ImageRecipe, &Vec<Extension>)| {
        vec![
            files(recipe).join("\n"),
            names(set).join("\n"),
            recipe.profile.line.to_string(),
            table::names(recipe.nodes.iter().map(String::as_str)),
        ]
    };
    let rows: Vec<_> = recipes.iter().zip(sets).map(row).collect();
    table::print(out, &["FILES", "EXTENSIONS", "COMMAND LINE", "NODES"], &rows)?;
    style::say("nothing was written");
    Ok(ExitCode::SUCCESS)
}

/// Builds all images, writes them together, and pushes installers.
fn build_images(
    args: &Args,
    builder: &ImageBuilder<'_>,
    recipes: &[ImageRecipe],
    releases: &BTreeMap<ReleaseArch, BaseRelease>,
    sets: &[Vec<Extension>],
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let mut staged = StagedFiles::new(&args.out);
    let mut done = Vec::new();
    for (recipe, set) in recipes.iter().zip(sets) {
        let release = &releases[&key(&recipe.profile.talos, recipe.profile.arch)];
        let initramfs = release.add_extensions(set)?;
        let parts = BootAssets { initramfs: initramfs.content.clone(), ..release.parts.clone() };
        let made = builder.build(recipe, &parts, &mut staged)?;
        done.push((recipe, initramfs, made));
    }
    scratch::run_uninterrupted(|| staged.commit())?;
    let mut reports = Vec::new();
    for (recipe, initramfs, made) in &mut done {
        let pushed = match (&args.push, &recipe.installer) {
            (Some(_), Some(reference)) => push_installer(args, reference, made)?,
            _ => None,
        };
        reports.push(ImageReport { recipe, initramfs, made, pushed });
    }
    reports.iter().for_each(ImageReport::warn);
    if args.format.json {
        let images: Vec<_> = reports.iter().map(|report| report.json(&args.out)).collect();
        writeln!(out, "{:#}", json!({"images": images}))?;
    } else {
        report::print(out, &reports)?;
        style::say(&format!("{}: all images are written", args.out.display()));
        for pushed in reports.iter().filter_map(|report| report.pushed.as_ref()) {
            style::say(&format!("pushed {pushed}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Pushes the installer among the products; returns its reference.
fn push_installer(args: &Args, reference: &str, made: &mut [BuiltProduct]) -> anyhow::Result<Option<String>> {
    let Some(layout) = made.iter_mut().find_map(|made| made.layout.as_mut()) else { return Ok(None) };
    let reference = Reference::parse(reference)?;
    let upload = ImageUpload::collect(layout)?;
    let mut registry = Registry::new(reference.clone(), args.insecure);
    let _progress = Progress::start("pushing the installer");
    let pushed = registry.push(&upload, layout).with_context(|| format!("cannot push to {reference}"))?;
    Ok(Some(format!("{}/{}@{}", reference.host, reference.repository, pushed.digest)))
}
