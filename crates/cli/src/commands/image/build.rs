//! `image build`: bootable media and installers, out of official parts and extensions.

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

/// Make media and installers with extensions inside, out of what Talos publishes
///
/// With a cluster file, these are the base images of its nodes, where `image.source` is ichor: one for all nodes that are alike, under the names
/// that `ichor build` wrote into images.json, installer references and machine definitions. With --talos or --platform it is one image by
/// itself. Neither Docker nor Talos' imager is needed.
///
/// Parts come from --base: files of a release or of an Image Factory (vmlinuz-amd64, initramfs-amd64.xz, metal-amd64-uki.efi, metal-amd64.iso,
/// metal-amd64.raw.zst), folders of them, their addresses, or images such as ghcr.io/siderolabs/imager:v1.13.9. Several complete each other, and
/// all must be of one release. Without --base it is the official ISO, from the Image Factory. Extensions are OCI layouts, archives, references,
/// unpacked folders, or official names such as siderolabs/gvisor, which are looked up in the catalogue of the release.
///
/// Everything is read and judged before the first byte is written: what is missing, what is of another release or for other machines, extensions that
/// are in each other's way. Files appear when all are whole. Same input, same bytes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 made, 1 extensions are in each other's way, 2 could not be done; then nothing was written.\n\n\
    Examples:\n  \
    ichor image build --extension frr.tar --push\n  \
    ichor image build sol/ichor.yaml --base ./v1.13.9 --extension frr.tar -o images\n  \
    ichor image build --talos v1.13.9 --platform nocloud --base metal-amd64.iso --extension frr.tar --product iso,qcow2\n  \
    ichor image build --talos v1.13.9 --base ghcr.io/siderolabs/imager:v1.13.9 --extension siderolabs/gvisor \\\n    \
    --product installer --push ghcr.io/me/installer:v1.13.9\n  \
    ichor image build --base ./v1.13.9 --meta 0xa=\"$(cat meta-10.yaml)\" --kernel-arg console=ttyS0 --dry-run"
)]
pub(crate) struct Args {
    /// Cluster file; ichor.yaml when neither this nor --talos nor --platform is given
    #[arg(value_name = "FILE", conflicts_with_all = ["talos", "platform", "arch", "kernel_arg", "meta", "embed", "name"])]
    pub(super) file: Option<PathBuf>,
    /// Talos release, which the parts must be of; theirs when left out
    #[arg(long, value_name = "VERSION", value_parser = known_release)]
    pub(super) talos: Option<TalosVersion>,
    /// What the machines are, such as metal, nocloud or gcp; metal when left out
    #[arg(long, value_name = "PLATFORM", value_parser = known_platform)]
    pub(super) platform: Option<String>,
    /// Architecture: amd64 or arm64; amd64 when left out
    #[arg(long, value_name = "ARCH", value_parser = arch)]
    pub(super) arch: Option<Arch>,
    /// Where parts of the release are: a file, a folder, a URL or an image; may be given more than once
    #[arg(long, value_name = "X")]
    pub(super) base: Vec<String>,
    /// Extension to put in: an OCI layout, an archive, a reference, a folder or an official name; may be given more than once
    #[arg(long, value_name = "Y")]
    pub(super) extension: Vec<String>,
    /// Kernel argument to add; -NAME takes one away; may be given more than once
    #[arg(long, value_name = "A", allow_hyphen_values = true)]
    pub(super) kernel_arg: Vec<String>,
    /// META value, such as 0xa=TEXT; may be given more than once
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) meta: Vec<String>,
    /// Configuration to put inside, from Talos 1.12 on
    #[arg(long, value_name = "CONFIG")]
    pub(super) embed: Option<PathBuf>,
    /// What to make: netboot, uki, iso, disk, qcow2, gcp, installer, layout; what the nodes need, or iso and installer, when left out
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = product)]
    product: Vec<Product>,
    /// What the files are called, without what they end in
    #[arg(long, value_name = "NAME", value_parser = file_name)]
    pub(super) name: Option<String>,
    /// Only the images of this node; may be given more than once
    #[arg(long, value_name = "NODE")]
    pub(super) only: Vec<String>,
    /// Folder that `ichor build` wrote to, for configurations that go into images
    #[arg(long, value_name = "DIR", default_value = "build")]
    pub(super) build: PathBuf,
    /// Folder to write to
    #[arg(short, long, value_name = "DIR", default_value = "images")]
    out: PathBuf,
    /// Send the installer to a registry, under this reference; with a cluster file it is known, and left out
    #[arg(long, value_name = "REF", num_args = 0..=1, default_missing_value = "")]
    pub(super) push: Option<String>,
    /// Image the installer is made of; ghcr.io/siderolabs/installer-base of the release when left out
    #[arg(long, value_name = "IMAGE")]
    installer_base: Option<String>,
    /// Catalogue of official extensions; ghcr.io/siderolabs/extensions of the release when left out
    #[arg(long, value_name = "IMAGE")]
    catalogue: Option<String>,
    #[command(flatten)]
    factory: FactoryUrl,
    /// Private key to sign with for secure boot, in PEM; needs sbsign
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Certificate of that key, in PEM, which the machines have enrolled
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// Folder to keep in what is fetched; the user's cache when left out
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Talk to registries over HTTP; one on this machine is talked to so anyway
    #[arg(long)]
    insecure: bool,
    /// Read and judge everything, say what would be made, and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: OutputFormat,
}

