//! The parameters of a kernel command line that configure a machine.

use super::config_source::add_config_source;
use super::media::validation_mode;
use super::platform::BootContext;
use super::{ConfigSourceResult, Inspection};
use crate::inspect::rules;
use ichor_talos::command_line::{CommandLine, INLINE, LONGEST};

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
            "the command line has {} bytes; an x86 kernel silently truncates it to {LONGEST}",
            line.length()
        );
        inspection.mistake(&rules::COMMAND_LINE_LONG, message);
    }
    match line.first("talos.platform") {
        None | Some("") => {
            let message = "talos.platform is missing: Talos does not start without it";
            inspection.mistake(&rules::NO_PLATFORM, message);
        }
        Some(name) if PLATFORMS.contains(&name) => {
            inspection.find("talos.platform", name.len(), format!("the platform {name}"));
            name.clone_into(&mut inspection.platform);
        }
        Some(name) => {
            let message = format!("unknown platform `{name}`: Talos does not start");
            inspection.mistake(&rules::PLATFORM_UNKNOWN, message);
        }
    }
    if let Some(name) = line.first("talos.hostname") {
        inspection.find("talos.hostname", name.len(), "the hostname, unless another source sets one");
        inspection.command_line_hostname = Some(name.to_owned()).filter(|name| !name.is_empty());
    }
}

/// The configuration that a parameter carries.
pub(super) fn add_inline_config(boot: &BootContext<'_>, key: &str, inspection: &mut Inspection) {
    let Some(unpacked) = boot.line.inline(key) else {
        add_config_source(key, key, ConfigSourceResult::Nothing, inspection);
        return;
    };
    inspection.find(key, boot.line.all(key).map(str::len).sum(), "a configuration, in base64 of zstd");
    let verdict = match unpacked {
        Ok(bytes) => ConfigSourceResult::read(&bytes, &boot.machine.talos, validation_mode(inspection)),
        Err(error) => ConfigSourceResult::Refused(vec![error.to_string()]),
    };
    add_config_source(key, key, verdict, inspection);
}

/// Parameters that hold configurations or META values, of which nothing is shown.
const HIDDEN: [&str; 3] = [INLINE[0], INLINE[1], "talos.environment"];

/// The parameters of a line without secrets: configurations, queries and credentials of URLs are redacted.
pub(super) fn redact_arguments(line: &str) -> Vec<String> {
    let shown = |word: &str| match word.split_once('=') {
        Some((key, _)) if HIDDEN.contains(&key) => format!("{key}=***"),
        Some((key, value)) if value.contains("://") => format!("{key}={}", address(value)),
        _ => word.to_owned(),
    };
    line.split_whitespace().map(shown).collect()
}

fn address(value: &str) -> String {
    let (place, asks) = value.split_once('?').map_or((value, ""), |(place, _)| (place, "?***"));
    let (scheme, rest) = place.split_once("://").unwrap_or(("", place));
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = host.rsplit_once('@').map_or(host.to_owned(), |(_, host)| format!("***@{host}"));
    format!("{scheme}://{host}{path}{asks}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_a_command_line_are_redacted() {
        let line = "talos.platform=metal  console=tty0 quiet talos.config=https://me:hunter2@a/c.yaml?token=hunter2 \
                    siderolink.api=grpc://a:8080?jointoken=hunter2 talos.config.inline=hunter2 talos.environment=A=hunter2";

        let shown = redact_arguments(line).join(" ");

        assert_eq!(
            shown,
            "talos.platform=metal console=tty0 quiet talos.config=https://***@a/c.yaml?*** siderolink.api=grpc://a:8080?*** \
             talos.config.inline=*** talos.environment=***"
        );
    }
}
