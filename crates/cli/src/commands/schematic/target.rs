//! The images that a command works on: those of one schematic, or of the nodes of a cluster.

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use clap::ValueEnum;
use ichor_core::cluster::section::{BootFrom, ImageSource, Platform};
use ichor_core::plan::{ImagePlan, NodePlan};
use ichor_core::render;
use ichor_talos::asset::{Asset, AssetRequest, FACTORY, Factory};
use ichor_talos::schematic::{Schematic, SchematicError};
use ichor_values::TalosVersion;

use super::FactoryUrl;
use crate::argument::ArgumentError;
use crate::refusal::Refusal;
use crate::{project, style};

/// The images that a command works on
#[derive(Debug, clap::Args)]
pub(super) struct ImageSelection {
    /// Schematic in YAML or JSON [default: those of the nodes]
    #[arg(value_name = "SCHEMATIC")]
    schematic: Option<PathBuf>,
    /// Cluster file with the nodes
    #[arg(long, value_name = "FILE", default_value = "ichor.yaml", conflicts_with = "schematic")]
    cluster: PathBuf,
    /// Select only this node of the cluster file
    #[arg(long, value_name = "NODE", conflicts_with = "schematic")]
    node: Option<String>,
    /// Talos release, such as v1.13.9 [default: that of the node]
    #[arg(long, value_name = "VERSION")]
    talos: Option<String>,
    /// Talos platform [default: that of the node, or metal]
    #[arg(long, value_name = "PLATFORM", value_parser = known_platform)]
    platform: Option<String>,
    /// CPU architecture [default: that of the node, or amd64]
    #[arg(long, value_name = "ARCH", value_parser = ["amd64", "arm64"])]
    arch: Option<String>,
    /// Select images for Secure Boot
    #[arg(long)]
    secureboot: bool,
    /// Format of disk images, such as qcow2 [default: that of the platform]
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    #[command(flatten)]
    factory: FactoryUrl,
}

/// A file or reference of the Image Factory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FactoryAsset {
    Kernel,
    Initramfs,
    Cmdline,
    Iso,
    Uki,
    Disk,
    Pxe,
    Installer,
}

impl FactoryAsset {
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// A schematic with the release, platform and architecture of its images.
pub(super) struct ImageTarget {
    /// The name of the node or file.
    pub name: String,
    pub schematic: Schematic,
    pub id: String,
    talos: TalosVersion,
    platform: String,
    arch: String,
    secure_boot: bool,
    format: Option<Asset>,
    pub factory: Factory,
}

impl ImageTarget {
    fn order(&self) -> AssetRequest<'_> {
        let ImageTarget { id, talos, platform, arch, .. } = self;
        AssetRequest { id, talos, platform, arch, secure_boot: self.secure_boot }
    }

    /// The assets that its machine can use.
    pub(super) fn assets(&self) -> &'static [FactoryAsset] {
        use FactoryAsset::{Cmdline, Disk, Initramfs, Installer, Iso, Kernel, Pxe, Uki};
        if self.secure_boot {
            &[Uki, Cmdline, Iso, Disk, Pxe, Installer]
        } else {
            &[Kernel, Initramfs, Cmdline, Iso, Disk, Pxe, Installer]
        }
    }

    /// The file of an asset; `None` for references.
    pub(super) fn asset(&self, item: FactoryAsset) -> Option<Asset> {
        Some(match item {
            FactoryAsset::Kernel => Asset::Kernel,
            FactoryAsset::Initramfs => Asset::Initramfs,
            FactoryAsset::Cmdline => Asset::Cmdline,
            FactoryAsset::Iso => Asset::Iso,
            FactoryAsset::Uki => Asset::Uki,
            FactoryAsset::Disk => self.format.clone().unwrap_or_else(|| Asset::disk_of(&self.platform)),
            FactoryAsset::Pxe | FactoryAsset::Installer => return None,
        })
    }

    /// The URL or reference of an asset.
    pub(super) fn url(&self, item: FactoryAsset) -> String {
        let order = self.order();
        match (item, self.asset(item)) {
            (_, Some(asset)) => order.url(&self.factory, &asset),
            (FactoryAsset::Installer, None) => order.installer(&self.factory),
            (_, None) => order.pxe(&self.factory),
        }
    }

    /// The path of a file in the cache.
    pub(super) fn place(&self, asset: &Asset) -> PathBuf {
        [self.id.as_str(), &self.talos.to_string(), &self.order().file_name(asset)].iter().collect()
    }
}

/// Parses the name of a Talos platform.
pub(in crate::commands) fn known_platform(word: &str) -> Result<String, ArgumentError> {
    let mut known = Platform::ALL.iter().map(|platform| platform.word());
    if known.any(|known| known == word) {
        return Ok(word.to_owned());
    }
    let known: Vec<_> = Platform::ALL.iter().map(|platform| platform.word()).collect();
    Err(ArgumentError::Platform(known.join(", ")))
}

