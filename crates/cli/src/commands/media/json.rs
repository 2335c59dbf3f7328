//! An inspection as JSON.

use ichor_image::inspect::{Addressing, Inspection, Source, Verdict};
use ichor_talos::extension::Layer;
use ichor_values::TalosVersion;
use serde_json::{Value, json};

use crate::report;

pub(super) fn value(inspection: &Inspection, talos: &TalosVersion) -> Value {
    let found = inspection
        .found
        .iter()
        .map(|found| json!({"name": found.name, "bytes": found.length, "taken_for": found.taken_for}));
    let mistakes = inspection.mistakes.iter().map(report::mistake_json);
    let listed = |operators: bool, key: &str| {
        let list = inspection.addressing.iter().filter(|found| found.is_operator() == operators);
        let item =
            |found: &Addressing| json!({"link": found.link, key: found.address, "by": found.by.word()});
        list.map(item).collect::<Vec<_>>()
    };
    let taken = inspection.taken();
    let sources = inspection.sources.iter().enumerate();
    json!({
        "talos": talos.to_string(),
        "release": inspection.release.as_ref().map(|release| json!({"version": release.version.to_string(), "by": release.by})),
        "extensions": inspection.extensions.as_ref().map(|layers| layers.iter().map(extension).collect::<Vec<_>>()),
        "arguments": inspection.arguments,
        "platform": inspection.platform,
        "outcome": inspection.outcome().word(),
        "hostname": inspection.hostname(),
        "addresses": listed(false, "address"),
        "operators": listed(true, "operator"),
        "network": inspection.network,
        "error": inspection.error,
        "needs_reconcile": inspection.needs_reconcile,
        "found": found.collect::<Vec<_>>(),
        "sources": sources.map(|(nth, found)| source(found, taken == Some(nth))).collect::<Vec<_>>(),
        "config": inspection.shown(talos),
        "mistakes": mistakes.collect::<Vec<_>>(),
    })
}

fn extension(layer: &Layer) -> Value {
    let metadata = &layer.metadata;
    json!({"name": metadata.name, "version": metadata.version, "author": metadata.author, "image": layer.image})
}

fn source(source: &Source, taken: bool) -> Value {
    let mut value = json!({"name": source.name, "verdict": source.verdict.word(), "taken": taken});
    match &source.verdict {
        Verdict::Refused(reasons) => value["reasons"] = json!(reasons),
        Verdict::Elsewhere(place) => value["from"] = json!(place),
        Verdict::Unread(why) => value["unread"] = json!(why),
        Verdict::Nothing | Verdict::Partial(_) | Verdict::Complete(_) => {}
    }
    if let Some(kinds) = source.verdict.kinds() {
        value["documents"] = json!(kinds);
    }
    value
}
