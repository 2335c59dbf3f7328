//! The result of the simulation as text and tables.

use std::io::Write;

use ichor_bgp::setting::RouterRole;
use ichor_core::prove::analysis::{DestinationReach, FailureOutcome};
use ichor_core::prove::examples::Examples;
use ichor_core::prove::failure::Failure;
use ichor_core::prove::intent::Intent;
use ichor_core::prove::{FailureScope, Proof, ProofModel};

use crate::project::Project;
use crate::style::{BOLD, DIM, ERROR, GOOD, WARNING};
use crate::table;

/// Prefixes are grouped if there are more rows than this.
const MAX_ROWS: usize = 24;

pub(super) fn print(
    project: &Project,
    subject: &ProofModel,
    proof: &Proof,
    scope: &FailureScope,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let name = &project.plan.cluster.name;
    writeln!(out, "{BOLD}{name}{BOLD:#}: {}\n", describe_fabric(subject))?;
    let announced = !proof.study.reaches.is_empty();
    if announced {
        prefixes(subject, &proof.study.reaches, out)?;
        writeln!(out)?;
    }
    for intent in &proof.intents {
        print_intent(intent, out)?;
    }
    if announced { failures(subject, proof, scope, out) } else { Ok(()) }
}

/// The number of nodes, routers and sessions.
fn describe_fabric(subject: &ProofModel) -> String {
    let of_role = |role| subject.network.routers.iter().filter(|router| router.role == role).count();
    let mut parts = vec![count(subject.network.nodes.len(), "node")];
    for (role, word) in
        [(RouterRole::Leaf, "leaf"), (RouterRole::Spine, "spine"), (RouterRole::Gateway, "gateway")]
    {
        if of_role(role) > 0 {
            parts.push(count(of_role(role), word));
        }
    }
    parts.push(count(subject.network.sessions.len(), "session"));
    parts.join(", ")
}

fn count(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

fn prefixes(subject: &ProofModel, reaches: &[DestinationReach], out: &mut dyn Write) -> anyhow::Result<()> {
    let mut groups: Vec<(&DestinationReach, Vec<&DestinationReach>)> = Vec::new();
    for reach in reaches {
        let like = |known: &DestinationReach| {
            (&known.kind, known.routers, known.paths, known.longest, known.from.len())
                == (&reach.kind, reach.routers, reach.paths, reach.longest, reach.from.len())
        };
        let group = groups.iter_mut().find(|(known, _)| reaches.len() > MAX_ROWS && like(known));
        match group {
            Some((_, members)) => members.push(reach),
            None => groups.push((reach, vec![reach])),
        }
    }
    let routers = subject.network.routers.len();
    let rows: Vec<_> = groups.iter().map(|(one, members)| row(subject, one, members, routers)).collect();
    table::print(out, &["KIND", "PREFIXES", "ORIGIN", "ROUTERS", "PATHS", "AS PATH LENGTH"], &rows)?;
    Ok(())
}

fn row(
    subject: &ProofModel,
    one: &DestinationReach,
    members: &[&DestinationReach],
    routers: usize,
) -> Vec<String> {
    let nets: Vec<String> = members.iter().flat_map(|reach| &reach.nets).map(ToString::to_string).collect();
    let mut from: Vec<&str> = members
        .iter()
        .flat_map(|reach| &reach.from)
        .map(|vertex| subject.graph.vertices[*vertex as usize].name.as_str())
        .collect();
    from.dedup();
    let paths = match one.paths {
        (least, most) if least == most => least.to_string(),
        (least, most) => format!("{least} to {most}"),
    };
    vec![
        one.kind.to_string(),
        table::names(nets.iter().map(String::as_str)),
        if from.is_empty() { "none".to_owned() } else { table::names(from) },
        format!("{} of {routers}", one.routers),
        paths,
        one.longest.to_string(),
    ]
}

fn print_intent(intent: &Intent, out: &mut dyn Write) -> anyhow::Result<()> {
    let (style, word) = match (intent.broken.is_empty(), intent.remarks.is_empty()) {
        (false, _) => (ERROR, "broken "),
        (true, false) => (WARNING, "remark "),
        (true, true) => (GOOD, "holds  "),
    };
    writeln!(out, "{style}{word}{style:#}  {}", intent.description)?;
    for tally in [&intent.broken, &intent.remarks] {
        for example in &tally.examples {
            writeln!(out, "         {example}")?;
        }
        print_more(tally.omitted(), out)?;
    }
    Ok(())
}

fn print_more(left: usize, out: &mut dyn Write) -> anyhow::Result<()> {
    if left > 0 {
        writeln!(out, "         {DIM}and {left} more{DIM:#}")?;
    }
    Ok(())
}

fn failures(
    subject: &ProofModel,
    proof: &Proof,
    scope: &FailureScope,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let taken = match scope {
        FailureScope::Together(failures) => format!("without {}", names(subject, failures)),
        FailureScope::Each { failures, .. } if failures.is_empty() => return Ok(()),
        FailureScope::Each { failures, pairs } => {
            let of = |kind: &'static str| {
                let number = failures.iter().filter(|failure| failure.kind(&subject.graph) == kind).count();
                (number > 0).then(|| count(number, kind))
            };
            let kinds: Vec<_> = ["router", "node", "link", "speaker"].into_iter().filter_map(of).collect();
            format!("without any {} of {}", if *pairs { "two" } else { "one" }, kinds.join(", "))
        }
    };
    writeln!(out)?;
    let outcomes = &proof.study.outcomes;
    let broken: Vec<_> = outcomes.iter().filter(|(_, outcome)| !outcome.broken.is_empty()).collect();
    let alone: Vec<_> = outcomes.iter().filter(|(_, outcome)| !outcome.alone.is_empty()).collect();
    if broken.is_empty() {
        writeln!(out, "{GOOD}holds{GOOD:#}    {taken}: no destination is lost that has another path")?;
    } else {
        writeln!(out, "{ERROR}broken{ERROR:#}   {taken}: destinations are lost that have another path")?;
        list(subject, &broken, |outcome| &outcome.broken, out)?;
    }
    if !alone.is_empty() {
        writeln!(
            out,
            "{WARNING}single{WARNING:#}   destinations without a redundant path, lost with these failures"
        )?;
        list(subject, &alone, |outcome| &outcome.alone, out)?;
    }
    Ok(())
}

fn names(subject: &ProofModel, failures: &[Failure]) -> String {
    failures.iter().map(|failure| subject.name(*failure)).collect::<Vec<_>>().join(" and ")
}

/// Largest number of failures that are printed.
const MAX_FAILURES: usize = 10;

fn list(
    subject: &ProofModel,
    outcomes: &[(&Vec<Failure>, &FailureOutcome)],
    losses: impl Fn(&FailureOutcome) -> &Examples,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    for (failures, outcome) in outcomes.iter().take(MAX_FAILURES) {
        let losses = losses(outcome);
        let first = losses.examples.first().map_or("", String::as_str);
        let rest = match losses.beyond_first() {
            0 => String::new(),
            1 => format!(" {DIM}(and 1 more){DIM:#}"),
            many => format!(" {DIM}(and {many} more){DIM:#}"),
        };
        writeln!(out, "         {BOLD}{}{BOLD:#}: {first}{rest}", names(subject, failures))?;
    }
    print_more(outcomes.len().saturating_sub(MAX_FAILURES), out)
}
