//! Checks from boot media to the routing service.

use super::context::{NodeContext, join_list};
use super::{CheckResult, NodeDetail, Probed};
use crate::cluster::section::BootFrom;
use crate::observe::ExpectedImage;
use ichor_talos::command_line::CommandLine;

/// The extension in images with an embedded configuration.
const EMBEDDED: &str = "embedded-config";
/// The key of META with the network.
const META_NETWORK: &str = "0x0a";
/// The remedy for an installed node with another image.
const UPGRADE: &str = "`ichor upgrade` installs the image of the cluster file, node by node; if ichor builds the image, run `ichor image build` first";

pub(super) fn check_medium(case: &NodeContext<'_>) -> Option<CheckResult> {
    let from = case.node.boot.from.value;
    if from == BootFrom::Apply || !(case.is_in_maintenance() || case.detail().is_none()) {
        return None;
    }
    let Some(detail) = case.detail() else { return Some(case.unreachable()) };
    let read = match from {
        BootFrom::Cidata | BootFrom::NocloudNet => check_nocloud(case, detail),
        BootFrom::MetalIso => check_argument(detail, "talos.config", |value| value == "metal-iso"),
        BootFrom::Netboot => check_argument(detail, "talos.config", |value| value.starts_with("http")),
        BootFrom::Early => check_argument(detail, "talos.config.early", |_| true),
        BootFrom::Inline => check_argument(detail, "talos.config.inline", |_| true),
        BootFrom::Meta => check_probed(&detail.meta, |keys| {
            if keys.contains(META_NETWORK) {
                Ok("META key 10 (network) is set".to_owned())
            } else {
                Err(MediumError::NoNetwork)
            }
        }),
        BootFrom::Embedded => check_embedded(case),
        BootFrom::Apply => return None,
    };
    Some(read.unwrap_or_else(|evidence| {
        CheckResult::failed(
            format!("{evidence}; the cluster file sets `boot.from: {}`", from.word()),
            "attach the medium that `ichor build` wrote and boot from it; `ichor media inspect` shows what Talos reads from it",
        )
    }))
}

