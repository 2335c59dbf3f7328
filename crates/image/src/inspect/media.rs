//! Boot media, and what a machine does with them.

use super::config_source::add_config_source;
use super::config_volume::{META_NETWORK, METAL_CONFIG, NOCLOUD};
use super::platform::{self, BootContext};
use super::{
    ConfigSourceResult, ConfigVolume, DetectedRelease, Inspection, MediaItem, MediaProblem, TargetMachine,
    addressing, command_line,
};
use crate::inspect::rules;
use ichor_talos::command_line::{CommandLine, INLINE};
use ichor_talos::extension::Layer;
use ichor_talos::meta::MetaError;
use ichor_talos::meta_partition::AdvError;
use ichor_talos::validate::Mode;
use ichor_talos::{meta, release};

/// Everything that a machine finds when it boots.
#[derive(Clone, Default)]
pub struct BootMedia {
    /// The items found on the media.
    pub found: Vec<MediaItem>,
    /// The mistakes of the media themselves.
    pub mistakes: Vec<MediaProblem>,
    /// The release, if known.
    pub release: Option<DetectedRelease>,
    /// The extensions in the image; none if no initramfs was read.
    pub extensions: Option<Vec<Layer>>,
    /// The kernel command line, where it is known.
    pub command_line: Option<String>,
    /// The configuration inside of the image, or why it is not known whether there is one.
    pub embedded: Option<Result<Vec<u8>, EmbeddedError>>,
    /// The configuration on the STATE partition; none without such a partition.
    pub state: Option<String>,
    /// The values of the META partition; none without such a partition.
    pub meta: Option<Result<Vec<meta::Value>, MetaValuesError>>,
    /// The volumes with files for a platform.
    pub carriers: Vec<ConfigVolume>,
}

/// Why an embedded configuration is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddedError {
    /// The initramfs is damaged, or of an unknown form.
    #[error("the initramfs cannot be read")]
    Initramfs,
    /// The extension with the configuration is damaged.
    #[error("{image} cannot be read")]
    Extension {
        /// Its image.
        image: String,
    },
    /// Only the id of the schematic is known.
    #[error("the schematic is unknown; set --schematic FILE")]
    Schematic,
}

/// Why META values cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetaValuesError {
    /// A file with the network is not text.
    #[error("META key 10 is not UTF-8 text")]
    NotText,
    /// The META partition is damaged.
    #[error(transparent)]
    Partition(AdvError),
    /// The values on the command line are damaged.
    #[error("META values: {0}")]
    CommandLine(MetaError),
}

/// Why media cannot be inspected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// No boot media that Talos reads.
    #[error(
        "no boot media found; want {} for nocloud, {METAL_CONFIG} or {META_NETWORK} for metal, or a bootable image",
        NOCLOUD.join(", ")
    )]
    Nothing,
}

impl BootMedia {
    /// A kernel command line only.
    pub fn of_command_line(text: &str) -> Self {
        Self { command_line: Some(text.to_owned()), ..Self::default() }
    }

    /// A folder with the files of a volume, or of `ichor build`.
    pub fn of_folder(mut folder: ConfigVolume) -> Self {
        let text = |bytes| String::from_utf8(bytes).map_err(|_| MetaValuesError::NotText);
        let meta = folder.files.remove(META_NETWORK).map(|bytes| {
            let value = text(bytes)?;
            Ok(vec![meta::Value { key: meta::NETWORK, value }])
        });
        Self { meta, carriers: vec![folder], ..Self::default() }
    }

    pub(super) fn mistake(&mut self, rule: &'static ichor_values::Explanation, message: impl Into<String>) {
        self.mistakes.push(MediaProblem::new(rule, message));
    }

    /// The platform of the files, if no command line has one.
    fn platform(&self) -> Option<&'static str> {
        let has = |names: &[&str]| self.carriers.iter().any(|carrier| carrier.has_or_renamed(names));
        if has(&NOCLOUD) {
            Some("nocloud")
        } else if has(&[METAL_CONFIG]) || self.meta.is_some() || self.state.is_some() {
            Some("metal")
        } else {
            None
        }
    }
}

