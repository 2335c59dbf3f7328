//! What a platform gives: a network, and perhaps a configuration.

mod metal;
mod nocloud;

use super::config_source::add_config_source;
use super::config_volume::{METAL_CONFIG, METAL_LABEL, NOCLOUD};
use super::{BootMedia, ConfigSourceResult, ConfigVolume, Inspection, MetaValuesError, TargetMachine};
use crate::inspect::rules;
use ichor_talos::command_line::CommandLine;
use ichor_talos::meta;

/// Where Talos gets its configuration from on metal.
pub(super) const CONFIG: &str = "talos.config";

/// A machine, what it boots from, and its command line: an empty one where it is not known.
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

    /// The carrier that Talos finds by these labels. Where one with such files is called otherwise, that is a mistake; that one
    /// is too short was told when it was read.
    fn carrier(
        &self,
        labels: &[&str],
        by_partition: bool,
        files: &[&str],
        inspection: &mut Inspection,
    ) -> Option<&'b ConfigVolume> {
        let carriers = &self.media.carriers;
        let is_called = |carrier: &&ConfigVolume| carrier.is_called(labels, by_partition);
        if let Some(found) = carriers.iter().find(|carrier| !carrier.is_short && is_called(carrier)) {
            return Some(found);
        }
        let meant = carriers.iter().find(|carrier| carrier.is_meant_for(files) && !is_called(carrier))?;
        let message = format!("{} {}: Talos does not find it", meant.place, meant.called());
        inspection.mistake(&rules::LABEL, format!("{message}; want {}", labels.join(" or ")));
        None
    }

    /// The META value of a key, of the partition or else of the command line.
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

/// Reads what the platform has, and adds its source.
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

/// What only metal looks at.
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
