//! From the medium to the service that routes.

use super::case::{NodeContext, list};
use super::{CheckResult, NodeDetail, Probed};
use crate::cluster::section::BootFrom;
use crate::observe::ExpectedImage;
use ichor_talos::command_line::CommandLine;

/// What an image with a configuration inside has as an extension.
const EMBEDDED: &str = "embedded-config";
/// The key of META with the network.
const META_NETWORK: &str = "0x0a";
/// What helps an installed node whose image is another one.
const UPGRADE: &str = "`ichor upgrade` installs the image of the cluster file, node by node; if ichor builds the image, run `ichor image build` first";

pub(super) fn medium(case: &NodeContext<'_>) -> Option<CheckResult> {
    let from = case.node.boot.from.value;
    if from == BootFrom::Apply || !(case.is_early() || case.detail().is_none()) {
        return None;
    }
    let Some(detail) = case.detail() else { return Some(case.silent()) };
    let read = match from {
        BootFrom::Cidata | BootFrom::NocloudNet => nocloud(case, detail),
        BootFrom::MetalIso => argument(detail, "talos.config", |value| value == "metal-iso"),
        BootFrom::Netboot => argument(detail, "talos.config", |value| value.starts_with("http")),
        BootFrom::Early => argument(detail, "talos.config.early", |_| true),
        BootFrom::Inline => argument(detail, "talos.config.inline", |_| true),
        BootFrom::Meta => known(&detail.meta, |keys| {
            if keys.contains(META_NETWORK) {
                Ok("META key 10 (network) is set".to_owned())
            } else {
                Err(MediumError::NoNetwork)
            }
        }),
        BootFrom::Embedded => embedded(case),
        BootFrom::Apply => return None,
    };
    Some(read.unwrap_or_else(|evidence| {
        CheckResult::broken(
            format!("{evidence}; the cluster file sets `boot.from: {}`", from.word()),
            "attach the medium that `ichor build` wrote and boot from it; `ichor media inspect` shows what Talos reads from it",
        )
    }))
}

/// What shows that the medium was not read.
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

fn known<T>(
    told: &Probed<T>,
    judge: impl FnOnce(&T) -> Result<String, MediumError>,
) -> Result<CheckResult, MediumError> {
    match told {
        Ok(told) => judge(told).map(CheckResult::holds),
        Err(error) => Ok(CheckResult::unknown(error.to_string())),
    }
}

fn argument(
    detail: &NodeDetail,
    key: &'static str,
    is_meant: impl Fn(&str) -> bool,
) -> Result<CheckResult, MediumError> {
    known(&detail.command_line, |line| {
        let line = CommandLine::parse(line.as_deref().unwrap_or_default());
        if line.all(key).any(is_meant) {
            Ok(format!("the kernel command line has {key}"))
        } else {
            Err(MediumError::NoArgument { key })
        }
    })
}

/// nocloud tells what stands in `meta-data`, which ichor writes with the name of the node.
fn nocloud(case: &NodeContext<'_>, detail: &NodeDetail) -> Result<CheckResult, MediumError> {
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
    known(&detail.platform, |told| match told {
        Some(told) if told.instance_id == case.name() || told.hostname == case.name() => {
            Ok(format!("Talos read the boot media of {}", case.name()))
        }
        Some(told) if !told.instance_id.is_empty() => {
            Err(MediumError::OtherNode { instance_id: told.instance_id.clone() })
        }
        _ => Err(MediumError::Silent),
    })
}

fn embedded(case: &NodeContext<'_>) -> Result<CheckResult, MediumError> {
    match case.told().and_then(|told| told.extensions.as_ref()) {
        None => Ok(CheckResult::unknown("the node does not report its extensions")),
        Some(all) if all.iter().any(|it| it.name == EMBEDDED) => {
            Ok(CheckResult::holds("the image has an embedded configuration"))
        }
        Some(_) => Err(MediumError::NotEmbedded),
    }
}

