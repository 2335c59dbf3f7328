//! The proof for machines.

use std::io::Write;

use ichor_core::prove::intent::Intent;
use ichor_core::prove::study::Reach;
use ichor_core::prove::tally::Tally;
use ichor_core::prove::{Proof, Scope, Subject};
use ichor_core::routing::network::Session;
use serde_json::{Value, json};

pub(super) fn print(
    subject: &Subject,
    proof: &Proof,
    scope: &Scope,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let network = &subject.network;
    let sessions: Vec<Value> = network
        .sessions
        .iter()
        .zip(&subject.faults)
        .map(|(Session(one, other), fault)| {
            json!({"ends": [network.name(*one), network.name(*other)], "up": fault.is_none(), "fault": fault})
        })
        .collect();
    let outcomes: Vec<Value> = proof
        .study
        .outcomes
        .iter()
        .map(|(failures, outcome)| {
            let names: Vec<_> = failures.iter().map(|failure| subject.name(*failure)).collect();
            json!({"without": names, "broken": tally(&outcome.broken), "single": tally(&outcome.alone)})
        })
        .collect();
    let tried = match scope {
        Scope::Together(_) => 1,
        Scope::Each { failures, pairs: false } => failures.len(),
        Scope::Each { failures, pairs: true } => failures.len() * (failures.len() + 1) / 2,
    };
    let reaches: Vec<Value> = proof.study.reaches.iter().map(|it| reach(subject, it)).collect();
    let whole = json!({
        "holds": proof.holds(),
        "intents": proof.intents.iter().map(intent).collect::<Vec<_>>(),
        "sessions": sessions,
        "prefixes": reaches,
        "failures": {"tried": tried, "losses": outcomes},
    });
    serde_json::to_writer_pretty(&mut *out, &whole)?;
    writeln!(out)?;
    Ok(())
}

fn intent(intent: &Intent) -> Value {
    json!({
        "id": intent.id,
        "says": intent.says,
        "holds": intent.broken.is_empty(),
        "broken": tally(&intent.broken),
        "remarks": tally(&intent.remarks),
    })
}

fn tally(tally: &Tally) -> Value {
    json!({"count": tally.count, "examples": tally.examples})
}

fn reach(subject: &Subject, reach: &Reach) -> Value {
    let from = reach.from.iter().map(|vertex| &subject.graph.vertices[*vertex as usize].name);
    json!({
        "kind": reach.kind.to_string(),
        "prefixes": reach.nets.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "from": from.collect::<Vec<_>>(),
        "routers": reach.routers,
        "paths": {"least": reach.paths.0, "most": reach.paths.1},
        "longest": reach.longest,
    })
}
