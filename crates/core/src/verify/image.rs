//! From the medium to the service that routes.

use super::case::{Case, list};
use super::{Detail, Known, Verdict};
use crate::cluster::section::BootFrom;
use crate::observe::Image;
use ichor_talos::command_line::CommandLine;

/// What an image with a configuration inside has as an extension.
const EMBEDDED: &str = "embedded-config";
/// The key of META with the network.
const META_NETWORK: &str = "0x0a";
/// What helps an installed node whose image is another one.
const UPGRADE: &str = "`ichor upgrade` installs the image of the file, node by node; where ichor makes it, `ichor image build` comes first";

pub(super) fn medium(case: &Case<'_>) -> Option<Verdict> {
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
                Ok("META has key 10, the network".to_owned())
            } else {
                Err(MediumError::NoNetwork)
            }
        }),
        BootFrom::Embedded => embedded(case),
        BootFrom::Apply => return None,
    };
    Some(read.unwrap_or_else(|evidence| {
        Verdict::broken(
            format!("{evidence}; the file says `boot.from: {}`", from.word()),
            "attach the medium that `ichor build` wrote and boot from it; `ichor media inspect` says what Talos reads of it",
        )
    }))
}

/// What shows that the medium was not read.
#[derive(Debug, thiserror::Error)]
enum MediumError {
    #[error("META has no key 10")]
    NoNetwork,
    #[error("the command line of the kernel has no such {key}")]
    NoArgument { key: &'static str },
    #[error("it booted an image for the platform {platform}, which reads no such medium")]
    OtherPlatform { platform: String },
    #[error("it read the medium of another node, {instance_id}")]
    OtherNode { instance_id: String },
    #[error("its platform tells nothing of a medium")]
    Silent,
    #[error("its image has no configuration inside")]
    NotEmbedded,
}

fn known<T>(
    told: &Known<T>,
    judge: impl FnOnce(&T) -> Result<String, MediumError>,
) -> Result<Verdict, MediumError> {
    match told {
        Ok(told) => judge(told).map(Verdict::holds),
        Err(error) => Ok(Verdict::unknown(error.to_string())),
    }
}

fn argument(
    detail: &Detail,
    key: &'static str,
    is_meant: impl Fn(&str) -> bool,
) -> Result<Verdict, MediumError> {
    known(&detail.command_line, |line| {
        let line = CommandLine::parse(line.as_deref().unwrap_or_default());
        if line.all(key).any(is_meant) {
            Ok(format!("the command line has {key}"))
        } else {
            Err(MediumError::NoArgument { key })
        }
    })
}

/// nocloud tells what stands in `meta-data`, which ichor writes with the name of the node.
fn nocloud(case: &Case<'_>, detail: &Detail) -> Result<Verdict, MediumError> {
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
            Ok(format!("its platform calls it {}", case.name()))
        }
        Some(told) if !told.instance_id.is_empty() => {
            Err(MediumError::OtherNode { instance_id: told.instance_id.clone() })
        }
        _ => Err(MediumError::Silent),
    })
}

fn embedded(case: &Case<'_>) -> Result<Verdict, MediumError> {
    match case.told().and_then(|told| told.extensions.as_ref()) {
        None => Ok(Verdict::unknown("it does not tell its extensions")),
        Some(all) if all.iter().any(|it| it.name == EMBEDDED) => {
            Ok(Verdict::holds("its image has a configuration inside"))
        }
        Some(_) => Err(MediumError::NotEmbedded),
    }
}