/// Before it is configured, a document for the service that routes is what can be seen of the first configuration.
pub(super) fn first_configuration(case: &NodeContext<'_>) -> Option<CheckResult> {
    if !case.is_early() {
        return None;
    }
    let service = case.expected.service.as_ref().filter(|_| case.has_documents())?;
    let name = service.trim_start_matches("ext-");
    Some(match &case.detail()?.documents {
        Err(error) => CheckResult::unknown(error.to_string()),
        Ok(documents) if documents.contains(name) => {
            CheckResult::holds(format!("the document for {name} is active"))
        }
        Ok(documents) => CheckResult::broken(
            if documents.is_empty() {
                "no document for an extension service is active".to_owned()
            } else {
                format!("documents are active for {}, none for {name}", list(documents))
            },
            "the boot media hold another configuration, or Talos rejected it: run `ichor media inspect` on them, \
             or read the console",
        ),
    })
}

pub(super) fn configuration(case: &NodeContext<'_>) -> Option<CheckResult> {
    if case.is_early() {
        return None;
    }
    let Some(told) = case.told() else { return Some(case.silent()) };
    Some(match &told.drift {
        None => CheckResult::unknown(
            "comparing the configuration needs the cluster's secrets and administrator access",
        ),
        Some(keys) if keys.is_empty() => CheckResult::holds("identical to what `ichor build` writes"),
        Some(keys) => CheckResult::broken(
            format!("the configuration differs in {}", keys.join(", ")),
            "`ichor up` applies the one of the cluster file; if the node is right, correct the cluster file",
        ),
    })
}

pub(super) fn extensions(case: &NodeContext<'_>) -> Option<CheckResult> {
    let (wanted, image) = (&case.expected.extensions, &case.expected.image);
    // What was booted from a medium may have more inside than what is installed.
    let is_known = matches!(image, ExpectedImage::Schematic(_)) && !case.is_early();
    if wanted.is_empty() && !is_known {
        return None;
    }
    let Some(told) = case.told() else { return Some(case.silent()) };
    Some(match &told.extensions {
        None => CheckResult::unknown("the node does not report its extensions"),
        Some(has) => {
            let lacks: Vec<_> =
                wanted.iter().filter(|name| !has.iter().any(|it| it.name == **name)).collect();
            let versions = has.iter().map(|it| format!("{} {}", it.name, it.version));
            let other = if is_known { image.differs(has) } else { None };
            if lacks.is_empty()
                && let Some(other) = other
            {
                CheckResult::broken(other, UPGRADE)
            } else if lacks.is_empty() {
                CheckResult::holds(list(versions))
            } else {
                CheckResult::broken(
                    format!("the image lacks {}; it has {}", list(lacks), or_none(&list(versions))),
                    if case.is_early() {
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

pub(super) fn service(case: &NodeContext<'_>) -> Option<CheckResult> {
    let id = case.expected.service.as_ref().filter(|_| case.has_documents())?;
    let Some(detail) = case.detail() else { return Some(case.silent()) };
    let services = match &detail.services {
        Ok(services) => services,
        Err(error) => return Some(CheckResult::unknown(error.to_string())),
    };
    let remedy = format!("see `ichor logs {} {id}`", case.name());
    Some(match services.get(id) {
        None => CheckResult::broken(
            format!("service {id} not found; the node has {}", list(services.keys())),
            "no extension of its image provides this service: set `routing.service`, or use another image",
        ),
        Some(it) if it.running && it.healthy != Some(false) => CheckResult::holds(format!("{id} is running")),
        Some(it) if it.running => {
            CheckResult::broken(format!("{id} is running but unhealthy{}", last(detail)), remedy)
        }
        Some(_) => {
            let state =
                case.told().and_then(|told| told.down.iter().find(|down| down.starts_with(id.as_str())));
            let state = state
                .map_or_else(|| format!("{id} is not running"), |state| format!("{state} is not running"));
            CheckResult::broken(format!("{state}{}", last(detail)), remedy)
        }
    })
}

/// The last lines of the service that routes, or why there are none.
fn last(detail: &NodeDetail) -> String {
    match &detail.log {
        Ok(lines) if lines.is_empty() => "; its log is empty".to_owned(),
        Ok(lines) => format!("; last log lines:\n{}", lines.join("\n")),
        Err(why) => format!("; cannot read its log: {why}"),
    }
}
