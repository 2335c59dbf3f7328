//! The platform metal: META key 10 and `talos.config`.

use std::collections::BTreeMap;

use super::{BootContext, CONFIG, METAL_CONFIG, METAL_LABEL, NOCLOUD};
use crate::inspect::config_source::add_config_source;
use crate::inspect::rules;
use crate::inspect::{ConfigSourceResult, Inspection, MetaValuesError};
use ichor_talos::validate::Mode;
use ichor_talos::{config_url, meta, platform_network};

pub(super) fn read(boot: &BootContext<'_>, inspection: &mut Inspection) {
    network(boot, inspection);
    let verdict =
        if boot.has_line() { find_config_source(boot, inspection) } else { volume(boot, inspection) };
    add_config_source("platform", METAL_CONFIG, verdict, inspection);
    if boot.media.carriers.iter().any(|carrier| carrier.has(&NOCLOUD)) {
        let message = format!("{} are ignored: only the platform nocloud reads them", NOCLOUD.join(", "));
        inspection.mistake(&rules::CONFIG_UNUSED, message);
    }
}

/// Why metal has no network of META.
#[derive(Debug, thiserror::Error)]
enum MetaNetworkError {
    #[error(transparent)]
    Values(MetaValuesError),
    #[error("META key 10: {0}")]
    Network(platform_network::NetworkError),
}

fn network(boot: &BootContext<'_>, inspection: &mut Inspection) {
    let read = boot.meta(meta::NETWORK).map_err(MetaNetworkError::Values).and_then(|text| {
        let Some(text) = text else { return Ok(None) };
        inspection.find("META key 10", text.len(), "the network");
        let read = platform_network::read(&text, &boot.machine.talos);
        read.map(Some).map_err(MetaNetworkError::Network)
    });
    match read {
        Ok(mut network) => {
            if let (Some(network), Some(name)) = (&mut network, boot.line.first("talos.hostname")) {
                network["metadata"]["hostname"] = name.into();
            }
            inspection.network = network;
        }
        Err(error) => {
            inspection.error = Some(error.to_string());
            inspection.mistake(&rules::META_NETWORK, format!("{error}; Talos gets no network from META"));
        }
    }
}

/// Reads the source in `talos.config`.
fn find_config_source(boot: &BootContext<'_>, inspection: &mut Inspection) -> ConfigSourceResult {
    let is_there = boot.media.carriers.iter().any(|carrier| carrier.has(&[METAL_CONFIG]));
    match boot.line.first(CONFIG) {
        Some(METAL_LABEL) => {
            inspection.find(CONFIG, METAL_LABEL.len(), "config.yaml of the volume with the label metal-iso");
            volume(boot, inspection)
        }
        other => {
            if is_there {
                let message =
                    format!("{METAL_CONFIG} is ignored: Talos reads it only with {CONFIG}={METAL_LABEL}");
                inspection.mistake(&rules::CONFIG_UNUSED, message);
            }
            match other {
                None | Some("none") => ConfigSourceResult::Nothing,
                Some(written) => {
                    inspection.find(CONFIG, written.len(), "the URL of the configuration");
                    url(written, boot, inspection)
                }
            }
        }
    }
}

/// `config.yaml` of the volume with the expected label.
fn volume(boot: &BootContext<'_>, inspection: &mut Inspection) -> ConfigSourceResult {
    let Some(carrier) = boot.carrier(&[METAL_LABEL], true, &[METAL_CONFIG], inspection) else {
        return if boot.has_line() {
            ConfigSourceResult::Elsewhere("config.yaml of the volume with the label metal-iso".to_owned())
        } else {
            ConfigSourceResult::Nothing
        };
    };
    match carrier.file(METAL_CONFIG) {
        Some(bytes) => {
            inspection.find(METAL_CONFIG, bytes.len(), "the configuration, with talos.config=metal-iso");
            ConfigSourceResult::read_platform(bytes, &boot.machine.talos, Mode::Metal)
        }
        // A folder may have the network only.
        None if carrier.label.is_none() => ConfigSourceResult::Nothing,
        None => ConfigSourceResult::Refused(vec![format!("{} has no {METAL_CONFIG}", carrier.place)]),
    }
}

fn url(written: &str, boot: &BootContext<'_>, inspection: &mut Inspection) -> ConfigSourceResult {
    let mut known = BTreeMap::new();
    if let Some(first) = boot.machine.links.first() {
        known.insert("mac".to_owned(), first.mac.to_string());
    }
    if let Some(name) = boot.line.first("talos.hostname") {
        known.insert("hostname".to_owned(), name.split('.').next().unwrap_or_default().to_owned());
    }
    if let Ok(Some(code)) = boot.meta(meta::CODE) {
        known.insert("code".to_owned(), code);
    }
    match config_url::expand(written, &known) {
        Ok(expanded) => {
            if written.split('?').next().is_some_and(|path| path.contains("${")) {
                let message =
                    format!("{CONFIG} has a variable outside the query, which Talos does not expand");
                inspection.mistake(&rules::URL_VARIABLE, message);
            }
            ConfigSourceResult::from_url(&expanded.url)
        }
        Err(reason) => ConfigSourceResult::Refused(vec![format!("{CONFIG} is not a URL: {reason}")]),
    }
}
