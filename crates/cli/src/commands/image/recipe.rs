//! The images to build: a single one, or those of a cluster.

use std::path::Path;

use anyhow::{Context as _, bail};
use ichor_core::render::base_image::{RequiredImage, required_images};
use ichor_core::render::schematic::image_command_line;
use ichor_image::build::{Product, Profile};
use ichor_image::media::Content;
use ichor_talos::kernel_args::Line;
use ichor_talos::meta;
use ichor_talos::release;
use ichor_values::TalosVersion;

use super::build::Args;
use crate::project::Project;

/// Size limit of an embedded configuration.
const MAX_CONFIG: u64 = 16 << 20;

/// An image to build.
pub(super) struct ImageRecipe {
    /// Name of the files, without suffix.
    pub stem: String,
    pub profile: Profile,
    /// Extensions by name or location, in order.
    pub extensions: Vec<String>,
    /// Service of the routing extension, if one is needed that is not in `extensions`.
    pub routing: Option<String>,
    /// Registry of the routing extension and the installer.
    pub registry: Option<String>,
    pub products: Vec<Product>,
    /// Reference of the installer.
    pub installer: Option<String>,
    /// Whether the machines enforce Secure Boot.
    pub secure_boot: bool,
    /// Nodes that boot the image.
    pub nodes: Vec<String>,
}

impl ImageRecipe {
    /// Whether the image embeds a configuration, and must not be world-readable.
    pub(super) fn is_private(&self) -> bool {
        self.profile.embedded.is_some()
    }
}

/// The single image described by the arguments.
pub(super) fn single_image(args: &Args, talos: TalosVersion) -> anyhow::Result<ImageRecipe> {
    let platform = args.platform.clone().unwrap_or_else(|| "metal".to_owned());
    let values = (1..).zip(&args.meta).map(|(nth, text)| meta::Value::parse(text, nth));
    let values: Vec<_> = values.collect::<Result<_, _>>().context("cannot use --meta")?;
    if let Some(key) = meta::repeated_keys(&values).first() {
        bail!("--meta repeats the key {key}");
    }
    let embedded = args.embed.as_deref().map(read).transpose()?;
    if embedded.is_some() && !release::at_least(&talos, 12) {
        bail!("--embed requires Talos 1.12 or later, but the release is {talos}");
    }
    let secure_boot = args.signs();
    let line = image_command_line(&talos, &platform, args.arch(), secure_boot, &[], &args.kernel_arg);
    require_arguments(&line)?;
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
pub(super) fn cluster_images(args: &Args, project: &Project) -> anyhow::Result<Vec<ImageRecipe>> {
    let wanted = required_images(&project.plan)
        .map_err(|(node, error)| anyhow::Error::from(error).context(node.name.to_string()))?;
    let is_selected = |wanted: &&RequiredImage| {
        args.only.is_empty() || wanted.nodes.iter().any(|node| args.only.contains(node))
    };
    if let Some(unknown) = args
        .only
        .iter()
        .find(|name| !project.plan.nodes.iter().any(|node| node.name.as_str() == name.as_str()))
    {
        bail!("unknown node `{unknown}`; `ichor show nodes` lists all nodes");
    }
    let build = args.build.join(project.plan.cluster.name.as_str());
    wanted.iter().filter(is_selected).map(|wanted| base_image(args, wanted, &build)).collect()
}

fn base_image(args: &Args, wanted: &RequiredImage, build: &Path) -> anyhow::Result<ImageRecipe> {
    let RequiredImage { base, nodes, products } = wanted;
    let name = base.stem();
    let schematic = &base.schematic;
    if !schematic.overlay.name.is_empty() {
        bail!(
            "{name}: ichor does not support the board overlay `{}`; use Talos' imager with --overlay-image",
            schematic.overlay.name
        );
    }
    if !schematic.bootloader.is_empty() || schematic.sector_size != 0 {
        bail!(
            "{name}: ichor does not support `bootloader` and `sectorSize` in `image.schematic`; use the Image Factory or Talos' imager"
        );
    }
    let embedded = match &base.embeds {
        None => None,
        Some(node) => {
            let path = build.join("nodes").join(node).join("boot.yaml");
            let hint = || {
                format!(
                    "the image of {node} embeds its configuration; write it with `ichor build`, and set its folder with --build"
                )
            };
            Some(read(&path).with_context(hint)?)
        }
    };
    let line = base.command_line();
    require_arguments(&line).with_context(|| format!("cannot build {name}"))?;
    Ok(ImageRecipe {
        stem: name,
        profile: Profile {
            talos: base.talos.clone(),
            arch: base.arch,
            platform: base.platform.word().to_owned(),
            line,
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

/// Rejects a command line without an argument that Talos requires.
fn require_arguments(line: &Line) -> anyhow::Result<()> {
    let missing: Vec<_> = line.missing_requirements().collect();
    if !missing.is_empty() {
        bail!(
            "Talos does not start without the kernel arguments {}; do not remove them",
            missing.join(" and ")
        );
    }
    Ok(())
}

/// Reads a configuration.
fn read(path: &Path) -> anyhow::Result<Content> {
    Ok(crate::oci::read(path, MAX_CONFIG)?.into())
}