fn product(word: &str) -> Result<Product, ArgumentError> {
    let known = Product::ALL.into_iter().find(|product| product.word() == word);
    known.ok_or_else(|| ArgumentError::want_one_of(&Product::ALL.map(Product::word)))
}

fn file_name(word: &str) -> Result<String, ArgumentError> {
    if word.is_empty() || word.starts_with('.') || word.contains('/') {
        return Err(ArgumentError::want("the name of a file, such as metal-amd64; -o names the folder"));
    }
    Ok(word.to_owned())
}

impl Args {
    /// The machines of an image by itself.
    pub(super) fn arch(&self) -> Arch {
        self.arch.unwrap_or(Arch::Amd64)
    }

    /// Whether keys are there to sign with.
    pub(super) fn signs(&self) -> bool {
        self.key.is_some()
    }

    /// What to make where nothing else is said.
    pub(super) fn products(&self, usual: &[Product]) -> Vec<Product> {
        let mut products = if self.product.is_empty() { usual.to_vec() } else { self.product.clone() };
        products.sort_unstable();
        products.dedup();
        products
    }

    fn is_alone(&self) -> bool {
        self.file.is_none() && (self.talos.is_some() || self.platform.is_some())
    }
}

/// The platforms that images are made for.
const PLATFORMS: [&str; 3] = ["metal", "nocloud", "gcp"];

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    scratch::install_signal_handler();
    let cache = args.cache.clone().map_or_else(cache::user_cache, Ok)?;
    let larder = ArtifactCache { cache, insecure: args.insecure };
    let signer = args.signer()?;
    if !args.dry_run {
        StagedFiles::check(&args.out)?;
    }
    if signer.is_some() {
        style::say(&format!("{}note:{} {LIMITS}", style::NOTE, style::NOTE.render_reset()));
    }
    let (recipes, grounds) = if args.is_alone() {
        let heap = args.heap(&larder, args.arch(), args.talos.as_ref(), FACTORY)?;
        let talos = heap.release(args.talos.as_ref())?;
        let recipes = vec![recipe::alone(args, talos.clone())?];
        check(&recipes, args)?;
        let ground = ground(&heap, &talos, args.arch(), &recipes)?;
        (recipes, BTreeMap::from([(key(&talos, args.arch()), ground)]))
    } else {
        let file = args.cluster_file()?;
        let project = project::open(&file)?;
        let recipes = recipe::of_cluster(args, &project)?;
        if recipes.is_empty() {
            style::say("no node boots an image that ichor makes: `image.source` is something else");
            return Ok(ExitCode::SUCCESS);
        }
        check(&recipes, args)?;
        let grounds = grounds(args, &larder, &recipes, factory_of(&project))?;
        (recipes, grounds)
    };
    let source = ExtensionLoader::new(&larder, args.catalogue.as_deref());
    let sets = extensions(args, source, &recipes, &grounds)?;
    let bench = ImageBuilder {
        larder: &larder,
        installer_base: args.installer_base.as_deref(),
        signer: signer.as_ref(),
        created: created()?,
    };
    bench.check(&recipes)?;
    if args.dry_run {
        return tell_plan(args, &recipes, &sets, out);
    }
    make(args, &bench, &recipes, &grounds, &sets, out)
}

