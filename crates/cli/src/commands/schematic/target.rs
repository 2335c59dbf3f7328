//! For what images are asked: one schematic, or the nodes of a cluster.

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use clap::ValueEnum;
use ichor_core::cluster::section::{BootFrom, ImageSource, Platform};
use ichor_core::plan::{ImagePlan, NodePlan};
use ichor_core::render;
use ichor_talos::asset::{Asset, FACTORY, Factory, Order};
use ichor_talos::schematic::{Schematic, SchematicError};
use ichor_values::TalosVersion;

use super::FactoryUrl;
use crate::argument::ArgumentError;
use crate::refused::Refused;
use crate::{project, style};

/// Which images
#[derive(Debug, clap::Args)]
pub(super) struct Which {
    /// Schematic in YAML or JSON; the nodes of the cluster file when left out
    #[arg(value_name = "SCHEMATIC")]
    schematic: Option<PathBuf>,
    /// Cluster file to take the nodes from
    #[arg(long, value_name = "FILE", default_value = "ichor.yaml", conflicts_with = "schematic")]
    cluster: PathBuf,
    /// Only this node of the cluster file
    #[arg(long, value_name = "NAME", conflicts_with = "schematic")]
    node: Option<String>,
    /// Talos release, such as v1.13.9; a node's own when left out
    #[arg(long, value_name = "VERSION")]
    talos: Option<String>,
    /// What Talos runs on; a node's own when left out, else metal
    #[arg(long, value_parser = known_platform)]
    platform: Option<String>,
    /// Architecture: amd64 or arm64; a node's own when left out, else amd64
    #[arg(long, value_parser = ["amd64", "arm64"])]
    arch: Option<String>,
    /// Images for secure boot
    #[arg(long)]
    secureboot: bool,
    /// Format of disk images, such as raw.zst or qcow2; the platform's own when left out
    #[arg(long)]
    format: Option<String>,
    #[command(flatten)]
    factory: FactoryUrl,
}

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Item {
    Kernel,
    Initramfs,
    Cmdline,
    Iso,
    Uki,
    Disk,
    Pxe,
    Installer,
}

impl Item {
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// A schematic and what it is for.
pub(super) struct Target {
    /// The node, or the file.
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

impl Target {
    fn order(&self) -> Order<'_> {
        let Target { id, talos, platform, arch, .. } = self;
        Order { id, talos, platform, arch, secure_boot: self.secure_boot }
    }

    /// The items its machine can use.
    pub(super) fn items(&self) -> &'static [Item] {
        use Item::{Cmdline, Disk, Initramfs, Installer, Iso, Kernel, Pxe, Uki};
        if self.secure_boot {
            &[Uki, Cmdline, Iso, Disk, Pxe, Installer]
        } else {
            &[Kernel, Initramfs, Cmdline, Iso, Disk, Pxe, Installer]
        }
    }

    /// The file behind an item; none for what is no file.
    pub(super) fn asset(&self, item: Item) -> Option<Asset> {
        Some(match item {
            Item::Kernel => Asset::Kernel,
            Item::Initramfs => Asset::Initramfs,
            Item::Cmdline => Asset::Cmdline,
            Item::Iso => Asset::Iso,
            Item::Uki => Asset::Uki,
            Item::Disk => self.format.clone().unwrap_or_else(|| Asset::disk_of(&self.platform)),
            Item::Pxe | Item::Installer => return None,
        })
    }

    /// The URL or reference of an item.
    pub(super) fn url(&self, item: Item) -> String {
        let order = self.order();
        match (item, self.asset(item)) {
            (_, Some(asset)) => order.url(&self.factory, &asset),
            (Item::Installer, None) => order.installer(&self.factory),
            (_, None) => order.pxe(&self.factory),
        }
    }

    /// Where a file belongs in a cache.
    pub(super) fn place(&self, asset: &Asset) -> PathBuf {
        [self.id.as_str(), &self.talos.to_string(), &self.order().file_name(asset)].iter().collect()
    }
}

/// A platform that Talos has.
pub(in crate::commands) fn known_platform(word: &str) -> Result<String, ArgumentError> {
    let mut known = Platform::ALL.iter().map(|platform| platform.word());
    if known.any(|known| known == word) {
        return Ok(word.to_owned());
    }
    let known: Vec<_> = Platform::ALL.iter().map(|platform| platform.word()).collect();
    Err(ArgumentError::Platform(known.join(", ")))
}

impl Which {
    /// The nodes of a cluster file.
    pub(super) fn of_nodes(cluster: PathBuf, node: Option<String>, factory: FactoryUrl) -> Which {
        Which {
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

    /// Everything that is asked for.
    pub(super) fn targets(&self) -> anyhow::Result<Vec<Target>> {
        let talos = self.talos()?;
        let format = self.format.as_deref().map(Asset::disk).transpose()?;
        let Some(path) = &self.schematic else {
            return self.nodes(talos.as_ref(), self.platform.as_deref(), format.as_ref());
        };
        let name = path.display().to_string();
        let refused = |error: SchematicError| Refused::reasons([super::refusal(&name, &error.to_string())]);
        let schematic = super::read(path)?.map_err(refused)?;
        Ok(vec![Target {
            name,
            id: schematic.id(),
            schematic,
            talos: talos.context("which Talos? want --talos VERSION, such as --talos v1.13.9")?,
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
    ) -> anyhow::Result<Vec<Target>> {
        let name = self.cluster.display();
        let refused = |reason: &str| Refused::reasons([super::refusal(&name.to_string(), reason)]);
        let project = project::open(&self.cluster).map_err(|why| match why {
            Refused::ClusterFile { .. } => refused("it has problems; `ichor check` tells them"),
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
            let schematic = render::schematic::of(node, None).map_err(|error| refused(&error.to_string()))?;
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
    ) -> Target {
        Target {
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

/// Why a node's images are not the factory's.
fn not_from_factory(node: &NodePlan) -> Option<&'static str> {
    match node.boot.image.value {
        ImagePlan::Given => Some("its images are given in the cluster file"),
        ImagePlan::Made(ImageSource::Ichor) => Some("its images are made by ichor, not by the factory"),
        ImagePlan::Made(ImageSource::Factory) if node.boot.from.value == BootFrom::Embedded => {
            Some("its image carries its configuration, and has an id when that is built")
        }
        ImagePlan::Made(ImageSource::Factory) => None,
    }
}
