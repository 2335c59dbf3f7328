//! The files of nocloud.

use super::BootContext;
use crate::inspect::config_source::add_config_source;
use crate::inspect::config_volume::NOCLOUD;
use crate::inspect::rules;
use crate::inspect::{ConfigSourceResult, Inspection};
use ichor_talos::nocloud;
use ichor_talos::nocloud::{Files, UserData};
use ichor_talos::release;
use ichor_talos::validate::Mode;

/// The use of each file in Talos.
const TAKEN_FOR: [&str; 3] = ["the names of the machine", "the network", "the configuration"];

pub(super) fn read(boot: &BootContext<'_>, inspection: &mut Inspection) {
    // Before 1.12 nocloud only read file systems.
    let by_partition = release::at_least(&boot.machine.talos, 12);
    let Some(carrier) = boot.carrier(&nocloud::LABELS, by_partition, &NOCLOUD, inspection) else {
        let place = "user-data of a volume with the label cidata, or of the address in the serial number";
        // Without a command line, the volume is all there is.
        let verdict = if boot.has_line() {
            ConfigSourceResult::Elsewhere(place.to_owned())
        } else {
            ConfigSourceResult::Nothing
        };
        add_config_source("platform", "user-data", verdict, inspection);
        return;
    };
    let [meta_data, network_config, user_data] = NOCLOUD.map(|name| carrier.file(name));
    let found = NOCLOUD.into_iter().zip([meta_data, network_config, user_data]).zip(TAKEN_FOR);
    for ((name, bytes), taken_for) in found {
        if let Some(bytes) = bytes {
            inspection.find(name, bytes.len(), taken_for);
        }
    }
    let files = Files { meta_data, network_config, user_data };
    match nocloud::network(files, &boot.machine.links, &boot.machine.talos) {
        Ok(Some(network)) => {
            inspection.network = Some(network.config);
            inspection.needs_reconcile = network.needs_reconcile;
        }
        Ok(None) => {}
        Err(error) => inspection.error = Some(error.to_string()),
    }
    find_problems(files, boot, inspection);
    let verdict = user_data
        .map_or(ConfigSourceResult::Nothing, |bytes| self::user_data_result(bytes, boot, inspection));
    add_config_source("platform", "user-data", verdict, inspection);
}

fn find_problems(files: Files<'_>, boot: &BootContext<'_>, inspection: &mut Inspection) {
    if files.network_config.is_none() && files.meta_data.is_some() {
        let message = "network-config is missing: without it, Talos ignores meta-data and its hostname";
        inspection.mistake(&rules::NO_NETWORK_CONFIG, message);
    }
    if let Some(error) = inspection.error.clone() {
        let message =
            format!("{error}; Talos retries endlessly and gets neither network nor hostname from nocloud");
        inspection.mistake(&rules::NETWORK_CONFIG, message);
    }
    // Without given links, the machine's links are unknown.
    if inspection.needs_reconcile && !boot.machine.links.is_empty() {
        let message = "no link of the machine has a MAC address of network-config: Talos uses the interface name \
                       in the file and keeps searching";
        inspection.mistake(&rules::LINK_MISSING, message);
    }
    let text = files.network_config.and_then(|bytes| std::str::from_utf8(bytes).ok());
    for place in text.filter(|_| inspection.network.is_some()).map(nocloud::passed_over).unwrap_or_default() {
        inspection.mistake(&rules::PASSED_OVER, format!("Talos ignores `{place}` in network-config"));
    }
}

fn user_data_result(bytes: &[u8], boot: &BootContext<'_>, inspection: &mut Inspection) -> ConfigSourceResult {
    match UserData::parse(bytes) {
        UserData::CloudConfig => {
            let message = "user-data starts with `#cloud-config`: Talos ignores it";
            inspection.mistake(&rules::CLOUD_CONFIG, message);
            ConfigSourceResult::Nothing
        }
        UserData::Include(Ok(url)) => ConfigSourceResult::from_url(&url),
        UserData::Include(Err(error)) => ConfigSourceResult::Refused(vec![error.to_string()]),
        UserData::Config(bytes) => ConfigSourceResult::read_platform(bytes, &boot.machine.talos, Mode::Cloud),
    }
}
