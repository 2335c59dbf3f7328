//! Boot media from a schematic: the contents of the images that a factory makes from it.

use super::rules;
use super::{BootMedia, EmbeddedError, MediaItem};
use ichor_talos::asset::{Asset, AssetSelection};
use ichor_talos::kernel_args::Line;
use ichor_talos::schematic::Schematic;
use ichor_talos::{meta, secret_value};
use ichor_values::TalosVersion;

/// Why the images of a factory cannot be inspected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchematicError {
    /// The schematic is that of other images.
    #[error("the schematic has the id {given}, but the asset is built from {wanted}")]
    Another {
        /// Its id.
        given: String,
        /// The requested id.
        wanted: String,
    },
    /// It is only a part of boot media.
    #[error("{0} alone cannot be inspected; want the URL of a command line or of an image")]
    Part(&'static str),
}

impl BootMedia {
    /// The boot media of a schematic: a disk image for metal, unless its arguments say otherwise.
    pub fn of_schematic(schematic: &Schematic, talos: &TalosVersion) -> Result<Self, SchematicError> {
        let wanted = AssetSelection {
            id: schematic.id(),
            talos: talos.clone(),
            platform: Some("metal".to_owned()),
            arch: Some("amd64"),
            secure_boot: false,
            asset: Some(Asset::disk_of("metal")),
        };
        Self::of_factory(&wanted, Some(schematic))
    }

    /// The boot media of a factory URL, with its schematic if known.
    pub fn of_factory(
        wanted: &AssetSelection,
        schematic: Option<&Schematic>,
    ) -> Result<Self, SchematicError> {
        let part = match wanted.asset {
            Some(Asset::Kernel) => Some("a kernel"),
            Some(Asset::Initramfs) => Some("an initramfs"),
            _ => None,
        };
        if let Some(part) = part {
            return Err(SchematicError::Part(part));
        }
        // The schematic of images without customisation is public.
        let plain = Schematic::default();
        let schematic = schematic.or_else(|| (plain.id() == wanted.id).then_some(&plain));
        let mut media = Self::default();
        media.found.push(MediaItem::new(name(wanted.asset.as_ref()), 0, describe_asset(wanted)));
        media.found.push(MediaItem::new("schematic", 0, wanted.id.as_str()));
        let Some(schematic) = schematic else {
            media.command_line = Some(line(wanted, &[]));
            media.embedded = Some(Err(EmbeddedError::Schematic));
            return Ok(media);
        };
        if schematic.id() != wanted.id {
            return Err(SchematicError::Another { given: schematic.id(), wanted: wanted.id.clone() });
        }
        media.add_schematic(wanted, schematic);
        Ok(media)
    }

    fn add_schematic(&mut self, wanted: &AssetSelection, schematic: &Schematic) {
        for extension in &schematic.extensions {
            self.found.push(MediaItem::new(extension, 0, "an extension"));
        }
        let mut args = schematic.kernel_args.clone();
        if !schematic.meta.is_empty() {
            let values: Vec<_> = schematic
                .meta
                .iter()
                .map(|(key, value)| meta::Value { key: *key, value: value.clone() })
                .collect();
            let keys: Vec<String> = values.iter().map(|value| value.key.to_string()).collect();
            let taken_for = match wanted.asset {
                Some(Asset::Disk(_)) => {
                    self.meta = Some(Ok(values));
                    "META, on the disk"
                }
                Some(Asset::Uki | Asset::Installer) => "META, not contained in this asset",
                _ => {
                    args.push(meta::kernel_argument(&meta::encode(&values, true)));
                    "META, on the command line"
                }
            };
            self.found.push(MediaItem::new(format!("key {}", keys.join(", ")), 0, taken_for));
        }
        self.command_line = Some(line(wanted, &args));
        if !schematic.embedded_config.is_empty() {
            let bytes = schematic.embedded_config.clone().into_bytes();
            let taken_for = if wanted.asset == Some(Asset::Cmdline) {
                "the embedded configuration, not contained in a command line"
            } else {
                "the embedded configuration"
            };
            self.found.push(MediaItem::new("embeddedMachineConfiguration", bytes.len(), taken_for));
            self.embedded = Some(Ok(bytes)).filter(|_| wanted.asset != Some(Asset::Cmdline));
        }
        for key in secret_value::in_schematic(&schematic.to_value()) {
            let message = format!("{key} is a secret; anyone who knows the schematic id can read it");
            self.mistake(&rules::SECRET_PUBLISHED, message);
        }
    }
}

fn name(asset: Option<&Asset>) -> &'static str {
    match asset {
        None => "a PXE script",
        Some(Asset::Kernel) => "a kernel",
        Some(Asset::Initramfs) => "an initramfs",
        Some(Asset::Cmdline) => "a command line",
        Some(Asset::Iso) => "an ISO",
        Some(Asset::Uki) => "a kernel image",
        Some(Asset::Disk(_)) => "a disk image",
        Some(Asset::Installer) => "an installer",
    }
}

fn describe_asset(wanted: &AssetSelection) -> String {
    let platform = wanted.platform.as_deref().unwrap_or("every platform");
    let arch = wanted.arch.map(|arch| format!(", {arch}")).unwrap_or_default();
    let secure = if wanted.secure_boot { ", secure boot" } else { "" };
    format!("Talos {} for {platform}{arch}{secure}", wanted.talos)
}

/// The command line of an image: the platform's, Talos' own, and those of the schematic.
fn line(wanted: &AssetSelection, extra: &[String]) -> String {
    let platform = wanted.platform.as_deref().unwrap_or("metal");
    let mut line = Line::defaults(&wanted.talos, platform, wanted.arch.unwrap_or("amd64"));
    if wanted.asset == Some(Asset::Iso) {
        line.halt_if_installed();
    }
    line.customize(extra);
    line.to_string()
}