/// Why boot media were not read.
#[derive(Debug, thiserror::Error)]
enum MediumError {
    #[error("META key 10 (network) is missing")]
    NoNetwork,
    #[error("the kernel command line has no matching {key}")]
    NoArgument { key: &'static str },
    #[error("the node booted an image for the platform {platform}, which does not read such boot media")]
    OtherPlatform { platform: String },
    #[error("the node read the boot media of another node, {instance_id}")]
    OtherNode { instance_id: String },
    #[error("the platform metadata name no boot media")]
    Silent,
    #[error("the image has no embedded configuration")]
    NotEmbedded,
}

fn check_probed<T>(
    probed: &Probed<T>,
    judge: impl FnOnce(&T) -> Result<String, MediumError>,
) -> Result<CheckResult, MediumError> {
    match probed {
        Ok(value) => judge(value).map(CheckResult::passed),
        Err(error) => Ok(CheckResult::unknown(error.to_string())),
    }
}

fn check_argument(
    detail: &NodeDetail,
    key: &'static str,
    is_expected: impl Fn(&str) -> bool,
) -> Result<CheckResult, MediumError> {
    check_probed(&detail.command_line, |line| {
        let line = CommandLine::parse(line.as_deref().unwrap_or_default());
        if line.all(key).any(is_expected) {
            Ok(format!("the kernel command line has {key}"))
        } else {
            Err(MediumError::NoArgument { key })
        }
    })
}

/// On nocloud, Talos reports the contents of `meta-data`, which has the node's name.
fn check_nocloud(case: &NodeContext<'_>, detail: &NodeDetail) -> Result<CheckResult, MediumError> {
    if let Ok(Some(line)) = &detail.command_line {
        let line = CommandLine::parse(line);
        match line.first("talos.platform") {
            Some("nocloud") => {}
            platform => {
                let platform = platform.unwrap_or("none").to_owned();
                return Err(MediumError::OtherPlatform { platform });
            }
        }
    }
    check_probed(&detail.platform, |metadata| match metadata {
        Some(metadata) if metadata.instance_id == case.name() || metadata.hostname == case.name() => {
            Ok(format!("Talos read the boot media of {}", case.name()))
        }
        Some(metadata) if !metadata.instance_id.is_empty() => {
            Err(MediumError::OtherNode { instance_id: metadata.instance_id.clone() })
        }
        _ => Err(MediumError::Silent),
    })
}

fn check_embedded(case: &NodeContext<'_>) -> Result<CheckResult, MediumError> {
    match case.snapshot().and_then(|snapshot| snapshot.extensions.as_ref()) {
        None => Ok(CheckResult::unknown("the node does not report its extensions")),
        Some(all) if all.iter().any(|it| it.name == EMBEDDED) => {
            Ok(CheckResult::passed("the image has an embedded configuration"))
        }
        Some(_) => Err(MediumError::NotEmbedded),
    }
}

/// In maintenance mode, the document for the routing service shows that the first configuration is active.
pub(super) fn check_first_configuration(case: &NodeContext<'_>) -> Option<CheckResult> {
    if !case.is_in_maintenance() {
        return None;
    }
    let service = case.expected.service.as_ref().filter(|_| case.has_documents())?;
    let name = service.trim_start_matches("ext-");
    Some(match &case.detail()?.documents {
        Err(error) => CheckResult::unknown(error.to_string()),
        Ok(documents) if documents.contains(name) => {
            CheckResult::passed(format!("the document for {name} is active"))
        }
        Ok(documents) => CheckResult::failed(
            if documents.is_empty() {
                "no document for an extension service is active".to_owned()
            } else {
                format!("documents are active for {}, none for {name}", join_list(documents))
            },
            "the boot media hold another configuration, or Talos rejected it: run `ichor media inspect` on them, \
             or read the console",
        ),
    })
}

pub(super) fn check_configuration(case: &NodeContext<'_>) -> Option<CheckResult> {
    if case.is_in_maintenance() {
        return None;
    }
    let Some(snapshot) = case.snapshot() else { return Some(case.unreachable()) };
    Some(match &snapshot.drift {
        None => CheckResult::unknown(
            "comparing the configuration needs the cluster's secrets and administrator access",
        ),
        Some(keys) if keys.is_empty() => CheckResult::passed("identical to what `ichor build` writes"),
        Some(keys) => CheckResult::failed(
            format!("the configuration differs in {}", keys.join(", ")),
            "`ichor up` applies the one of the cluster file; if the node is right, correct the cluster file",
        ),
    })
}

pub(super) fn check_extensions(case: &NodeContext<'_>) -> Option<CheckResult> {
    let (wanted, image) = (&case.expected.extensions, &case.expected.image);
    // A boot image may have more extensions than the installed one.
    let is_known = matches!(image, ExpectedImage::Schematic(_)) && !case.is_in_maintenance();
    if wanted.is_empty() && !is_known {
        return None;
    }
    let Some(snapshot) = case.snapshot() else { return Some(case.unreachable()) };
    Some(match &snapshot.extensions {
        None => CheckResult::unknown("the node does not report its extensions"),
        Some(has) => {
            let lacks: Vec<_> =
                wanted.iter().filter(|name| !has.iter().any(|it| it.name == **name)).collect();
            let versions = has.iter().map(|it| format!("{} {}", it.name, it.version));
            let other = if is_known { image.difference(has) } else { None };
            if lacks.is_empty()
                && let Some(other) = other
            {
                CheckResult::failed(other, UPGRADE)
            } else if lacks.is_empty() {
                CheckResult::passed(join_list(versions))
            } else {
                CheckResult::failed(
                    format!("the image lacks {}; it has {}", join_list(lacks), or_none(&join_list(versions))),
                    if case.is_in_maintenance() {
                        "boot the image of the cluster file (`ichor image build` or `ichor schematic`)"
                    } else {
                        UPGRADE
                    },
                )
            }
        }
    })
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

pub(super) fn check_service(case: &NodeContext<'_>) -> Option<CheckResult> {
    let id = case.expected.service.as_ref().filter(|_| case.has_documents())?;
    let Some(detail) = case.detail() else { return Some(case.unreachable()) };
    let services = match &detail.services {
        Ok(services) => services,
        Err(error) => return Some(CheckResult::unknown(error.to_string())),
    };
    let remedy = format!("see `ichor logs {} {id}`", case.name());
    let down =
        case.snapshot().and_then(|snapshot| snapshot.down.iter().find(|down| down.starts_with(id.as_str())));
    Some(match services.get(id) {
        // Talos has no resource of a service that does not run.
        None if down.is_none() => CheckResult::failed(
            format!("service {id} not found; the node has {}", join_list(services.keys())),
            "no extension of its image provides this service: set `routing.service`, or use another image",
        ),
        Some(it) if it.running && it.healthy != Some(false) => {
            CheckResult::passed(format!("{id} is running"))
        }
        Some(it) if it.running => {
            CheckResult::failed(format!("{id} is running but unhealthy{}", last_log_lines(detail)), remedy)
        }
        _ => {
            let state = down.unwrap_or(id);
            let state = format!("{state} is not running");
            CheckResult::failed(format!("{state}{}", last_log_lines(detail)), remedy)
        }
    })
}

/// The last log lines of the routing service, or why they are unknown.
fn last_log_lines(detail: &NodeDetail) -> String {
    match &detail.log {
        Ok(lines) if lines.is_empty() => "; its log is empty".to_owned(),
        Ok(lines) => format!("; last log lines:\n{}", lines.join("\n")),
        Err(why) => format!("; cannot read its log: {why}"),
    }
}
