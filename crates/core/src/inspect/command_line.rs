//! What a kernel command line says of the machine.

use super::media::mode;
use super::platform::Boot;
use super::verdict::config_source;
use super::{Inspection, Verdict};
use crate::rules::media as rules;
use crate::talos::command_line::{CommandLine, LONGEST};

/// The platforms of Talos; the last two are of the past, and beyond the list.
const PLATFORMS: [&str; 20] = [
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
    "packet",
    "vultr",
];

/// The platform, the hostname, and whether the line is too long.
pub(super) fn platform(line: &CommandLine, inspection: &mut Inspection) {
    if line.length() > LONGEST {
        let message = format!(
            "the command line has {} bytes, and a kernel on x86 cuts it at {LONGEST} without a word: what is beyond is not \
             looked at",
            line.length()
        );
        inspection.mistake(&rules::COMMAND_LINE_LONG, message);
    }
    match line.first("talos.platform") {
        None | Some("") => {
            let message = "there is no talos.platform: Talos does not start without it";
            inspection.mistake(&rules::NO_PLATFORM, message);
        }
        Some(name) if PLATFORMS.contains(&name) => {
            inspection.find("talos.platform", name.len(), format!("the platform {name}"));
            name.clone_into(&mut inspection.platform);
        }
        Some(name) => {
            let message = format!("Talos knows no platform `{name}`, and does not start");
            inspection.mistake(&rules::PLATFORM_UNKNOWN, message);
        }
    }
    if let Some(name) = line.first("talos.hostname") {
        inspection.find("talos.hostname", name.len(), "the hostname, unless anything else has one");
        inspection.command_line_hostname = Some(name.to_owned()).filter(|name| !name.is_empty());
    }
}

/// The configuration that a parameter carries.
pub(super) fn inline(boot: &Boot<'_>, key: &str, inspection: &mut Inspection) {
    let Some(unpacked) = boot.line.inline(key) else {
        config_source(key, key, Verdict::Nothing, inspection);
        return;
    };
    inspection.find(key, boot.line.all(key).map(str::len).sum(), "a configuration, in base64 of zstd");
    let verdict = match unpacked {
        Ok(bytes) => Verdict::of(&bytes, &boot.machine.talos, mode(inspection)),
        Err(error) => Verdict::Refused(vec![error.to_string()]),
    };
    config_source(key, key, verdict, inspection);
}
