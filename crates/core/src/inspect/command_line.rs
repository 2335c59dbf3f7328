//! A kernel command line.

use std::collections::BTreeMap;

use super::volume::config_source;
use super::{Inspection, Machine, Verdict};
use crate::talos::command_line::{CommandLine, INLINE, LONGEST};
use crate::talos::validate::Mode;
use crate::talos::{config_url, meta, platform_network};

/// The platforms of Talos.
const PLATFORMS: [&str; 18] = [
    "akamai",
    "aws",
    "azure",
    "cloudstack",
    "container",
    "digital-ocean",
    "equinixMetal",
    "exoscale",
    "gcp",
    "hcloud",
    "metal",
    "nocloud",
    "opennebula",
    "openstack",
    "oracle",
    "scaleway",
    "upcloud",
    "vmware",
];

/// Names that are platforms as well: of the past, and beyond the list.
const MORE_PLATFORMS: [&str; 2] = ["packet", "vultr"];

/// Where Talos gets its configuration from on metal.
const CONFIG: &str = "talos.config";

/// What a release makes of a command line, on a machine whose disk is empty.
pub fn command_line(text: &str, machine: &Machine) -> Inspection {
    let line = CommandLine::parse(text);
    let mut inspection = Inspection::default();
    length(&line, &mut inspection);
    platform(&line, &mut inspection);
    if let Some(name) = line.first("talos.hostname") {
        inspection.find("talos.hostname", name.len(), "the hostname, unless anything else has one");
        inspection.command_line_hostname = Some(name.to_owned()).filter(|name| !name.is_empty());
    }
    let mode = if inspection.platform == "metal" { Mode::Metal } else { Mode::Cloud };
    inline(&line, INLINE[0], machine, mode, &mut inspection);
    if inspection.platform == "metal" {
        network(&line, machine, &mut inspection);
        metal_config(&line, machine, &mut inspection);
    } else if !inspection.platform.is_empty() {
        let elsewhere = format!("what the platform {} has", inspection.platform);
        config_source("platform", CONFIG, Verdict::Elsewhere(elsewhere), &mut inspection);
        if line.first(CONFIG).is_some() {
            let message = format!("{CONFIG} is of no use: only the platform metal looks at it");
            inspection.mistake("media-config-unused", message, "use what the platform reads");
        }
    }
    inline(&line, INLINE[1], machine, mode, &mut inspection);
    inspection
}

fn length(line: &CommandLine, inspection: &mut Inspection) {
    if line.length() > LONGEST {
        let message = format!(
            "the command line has {} bytes, and a kernel on x86 cuts it at {LONGEST} without a word",
            line.length()
        );
        inspection.mistake("media-command-line-long", message, "carry configurations on a volume instead");
    }
}

fn platform(line: &CommandLine, inspection: &mut Inspection) {
    let fix = "want talos.platform=metal, nocloud or another that Talos knows";
    match line.first("talos.platform") {
        None | Some("") => {
            let message = "there is no talos.platform: Talos does not start without it";
            inspection.mistake("media-no-platform", message, fix);
        }
        Some(name) if PLATFORMS.contains(&name) || MORE_PLATFORMS.contains(&name) => {
            inspection.find("talos.platform", name.len(), format!("the platform {name}"));
            name.clone_into(&mut inspection.platform);
        }
        Some(name) => {
            let message = format!("Talos knows no platform `{name}`, and does not start");
            inspection.mistake("media-platform-unknown", message, fix);
        }
    }
}

fn inline(line: &CommandLine, key: &str, machine: &Machine, mode: Mode, inspection: &mut Inspection) {
    let Some(unpacked) = line.inline(key) else {
        config_source(key, key, Verdict::Nothing, inspection);
        return;
    };
    inspection.find(key, line.all(key).map(str::len).sum(), "a configuration, in base64 of zstd");
    let verdict = match unpacked {
        Ok(bytes) => Verdict::of(&bytes, &machine.talos, mode),
        Err(error) => Verdict::Refused(vec![error.to_string()]),
    };
    config_source(key, key, verdict, inspection);
}

/// META values travel in the environment, until there is a partition for them.
fn network(line: &CommandLine, machine: &Machine, inspection: &mut Inspection) {
    let carried =
        line.all("talos.environment").find_map(|value| value.strip_prefix("INSTALLER_META_BASE64="));
    let Some(carried) = carried else { return };
    inspection.find(
        "talos.environment",
        carried.len(),
        "META values, where the machine has no META partition",
    );
    let read = meta::decode(carried).map_err(|error| format!("META values: {error}")).and_then(|values| {
        let key_10 = values.iter().rev().find(|value| value.key == meta::NETWORK);
        let read = |value: &meta::Value| platform_network::read(&value.value, &machine.talos);
        key_10.map(read).transpose().map_err(|error| format!("META key 10: {error}"))
    });
    match read {
        Ok(mut network) => {
            if let (Some(network), Some(name)) = (&mut network, line.first("talos.hostname")) {
                network["metadata"]["hostname"] = name.into();
            }
            inspection.network = network;
        }
        Err(error) => {
            inspection.error = Some(error.clone());
            let message = format!("{error}; Talos has no network from here");
            inspection.mistake("media-meta-network", message, "`ichor meta encode` writes what Talos reads");
        }
    }
}

fn metal_config(line: &CommandLine, machine: &Machine, inspection: &mut Inspection) {
    let verdict = match line.first(CONFIG) {
        None | Some("none") => Verdict::Nothing,
        Some("metal-iso") => {
            inspection.find(CONFIG, "metal-iso".len(), "config.yaml of the volume with the label metal-iso");
            Verdict::Elsewhere("config.yaml of the volume with the label metal-iso".to_owned())
        }
        Some(written) => {
            inspection.find(CONFIG, written.len(), "the URL of the configuration");
            url(written, line, machine, inspection)
        }
    };
    config_source("platform", CONFIG, verdict, inspection);
}

fn url(written: &str, line: &CommandLine, machine: &Machine, inspection: &mut Inspection) -> Verdict {
    let mut known = BTreeMap::new();
    if let Some(first) = machine.links.first() {
        known.insert("mac".to_owned(), first.mac.to_string());
    }
    if let Some(name) = line.first("talos.hostname") {
        known.insert("hostname".to_owned(), name.split('.').next().unwrap_or_default().to_owned());
    }
    match config_url::expand(written, &known) {
        Ok(expanded) => {
            if written.split('?').next().is_some_and(|path| path.contains("${")) {
                let message =
                    format!("{CONFIG} has a variable outside of its query, where Talos leaves it as it is");
                inspection.mistake(
                    "media-url-variable",
                    message,
                    "write it after a `?`, such as ?mac=${mac}",
                );
            }
            Verdict::Elsewhere(expanded.url)
        }
        Err(reason) => Verdict::Refused(vec![format!("{CONFIG} is not a URL: {reason}")]),
    }
}

#[cfg(test)]
mod tests;
