//! What is to be made: an image by itself, or those of a cluster.

use std::path::Path;

use anyhow::{Context as _, bail};
use ichor_core::plan::NodePlan;
use ichor_core::render::base::{RequiredImage, bases};
use ichor_core::render::schematic::line;
use ichor_image::build::{Product, Profile};
use ichor_image::media::Content;
use ichor_talos::meta;
use ichor_talos::release;
use ichor_values::TalosVersion;

use super::build::Args;
use crate::project::Project;

/// The longest configuration that is put into an image.
const LONGEST: u64 = 16 << 20;

/// An image that is to be made.
pub(super) struct ImageRecipe {
    /// What its files are called, without what they end in.
    pub stem: String,
    pub profile: Profile,
    /// Extensions by their names or places, in their order.
    pub extensions: Vec<String>,
    /// The service of the routing extension, where one is needed that is not among the others.
    pub routing: Option<String>,
    /// Where that extension is, and where the installer goes.
    pub registry: Option<String>,
    pub products: Vec<Product>,
    /// What the installer is called.
    pub installer: Option<String>,
    /// Whether it is booted by what boots nothing that is not signed.
    pub secure_boot: bool,
    /// Who boots it.
    pub nodes: Vec<String>,
}

impl ImageRecipe {
    /// Whether a configuration is inside, which others should not read.
    pub(super) fn is_private(&self) -> bool {
        self.profile.embedded.is_some()
    }
}

/// The image that the arguments alone describe, of a release.
pub(super) fn alone(args: &Args, talos: TalosVersion) -> anyhow::Result<ImageRecipe> {
    let platform = args.platform.clone().unwrap_or_else(|| "metal".to_owned());
    let values = (1..).zip(&args.meta).map(|(nth, text)| meta::Value::parse(text, nth));
    let values: Vec<_> = values.collect::<Result<_, _>>().context("cannot use --meta")?;
    if let Some(key) = meta::repeated(&values).first() {
        bail!("--meta names key {key} twice");
    }
    let embedded = args.embed.as_deref().map(read).transpose()?;
    if embedded.is_some() && !release::at_least(&talos, 12) {
        bail!("--embed: an image carries a configuration from Talos 1.12 on, and this one is {talos}");
    }
    let secure_boot = args.signs();
    let line = line(&talos, &platform, args.arch(), secure_boot, &[], &args.kernel_arg);
    let stem = match &args.name {
        Some(name) => name.clone(),
        None => format!("talos-{talos}-{platform}-{}", args.arch()),
    };
    Ok(ImageRecipe {
        stem,
        profile: Profile { talos, arch: args.arch(), platform, line, meta: values, embedded },
        extensions: args.extension.clone(),
        routing: None,
        registry: None,
        products: args.products(&[Product::Iso, Product::Installer]),
        installer: args.push.clone().filter(|reference| !reference.is_empty()),
        secure_boot,
        nodes: Vec::new(),
    })
}

/// The images of a cluster's nodes.
pub(super) fn of_cluster(args: &Args, project: &Project) -> anyhow::Result<Vec<ImageRecipe>> {
    let wanted = bases(&project.plan)
        .map_err(|(node, error)| anyhow::Error::from(error).context(node.name.to_string()))?;
    let is_chosen = |wanted: &&RequiredImage| {
        args.only.is_empty() || wanted.nodes.iter().any(|node| args.only.contains(node))
    };
    if let Some(unknown) =
        args.only.iter().find(|name| !project.plan.nodes.iter().any(|node| is_called(node, name)))
    {
        bail!("there is no node `{unknown}`; `ichor show nodes` lists them");
    }
    let build = args.build.join(project.plan.cluster.name.as_str());
    wanted.iter().filter(is_chosen).map(|wanted| of_base(args, wanted, &build)).collect()
}

fn is_called(node: &NodePlan, name: &str) -> bool {
    node.name.as_str() == name
}

fn of_base(args: &Args, wanted: &RequiredImage, build: &Path) -> anyhow::Result<ImageRecipe> {
    let RequiredImage { base, nodes, products } = wanted;
    let name = base.stem();
    let schematic = &base.schematic;
    if !schematic.overlay.name.is_empty() {
        bail!(
            "{name}: ichor does not put the overlay `{}` of a board into images; Talos' imager does, with --overlay-image",
            schematic.overlay.name
        );
    }
    if !schematic.bootloader.is_empty() || schematic.sector_size != 0 {
        bail!(
            "{name}: `image.schematic` asks for a boot loader or sectors of its own, which the Image Factory and Talos' imager make"
        );
    }
    let embedded = match &base.embeds {
        None => None,
        Some(node) => {
            let path = build.join("nodes").join(node).join("boot.yaml");
            let hint = || {
                format!(
                    "{node} starts with a configuration inside of its image; `ichor build` writes it, and --build names its folder"
                )
            };
            Some(read(&path).with_context(hint)?)
        }
    };
    Ok(ImageRecipe {
        stem: name,
        profile: Profile {
            talos: base.talos.clone(),
            arch: base.arch,
            platform: base.platform.word().to_owned(),
            line: base.command_line(),
            meta: base.meta(),
            embedded,
        },
        extensions: schematic.extensions.clone(),
        routing: base.routing.clone(),
        registry: base.registry.clone(),
        products: args.products(products),
        installer: base.installer(),
        secure_boot: base.secure_boot,
        nodes: nodes.clone(),
    })
}

/// A configuration.
fn read(path: &Path) -> anyhow::Result<Content> {
    Ok(crate::oci::read(path, LONGEST)?.into())
}
