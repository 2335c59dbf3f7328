//! An inspection as JSON.

use ichor_core::cluster::value::TalosVersion;
use ichor_core::inspect::{Inspection, Source, Verdict};
use serde_json::{Value, json};

pub(super) fn value(inspection: &Inspection, talos: &TalosVersion) -> Value {
    let found = inspection
        .found
        .iter()
        .map(|found| json!({"name": found.name, "bytes": found.length, "taken_for": found.taken_for}));
    let mistakes = inspection
        .mistakes
        .iter()
        .map(|mistake| json!({"rule": mistake.rule, "message": mistake.message, "fix": mistake.fix}));
    let listed = |list: Vec<(String, String)>, key: &str| {
        list.into_iter().map(|(link, value)| json!({"link": link, key: value})).collect::<Vec<_>>()
    };
    json!({
        "talos": talos.to_string(),
        "platform": inspection.platform,
        "outcome": inspection.outcome().word(),
        "hostname": inspection.hostname(),
        "addresses": listed(inspection.addresses(), "address"),
        "operators": listed(inspection.dhcp(), "operator"),
        "network": inspection.network,
        "error": inspection.error,
        "needs_reconcile": inspection.needs_reconcile,
        "found": found.collect::<Vec<_>>(),
        "sources": inspection.sources.iter().map(source).collect::<Vec<_>>(),
        "mistakes": mistakes.collect::<Vec<_>>(),
    })
}

fn source(source: &Source) -> Value {
    let mut value = json!({"name": source.name, "verdict": source.verdict.word()});
    match &source.verdict {
        Verdict::Refused(reasons) => value["reasons"] = json!(reasons),
        Verdict::Elsewhere(place) => value["from"] = json!(place),
        Verdict::Nothing | Verdict::Partial(_) | Verdict::Complete(_) => {}
    }
    if let Some(kinds) = source.verdict.kinds() {
        value["documents"] = json!(kinds);
    }
    value
}