/// Which release and machines parts are of.
type ReleaseArch = (String, Arch);

fn key(talos: &TalosVersion, arch: Arch) -> ReleaseArch {
    (talos.to_string(), arch)
}

/// Refuses what cannot be made, before anything is fetched.
fn check(recipes: &[ImageRecipe], args: &Args) -> anyhow::Result<()> {
    for recipe in recipes {
        let (stem, platform) = (&recipe.stem, recipe.profile.platform.as_str());
        if !PLATFORMS.contains(&platform) {
            bail!(
                "{stem}: ichor makes images for {}; those for {platform} are made by the Image Factory and by Talos' imager",
                PLATFORMS.join(", ")
            );
        }
        if recipe.secure_boot && !args.signs() {
            bail!(
                "{stem} is for secure boot, and nobody but the owner of a key can sign it: give yours with --key and --certificate, or take \
                 signed images of the Image Factory, with official extensions alone (`image.source: factory`)"
            );
        }
        if recipe.products.contains(&Product::Gcp) && platform != "gcp" {
            bail!(
                "{stem}: --product gcp is for the platform gcp, and this is {platform}; give --platform gcp"
            );
        }
        for product in &recipe.products {
            product.files(stem).iter().try_for_each(|name| check_place(*product, &args.out.join(name)))?;
        }
        if recipe.profile.talos.patch().is_none() {
            bail!("{stem}: Talos {} names no patch release; want one such as {0}.0", recipe.profile.talos);
        }
    }
    let pushes = args.push.is_some();
    let has_installer = |recipe: &&ImageRecipe| recipe.products.iter().any(|product| product.is_installer());
    if pushes && !recipes.iter().any(|recipe| has_installer(&recipe)) {
        bail!("--push sends installers, and none is made; add --product installer, or layout");
    }
    if let Some(recipe) = recipes.iter().filter(has_installer).find(|it| pushes && it.installer.is_none()) {
        bail!(
            "where does the installer of {} go? name it after --push, or the registry in `image.registry`",
            recipe.stem
        );
    }
    if !args.is_alone() && args.push.as_ref().is_some_and(|reference| !reference.is_empty()) {
        bail!(
            "with a cluster file, `image.registry` says where installers go; leave out what is behind --push"
        );
    }
    Ok(())
}

/// Refuses what would have to take the place of something else.
fn check_place(product: Product, path: &Path) -> anyhow::Result<()> {
    if product == Product::Layout {
        return Ok(oci::check_folder(path)?);
    }
    if path.is_dir() {
        bail!("cannot write {}: there is a folder of that name", path.display());
    }
    Ok(())
}

/// The Image Factory that official parts come from.
fn factory_of(project: &project::Project) -> &str {
    let mut factories = project.plan.nodes.iter().map(|node| &node.boot.factory);
    factories.find(|factory| factory.is_written()).map_or(FACTORY, |factory| factory.value.as_str())
}

