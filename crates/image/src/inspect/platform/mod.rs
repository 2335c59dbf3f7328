//! The platform's network and configuration.

mod metal;
mod nocloud;

use super::config_source::add_config_source;
use super::config_volume::{METAL_CONFIG, METAL_LABEL, NOCLOUD};
use super::{BootMedia, ConfigSourceResult, ConfigVolume, Inspection, MetaValuesError, TargetMachine};
use crate::inspect::rules;
use ichor_talos::command_line::CommandLine;
use ichor_talos::meta;

/// The kernel argument with the configuration's source on metal.
pub(super) const CONFIG: &str = "talos.config";

/// A machine, its boot media, and its command line: empty if unknown.
#[derive(Clone, Copy)]
pub(super) struct BootContext<'b> {
    pub media: &'b BootMedia,
    pub machine: &'b TargetMachine,
    pub line: &'b CommandLine,
}

impl<'b> BootContext<'b> {
    /// Whether anything is known beside the files of a carrier.
    fn has_line(&self) -> bool {
        self.media.command_line.is_some()
    }

    /// The carrier that Talos finds by these labels. A carrier with such files and another label is a mistake; one that is too
    /// short was reported when it was read.
    fn carrier(
        &self,
        labels: &[&str],
        by_partition: bool,
        files: &[&str],
        inspection: &mut Inspection,
    ) -> Option<&'b ConfigVolume> {
        let carriers = &self.media.carriers;
        let is_labelled = |carrier: &&ConfigVolume| carrier.has_label(labels, by_partition);
        if let Some(found) = carriers.iter().find(|carrier| !carrier.is_short && is_labelled(carrier)) {
            return Some(found);
        }
        let carrier =
            carriers.iter().find(|carrier| carrier.has_or_renamed(files) && !is_labelled(carrier))?;
        let message = format!("{} {}: Talos does not find it", carrier.place, carrier.describe_labels());
        inspection.mistake(&rules::LABEL, format!("{message}; want {}", labels.join(" or ")));
        None
    }

    /// The META value of a key, from the partition or else from the command line.
    fn meta(&self, key: u8) -> Result<Option<String>, MetaValuesError> {
        let values = match &self.media.meta {
            Some(values) => values.clone()?,
            None => self.carried_meta()?,
        };
        Ok(values.into_iter().rev().find(|value| value.key == key).map(|value| value.value))
    }

    fn carried_meta(&self) -> Result<Vec<meta::Value>, MetaValuesError> {
        let mut values = Vec::new();
        for carried in self.line.environment(meta::VARIABLE) {
            values.extend(meta::decode(carried).map_err(MetaValuesError::CommandLine)?);
        }
        Ok(values)
    }
}

/// Reads the platform's configuration and adds it as a source.
pub(super) fn read(boot: &BootContext<'_>, inspection: &mut Inspection) {
    match inspection.platform.as_str() {
        "" => {}
        "nocloud" => nocloud::read(boot, inspection),
        "metal" => metal::read(boot, inspection),
        other => {
            let elsewhere = format!("user data of the platform {other}");
            add_config_source("platform", CONFIG, ConfigSourceResult::Elsewhere(elsewhere), inspection);
        }
    }
    if !["", "metal"].contains(&inspection.platform.as_str()) {
        report_ignored_sources(boot, inspection);
    }
}

/// Reports sources that only metal reads.
fn report_ignored_sources(boot: &BootContext<'_>, inspection: &mut Inspection) {
    let platform = inspection.platform.clone();
    if boot.line.first(CONFIG).is_some() {
        let message = format!("{CONFIG} is ignored: only the platform metal reads it, not {platform}");
        inspection.mistake(&rules::CONFIG_UNUSED, message);
    }
    if matches!(boot.meta(meta::NETWORK), Ok(Some(_)) | Err(_)) {
        let message = format!("META key 10 is ignored: the platform {platform} does not read it");
        inspection.mistake(&rules::META_UNUSED, message);
    }
}