/// Before it is configured, a document for the service that routes is what can be seen of the first configuration.
pub(super) fn first_configuration(case: &Case<'_>) -> Option<Verdict> {
    if !case.is_early() {
        return None;
    }
    let service = case.expected.service.as_ref().filter(|_| case.has_documents())?;
    let name = service.trim_start_matches("ext-");
    Some(match &case.detail()?.documents {
        Err(error) => Verdict::unknown(error.to_string()),
        Ok(documents) if documents.contains(name) => {
            Verdict::holds(format!("the document for {name} is in force"))
        }
        Ok(documents) => Verdict::broken(
            if documents.is_empty() {
                "no document for a service is in force".to_owned()
            } else {
                format!("documents are in force for {}, none for {name}", list(documents))
            },
            "the medium has another configuration, or Talos refused it: `ichor media inspect` on the medium says which, \
             and so does the console",
        ),
    })
}

pub(super) fn configuration(case: &Case<'_>) -> Option<Verdict> {
    if case.is_early() {
        return None;
    }
    let Some(told) = case.told() else { return Some(case.silent()) };
    Some(match &told.drift {
        None => Verdict::unknown("it could not be compared: that takes the secrets, and an administrator"),
        Some(keys) if keys.is_empty() => Verdict::holds("it is the one that `ichor build` writes"),
        Some(keys) => Verdict::broken(
            format!("it is another in {}", keys.join(", ")),
            "`ichor up` brings the one of the file; if the node is right, correct the file",
        ),
    })
}

pub(super) fn extensions(case: &Case<'_>) -> Option<Verdict> {
    let (wanted, image) = (&case.expected.extensions, &case.expected.image);
    // What was booted from a medium may have more inside than what is installed.
    let is_known = matches!(image, Image::Schematic(_)) && !case.is_early();
    if wanted.is_empty() && !is_known {
        return None;
    }
    let Some(told) = case.told() else { return Some(case.silent()) };
    Some(match &told.extensions {
        None => Verdict::unknown("it does not tell its extensions"),
        Some(has) => {
            let lacks: Vec<_> =
                wanted.iter().filter(|name| !has.iter().any(|it| it.name == **name)).collect();
            let versions = has.iter().map(|it| format!("{} {}", it.name, it.version));
            let other = if is_known { image.differs(has) } else { None };
            if lacks.is_empty()
                && let Some(other) = other
            {
                Verdict::broken(other, UPGRADE)
            } else if lacks.is_empty() {
                Verdict::holds(list(versions))
            } else {
                Verdict::broken(
                    format!("its image lacks {}; it has {}", list(lacks), or_none(&list(versions))),
                    if case.is_early() {
                        "boot it from the image of the file: `ichor image build`, or `ichor schematic`"
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

pub(super) fn service(case: &Case<'_>) -> Option<Verdict> {
    let id = case.expected.service.as_ref().filter(|_| case.has_documents())?;
    let Some(detail) = case.detail() else { return Some(case.silent()) };
    let services = match &detail.services {
        Ok(services) => services,
        Err(error) => return Some(Verdict::unknown(error.to_string())),
    };
    let remedy = format!("`ichor logs {} {id}` has all it wrote", case.name());
    Some(match services.get(id) {
        None => Verdict::broken(
            format!("there is no service {id}; there are {}", list(services.keys())),
            "the extension in its image has no service of this name: set `routing.service`, or take another image",
        ),
        Some(it) if it.running && it.healthy != Some(false) => Verdict::holds(format!("{id} runs")),
        Some(it) if it.running => {
            Verdict::broken(format!("{id} runs and is not well{}", last(detail)), remedy)
        }
        Some(_) => {
            let state =
                case.told().and_then(|told| told.down.iter().find(|down| down.starts_with(id.as_str())));
            let state =
                state.map_or_else(|| format!("{id} does not run"), |state| format!("{state} does not run"));
            Verdict::broken(format!("{state}{}", last(detail)), remedy)
        }
    })
}

/// The last lines of the service that routes, or why there are none.
fn last(detail: &Detail) -> String {
    match &detail.log {
        Ok(lines) if lines.is_empty() => "; it wrote nothing".to_owned(),
        Ok(lines) => format!("; it last wrote:\n{}", lines.join("\n")),
        Err(why) => format!("; its log cannot be read: {why}"),
    }
}