impl ImageSelection {
    /// The nodes of a cluster file.
    pub(super) fn of_nodes(cluster: PathBuf, node: Option<String>, factory: FactoryUrl) -> ImageSelection {
        ImageSelection {
            schematic: None,
            cluster,
            node,
            talos: None,
            platform: None,
            arch: None,
            secureboot: false,
            format: None,
            factory,
        }
    }

    fn talos(&self) -> anyhow::Result<Option<TalosVersion>> {
        let parse =
            |text: &String| TalosVersion::parse(text).map_err(|reason| anyhow!("--talos {text}: {reason}"));
        let talos = self.talos.as_ref().map(parse).transpose()?;
        if let Some(short) = talos.as_ref().filter(|talos| talos.patch().is_none()) {
            bail!("--talos {short} names no patch release; want one such as {short}.0");
        }
        Ok(talos)
    }

    /// The selected targets.
    pub(super) fn targets(&self) -> anyhow::Result<Vec<ImageTarget>> {
        let talos = self.talos()?;
        let format = self.format.as_deref().map(Asset::disk).transpose()?;
        let Some(path) = &self.schematic else {
            return self.nodes(talos.as_ref(), self.platform.as_deref(), format.as_ref());
        };
        let name = path.display().to_string();
        let refused =
            |error: SchematicError| Refusal::reasons([super::refusal_text(&name, &error.to_string())]);
        let schematic = super::read(path)?.map_err(refused)?;
        super::print_issues(&name, &schematic);
        Ok(vec![ImageTarget {
            name,
            id: schematic.id(),
            schematic,
            talos: talos.context("unknown Talos release; pass --talos VERSION, such as --talos v1.13.9")?,
            platform: self.platform.clone().unwrap_or_else(|| "metal".to_owned()),
            arch: self.arch.clone().unwrap_or_else(|| "amd64".to_owned()),
            secure_boot: self.secureboot,
            format,
            factory: self.factory.or(FACTORY),
        }])
    }

    fn nodes(
        &self,
        talos: Option<&TalosVersion>,
        platform: Option<&str>,
        format: Option<&Asset>,
    ) -> anyhow::Result<Vec<ImageTarget>> {
        let name = self.cluster.display();
        let refused = |reason: &str| Refusal::reasons([super::refusal_text(&name.to_string(), reason)]);
        let project = project::open(&self.cluster).map_err(|why| match why {
            Refusal::ClusterFile { .. } => {
                refused("the cluster file has problems; run `ichor check` to see them")
            }
            other => other,
        })?;
        let mut targets = Vec::new();
        let wanted = |node: &&NodePlan| self.node.as_ref().is_none_or(|name| node.name.as_str() == name);
        let mut any = false;
        for node in project.plan.nodes.iter().filter(wanted) {
            any = true;
            if let Some(reason) = not_from_factory(node) {
                style::say(&format!("{}: {reason}", node.name));
                continue;
            }
            let schematic =
                render::schematic::node_schematic(node, None).map_err(|error| refused(&error.to_string()))?;
            targets.push(self.target(node, schematic, talos, platform, format));
        }
        if !any {
            bail!("{name} has no node {}", self.node.as_deref().unwrap_or("at all"));
        }
        Ok(targets)
    }

    fn target(
        &self,
        node: &NodePlan,
        schematic: Schematic,
        talos: Option<&TalosVersion>,
        platform: Option<&str>,
        format: Option<&Asset>,
    ) -> ImageTarget {
        ImageTarget {
            name: node.name.to_string(),
            id: schematic.id(),
            schematic,
            talos: talos.unwrap_or(&node.talos.value).clone(),
            platform: platform.unwrap_or(node.platform.value.word()).to_owned(),
            arch: self.arch.clone().unwrap_or_else(|| node.arch.value.word().to_owned()),
            secure_boot: self.secureboot || node.boot.secure_boot.value,
            format: format.cloned(),
            factory: self.factory.or(&node.boot.factory.value),
        }
    }
}

/// Why a node does not use images of the factory.
fn not_from_factory(node: &NodePlan) -> Option<&'static str> {
    match node.boot.image.value {
        ImagePlan::Given => Some("skipped: its images are set in the cluster file"),
        ImagePlan::Made(ImageSource::Ichor) => Some("skipped: its images are built by ichor"),
        ImagePlan::Made(ImageSource::Factory) if node.boot.from.value == BootFrom::Embedded => {
            Some("skipped: its image embeds its configuration; `ichor build` writes its schematic")
        }
        ImagePlan::Made(ImageSource::Factory) => None,
    }
}
