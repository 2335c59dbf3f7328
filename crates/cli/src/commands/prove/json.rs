//! The result of the simulation as JSON.

use std::io::Write;

use ichor_core::prove::analysis::DestinationReach;
use ichor_core::prove::examples::Examples;
use ichor_core::prove::intent::Intent;
use ichor_core::prove::{FailureScope, Proof, ProofModel};
use ichor_core::routing::network::BgpSession;
use serde_json::{Value, json};

pub(super) fn print(
    subject: &ProofModel,
    proof: &Proof,
    scope: &FailureScope,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let network = &subject.network;
    let sessions: Vec<Value> = network
        .sessions
        .iter()
        .zip(&subject.faults)
        .map(|(BgpSession(one, other), fault)| {
            json!({"machines": [network.name(*one), network.name(*other)], "established": fault.is_none(), "problem": fault})
        })
        .collect();
    let outcomes: Vec<Value> = proof
        .study
        .outcomes
        .iter()
        .map(|(failures, outcome)| {
            let names: Vec<_> = failures.iter().map(|failure| subject.name(*failure)).collect();
            json!({"failed": names, "violations": tally(&outcome.broken), "unavoidable": tally(&outcome.alone)})
        })
        .collect();
    let tried = match scope {
        FailureScope::Together(_) => 1,
        FailureScope::Each { failures, pairs: false } => failures.len(),
        FailureScope::Each { failures, pairs: true } => failures.len() * (failures.len() + 1) / 2,
    };
    let reaches: Vec<Value> = proof.study.reaches.iter().map(|it| reach(subject, it)).collect();
    let document = json!({
        "ok": proof.holds(),
        "intents": proof.intents.iter().map(intent).collect::<Vec<_>>(),
        "sessions": sessions,
        "prefixes": reaches,
        "failures": {"simulated_count": tried, "outcomes": outcomes},
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)?;
    Ok(())
}

fn intent(intent: &Intent) -> Value {
    json!({
        "intent": intent.id,
        "description": intent.description,
        "satisfied": intent.broken.is_empty(),
        "violations": tally(&intent.broken),
        "notes": tally(&intent.remarks),
    })
}

fn tally(tally: &Examples) -> Value {
    json!({"count": tally.count, "examples": tally.examples})
}

fn reach(subject: &ProofModel, reach: &DestinationReach) -> Value {
    let from = reach.from.iter().map(|vertex| &subject.graph.vertices[*vertex as usize].name);
    json!({
        "kind": reach.kind.word(),
        "pool": reach.kind.pool(),
        "prefixes": reach.nets.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "origins": from.collect::<Vec<_>>(),
        "router_count": reach.routers,
        "path_count": {"min": reach.paths.0, "max": reach.paths.1},
        "longest_as_path_length": reach.longest,
    })
}