impl Args {
    /// The cluster file whose images are made.
    fn cluster_file(&self) -> anyhow::Result<PathBuf> {
        let usual = PathBuf::from("ichor.yaml");
        if self.file.is_none() && !usual.exists() {
            bail!(
                "there is no ichor.yaml here; name the cluster file whose images are wanted, or give --talos VERSION for an image by itself"
            );
        }
        Ok(self.file.clone().unwrap_or(usual))
    }

    fn signer(&self) -> anyhow::Result<Option<Signer>> {
        let (Some(key), Some(certificate)) = (&self.key, &self.certificate) else { return Ok(None) };
        Ok(Some(Signer::find(key, certificate)?))
    }

    /// What is found in --base, or the official ISO.
    fn heap(
        &self,
        larder: &ArtifactCache,
        arch: Arch,
        talos: Option<&TalosVersion>,
        factory: &str,
    ) -> anyhow::Result<AssetCollector> {
        if !self.base.is_empty() {
            return Ok(larder.gather(&self.base, arch)?);
        }
        let talos = talos.context(
            "which Talos? want --talos VERSION, such as --talos v1.13.9, or --base with its parts",
        )?;
        let factory = self.factory.or(factory);
        larder
            .official(&factory, talos, arch)
            .context("nothing is given with --base, and the official ISO cannot be had")
    }
}

/// The parts for every release and architecture.
fn grounds(
    args: &Args,
    larder: &ArtifactCache,
    recipes: &[ImageRecipe],
    factory: &str,
) -> anyhow::Result<BTreeMap<ReleaseArch, BaseRelease>> {
    let mut grounds = BTreeMap::new();
    for recipe in recipes {
        let (talos, arch) = (&recipe.profile.talos, recipe.profile.arch);
        if grounds.contains_key(&key(talos, arch)) {
            continue;
        }
        let heap = args.heap(larder, arch, Some(talos), factory)?;
        heap.release(Some(talos))?;
        let mine: Vec<_> =
            recipes.iter().filter(|it| key(&it.profile.talos, it.profile.arch) == key(talos, arch)).collect();
        grounds.insert(key(talos, arch), ground(&heap, talos, arch, mine)?);
    }
    Ok(grounds)
}

/// The parts, if there are all that the products need.
fn ground<'r>(
    heap: &AssetCollector,
    talos: &TalosVersion,
    arch: Arch,
    recipes: impl IntoIterator<Item = &'r ImageRecipe>,
) -> anyhow::Result<BaseRelease> {
    let mut missing: BTreeMap<AssetKind, Vec<&str>> = BTreeMap::new();
    for product in recipes.into_iter().flat_map(|recipe| &recipe.products) {
        for part in heap.missing(*product) {
            let products = missing.entry(part).or_default();
            if !products.contains(&product.word()) {
                products.push(product.word());
            }
        }
    }
    if !missing.is_empty() {
        let line = |(part, products): (&AssetKind, &Vec<&str>)| {
            format!(
                "{} is missing for {}; it is in {}",
                part.name(),
                products.join(", "),
                part.is_in(talos, arch)
            )
        };
        bail!("{}", missing.iter().map(line).collect::<Vec<_>>().join("\n       "));
    }
    let parts = heap.parts().context("there is neither a kernel nor an initramfs")?;
    Ok(BaseRelease::open(parts, talos, arch)?)
}

