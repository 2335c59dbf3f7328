//! A volume with the files of a platform.

use super::{Inspection, Machine, Source, Verdict, Volume};
use crate::talos::nocloud::{self, Files, UserData};
use crate::talos::platform_network;
use crate::talos::validate::Mode;

/// The label and the file of a volume that `talos.config=metal-iso` looks for.
const METAL_LABEL: &str = "metal-iso";
const METAL_CONFIG: &str = "config.yaml";

/// The network of a machine on metal, as `ichor build` writes it.
const META_NETWORK: &str = "meta-10.yaml";

const NOCLOUD: [&str; 3] = ["meta-data", "network-config", "user-data"];

/// Why a volume cannot be inspected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// No file that Talos looks for.
    #[error(
        "nothing here that Talos reads; want {} for nocloud, {METAL_CONFIG} or {META_NETWORK} for metal",
        NOCLOUD.join(", ")
    )]
    Nothing,
}

impl Volume {
    /// Whether Talos looks for a file of this name on any volume.
    pub fn wants(name: &str) -> bool {
        NOCLOUD.contains(&name) || [METAL_CONFIG, META_NETWORK].contains(&name)
    }
}

/// What a release makes of a volume.
pub fn volume(volume: &Volume, machine: &Machine) -> Result<Inspection, VolumeError> {
    let has = |names: &[&str]| names.iter().any(|name| volume.files.contains_key(*name));
    let mut inspection = Inspection::default();
    if has(&NOCLOUD) {
        nocloud(volume, machine, &mut inspection);
    } else if has(&[METAL_CONFIG, META_NETWORK]) {
        metal(volume, machine, &mut inspection);
    } else {
        return Err(VolumeError::Nothing);
    }
    label(volume, &mut inspection);
    Ok(inspection)
}

/// A label has to be exactly right, or the volume is not found.
fn label(volume: &Volume, inspection: &mut Inspection) {
    let Some(label) = &volume.label else { return };
    let want: &[&str] = if inspection.platform == "nocloud" { &nocloud::LABELS } else { &[METAL_LABEL] };
    if !want.contains(&label.as_str()) {
        let message = format!("the volume has the label `{label}`, so that Talos does not find it");
        inspection.mistake("media-label", message, format!("want the label {}", want.join(" or ")));
    }
}

fn nocloud(volume: &Volume, machine: &Machine, inspection: &mut Inspection) {
    let file = |name: &str| volume.files.get(name).map(Vec::as_slice);
    let [meta_data, network_config, user_data] = NOCLOUD.map(file);
    "nocloud".clone_into(&mut inspection.platform);
    let taken = ["the names of the machine", "the network", "the configuration"];
    for ((name, bytes), taken_for) in
        NOCLOUD.into_iter().zip([meta_data, network_config, user_data]).zip(taken)
    {
        if let Some(bytes) = bytes {
            inspection.find(name, bytes.len(), taken_for);
        }
    }
    let files = Files { meta_data, network_config, user_data };
    match nocloud::network(files, &machine.links, &machine.talos) {
        Ok(Some(network)) => {
            inspection.network = Some(network.config);
            inspection.needs_reconcile = network.needs_reconcile;
        }
        Ok(None) => {}
        Err(error) => inspection.error = Some(error.to_string()),
    }
    network_mistakes(files, inspection);
    user_data.inspect(|bytes| self::user_data(bytes, machine, inspection));
    if user_data.is_none() {
        inspection.sources.push(Source { name: "platform".to_owned(), verdict: Verdict::Nothing });
    }
    if volume.files.contains_key(META_NETWORK) {
        let message = format!("{META_NETWORK} is of no use: nocloud does not look at META key 10");
        inspection.mistake("media-meta-unused", message, "write the network to network-config");
    }
}

fn network_mistakes(files: Files<'_>, inspection: &mut Inspection) {
    if files.network_config.is_none() && files.meta_data.is_some() {
        let message = "there is no network-config, and without it Talos takes nothing from meta-data, the hostname neither";
        inspection.mistake(
            "media-no-network-config",
            message,
            "write at least `version: 2` to network-config",
        );
    }
    if let Some(error) = inspection.error.clone() {
        let message =
            format!("{error}; Talos tries again for ever and has neither network nor hostname from here");
        inspection.mistake("media-network-config", message, "write what Talos reads, at least `version: 2`");
    }
    if inspection.needs_reconcile {
        let message = "no link of the machine has a MAC address that network-config asks for: Talos takes the name that is written and goes on looking";
        inspection.mistake(
            "media-link-missing",
            message,
            "correct the address, six pairs with colons, or --links",
        );
    }
    let text = files.network_config.and_then(|bytes| std::str::from_utf8(bytes).ok());
    for place in text.filter(|_| inspection.network.is_some()).map(nocloud::passed_over).unwrap_or_default() {
        let message = format!("Talos passes over `{place}` in network-config");
        inspection.mistake("media-passed-over", message, "write it to the machine configuration");
    }
}

fn user_data(bytes: &[u8], machine: &Machine, inspection: &mut Inspection) {
    let verdict = match UserData::of(bytes) {
        UserData::CloudConfig => {
            let message = "user-data begins with `#cloud-config`: Talos takes no configuration from it";
            inspection.mistake(
                "media-cloud-config",
                message,
                "write a Talos configuration, without that line",
            );
            Verdict::Nothing
        }
        UserData::Include(Ok(url)) => Verdict::Elsewhere(url),
        UserData::Include(Err(error)) => Verdict::Refused(vec![error.to_string()]),
        UserData::Config(bytes) => Verdict::of_platform(bytes, &machine.talos, Mode::Cloud),
    };
    config_source("platform", "user-data", verdict, inspection);
}

/// Adds a source, and a mistake where Talos does not take what is in it.
pub(super) fn config_source(name: &str, written_in: &str, verdict: Verdict, inspection: &mut Inspection) {
    if let Verdict::Refused(reasons) = &verdict {
        let message = format!(
            "Talos does not take the configuration in {written_in} and starts again for ever, without maintenance mode: {}",
            reasons.join("; ")
        );
        inspection.mistake("media-config-refused", message, "`ichor talos validate` says more");
    }
    inspection.sources.push(Source { name: name.to_owned(), verdict });
}

fn metal(volume: &Volume, machine: &Machine, inspection: &mut Inspection) {
    "metal".clone_into(&mut inspection.platform);
    if let Some(bytes) = volume.files.get(META_NETWORK) {
        inspection.find(META_NETWORK, bytes.len(), "META key 10, the network");
        let read = std::str::from_utf8(bytes)
            .map_err(|_| "META key 10 is not UTF-8 text".to_owned())
            .and_then(|text| {
                platform_network::read(text, &machine.talos).map_err(|error| format!("META key 10: {error}"))
            });
        match read {
            Ok(network) => inspection.network = Some(network),
            Err(error) => {
                inspection.error = Some(error.clone());
                let message = format!("{error}; Talos has no network from here");
                inspection.mistake("media-meta-network", message, "write what Talos reads");
            }
        }
    }
    let verdict = match volume.files.get(METAL_CONFIG) {
        Some(bytes) => {
            inspection.find(METAL_CONFIG, bytes.len(), "the configuration, with talos.config=metal-iso");
            Verdict::of_platform(bytes, &machine.talos, Mode::Metal)
        }
        None => Verdict::Nothing,
    };
    config_source("platform", METAL_CONFIG, verdict, inspection);
}
