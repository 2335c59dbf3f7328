//! The inspection report as JSON.

use ichor_image::inspect::{AddressAssignment, ConfigSource, ConfigSourceResult, Inspection};
use ichor_talos::extension::Layer;
use ichor_values::TalosVersion;
use serde_json::{Value, json};

use crate::report;

pub(super) fn value(inspection: &Inspection, talos: &TalosVersion) -> Value {
    let found = inspection.found.iter().map(
        |found| json!({"name": found.name, "size_bytes": found.length, "recognized_as": found.taken_for}),
    );
    let mistakes = inspection.mistakes.iter().map(report::mistake_json);
    let listed = |operators: bool, key: &str| {
        let list = inspection.addressing.iter().filter(|found| found.is_operator() == operators);
        let item = |found: &AddressAssignment| json!({"interface": found.link, key: found.address, "source": found.by.word()});
        list.map(item).collect::<Vec<_>>()
    };
    let taken = inspection.effective_source();
    let sources = inspection.sources.iter().enumerate();
    json!({
        "talos_version": talos.to_string(),
        "media_release": inspection.release.as_ref().map(|release| json!({"talos_version": release.version.to_string(), "source": release.by})),
        "extensions": inspection.extensions.as_ref().map(|layers| layers.iter().map(extension).collect::<Vec<_>>()),
        "kernel_arguments": inspection.arguments,
        "platform": inspection.platform,
        "outcome": inspection.outcome().word(),
        "hostname": inspection.hostname(),
        "addresses": listed(false, "address"),
        "operators": listed(true, "operator"),
        "network": inspection.network,
        "error": inspection.error,
        "needs_reconcile": inspection.needs_reconcile,
        "contents": found.collect::<Vec<_>>(),
        "config_sources": sources.map(|(nth, found)| source(found, taken == Some(nth))).collect::<Vec<_>>(),
        "config": inspection.effective_text(talos),
        "findings": mistakes.collect::<Vec<_>>(),
    })
}

fn extension(layer: &Layer) -> Value {
    let metadata = &layer.metadata;
    json!({"name": metadata.name, "version": metadata.version, "author": metadata.author, "image": layer.image})
}

fn source(source: &ConfigSource, taken: bool) -> Value {
    let mut value = json!({"name": source.name, "result": source.verdict.word(), "used": taken});
    match &source.verdict {
        ConfigSourceResult::Refused(reasons) => value["reasons"] = json!(reasons),
        ConfigSourceResult::Elsewhere(place) => value["location"] = json!(place),
        ConfigSourceResult::Unread(why) => value["error"] = json!(why),
        ConfigSourceResult::Nothing | ConfigSourceResult::Partial(_) | ConfigSourceResult::Complete(_) => {}
    }
    if let Some(kinds) = source.verdict.kinds() {
        value["documents"] = json!(kinds);
    }
    value
}