/// The extensions of every recipe, if none is in another's way.
fn extensions(
    args: &Args,
    mut source: ExtensionLoader<'_>,
    recipes: &[ImageRecipe],
    grounds: &BTreeMap<ReleaseArch, BaseRelease>,
) -> anyhow::Result<Vec<Vec<Extension>>> {
    let (mut used, mut sets, mut is_good) = (BTreeSet::new(), Vec::new(), true);
    for recipe in recipes {
        let profile = &recipe.profile;
        let mut set = if args.is_alone() {
            source.named(recipe)?
        } else {
            source.of_cluster(recipe, &args.extension, &mut used)?
        };
        if let Some(config) = &profile.embedded {
            set.push(Extension::embedded(config, &profile.talos)?);
        }
        let ground = &grounds[&key(&profile.talos, profile.arch)];
        for (conflict, is_fatal) in ground.conflicts(&set)? {
            let (colour, kind) = if is_fatal { (style::ERROR, "error") } else { (style::WARNING, "warning") };
            style::say(&format!("{colour}{kind}:{colour:#} {}: {conflict}", recipe.stem));
            is_good &= !is_fatal;
        }
        sets.push(set);
    }
    if let Some(unused) = args.extension.iter().find(|word| !args.is_alone() && !used.contains(*word)) {
        bail!("no node needs the extension {unused}; name it in `extensions` of those that do");
    }
    for (name, warning) in &source.warnings {
        let colour = style::WARNING;
        let said = &warning.issue.message;
        style::say(&format!("{colour}warning:{colour:#} {name}: {}: {said}", warning.file));
    }
    if !is_good {
        style::say("nothing was written");
        return Err(Refusal::Printed.into());
    }
    Ok(sets)
}

/// Says what would be made.
fn tell_plan(
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
        let image = |(recipe, set): (&ImageRecipe, &Vec<Extension>)| json!({"name": recipe.stem, "file_names": files(recipe), "extensions": names(set), "installer_image": recipe.installer, "nodes": recipe.nodes});
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

/// Makes everything, gives it its names, and sends installers.
fn make(
    args: &Args,
    bench: &ImageBuilder<'_>,
    recipes: &[ImageRecipe],
    grounds: &BTreeMap<ReleaseArch, BaseRelease>,
    sets: &[Vec<Extension>],
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let mut staged = StagedFiles::new(&args.out);
    let mut done = Vec::new();
    for (recipe, set) in recipes.iter().zip(sets) {
        let ground = &grounds[&key(&recipe.profile.talos, recipe.profile.arch)];
        let initramfs = ground.add_extensions(set)?;
        let parts = BootAssets { initramfs: initramfs.content.clone(), ..ground.parts.clone() };
        let made = bench.make(recipe, &parts, &mut staged)?;
        done.push((recipe, initramfs, made));
    }
    scratch::run_uninterrupted(|| staged.commit())?;
    let mut answers = Vec::new();
    for (recipe, initramfs, made) in &mut done {
        let pushed = match (&args.push, &recipe.installer) {
            (Some(_), Some(reference)) => push(args, reference, made)?,
            _ => None,
        };
        answers.push(ImageReport { recipe, initramfs, made, pushed });
    }
    answers.iter().for_each(ImageReport::warn);
    if args.format.json {
        let images: Vec<_> = answers.iter().map(|answer| answer.json(&args.out)).collect();
        writeln!(out, "{:#}", json!({"images": images}))?;
    } else {
        report::print(out, &answers)?;
        style::say(&format!("{}: everything is there", args.out.display()));
        for pushed in answers.iter().filter_map(|answer| answer.pushed.as_ref()) {
            style::say(&format!("sent {pushed}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Sends the installer among the products, and says where it is.
fn push(args: &Args, reference: &str, made: &mut [BuiltProduct]) -> anyhow::Result<Option<String>> {
    let Some(layout) = made.iter_mut().find_map(|made| made.layout.as_mut()) else { return Ok(None) };
    let reference = Reference::parse(reference)?;
    let shipment = ImageUpload::collect(layout)?;
    let mut registry = Registry::new(reference.clone(), args.insecure);
    let _progress = Progress::start("sending the installer");
    let pushed = registry.push(&shipment, layout).with_context(|| format!("cannot push to {reference}"))?;
    Ok(Some(format!("{}/{}@{}", reference.host, reference.repository, pushed.digest)))
}