/// Inspects how a machine boots from media. It has nothing else: its disk is empty, and no server answers.
pub fn inspect(media: &BootMedia, machine: &TargetMachine) -> Result<Inspection, InspectError> {
    let mut inspection = Inspection {
        found: media.found.clone(),
        mistakes: media.mistakes.clone(),
        release: media.release.clone(),
        extensions: media.extensions.clone(),
        arguments: media.command_line.as_deref().map(command_line::redact_arguments),
        ..Inspection::default()
    };
    let line = media.command_line.as_deref().map(CommandLine::truncated);
    match (&line, media.platform()) {
        (Some(line), _) => command_line::platform(line, &mut inspection),
        (None, Some(platform)) => platform.clone_into(&mut inspection.platform),
        (None, None) if media.extensions.is_some() => inspection.is_part = true,
        (None, None) => return Err(InspectError::Nothing),
    }
    let line = line.unwrap_or_default();
    let boot = BootContext { media, machine, line: &line };
    add_state_partition(media, &mut inspection);
    add_embedded_config(&boot, &mut inspection);
    command_line::add_inline_config(&boot, INLINE[0], &mut inspection);
    platform::read(&boot, &mut inspection);
    command_line::add_inline_config(&boot, INLINE[1], &mut inspection);
    report_replaced_sources(&mut inspection);
    addressing::find_addresses(&boot, &mut inspection);
    Ok(inspection)
}

fn add_state_partition(media: &BootMedia, inspection: &mut Inspection) {
    let verdict = media.state.clone().map_or(ConfigSourceResult::Nothing, ConfigSourceResult::Unread);
    add_config_source("STATE", "the STATE partition", verdict, inspection);
}

/// Since 1.12 an image may have a configuration inside.
fn add_embedded_config(boot: &BootContext<'_>, inspection: &mut Inspection) {
    let talos = &boot.machine.talos;
    if !release::at_least(talos, 12) {
        if matches!(boot.media.embedded, Some(Ok(_))) {
            let message = format!("the image has an embedded configuration, which Talos {talos} ignores");
            inspection.mistake(&rules::EMBEDDED_UNREAD, message);
        }
        return;
    }
    // Until 1.14 it is validated as if it were on the disk of an installed machine.
    let mode = if release::at_least(talos, 14) { validation_mode(inspection) } else { Mode::Cloud };
    let verdict = match &boot.media.embedded {
        None => ConfigSourceResult::Nothing,
        Some(Ok(bytes)) => ConfigSourceResult::read(bytes, talos, mode),
        Some(Err(unknown)) => ConfigSourceResult::Unread(unknown.to_string()),
    };
    add_config_source("embedded", "the image", verdict, inspection);
}

/// The mode in which configurations are validated.
pub(super) fn validation_mode(inspection: &Inspection) -> Mode {
    match inspection.platform.as_str() {
        "metal" => Mode::Metal,
        "container" => Mode::Container,
        _ => Mode::Cloud,
    }
}

/// Sources are not merged: a later one replaces an earlier one completely.
fn report_replaced_sources(inspection: &mut Inspection) {
    let mut messages = Vec::new();
    let mut before = None;
    for source in &inspection.sources {
        let Some(kinds) = source.verdict.kinds() else {
            if source.verdict.ends_the_search() {
                break;
            }
            continue;
        };
        if let Some((name, lost)) = before.replace((&source.name, kinds.clone())) {
            let lost: Vec<&str> = lost.into_iter().filter(|kind| !kinds.contains(kind)).collect();
            let lost = if lost.is_empty() { String::new() } else { format!(": {} is lost", lost.join(", ")) };
            messages
                .push(format!("the configuration of {name} is replaced by that of {}{lost}", source.name));
        }
        if source.verdict.ends_the_search() {
            break;
        }
    }
    for message in messages {
        inspection.mistake(&rules::CONFIG_REPLACED, message);
    }
}
