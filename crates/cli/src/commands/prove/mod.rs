//! `prove`: simulate BGP over the fabric and every failure in it.

mod json;
mod route;
mod text;

use std::io::Write;
use std::process::ExitCode;
use std::thread;

use anyhow::bail;
use ichor_core::prove::{FailureAnalysis, FailureScope, Proof, ProofModel};
use ichor_values::nearest;

use crate::argument::{ClusterFile, OutputFormat};
use crate::progress::Progress;
use crate::refusal::Refusal;

/// Simulate BGP over the fabric and check reachability under failures
///
/// The command computes from the cluster file how BGP propagates every prefix between nodes, leafs, spines, gateways and speakers. Then
/// it removes every node, router, link and speaker in turn. A destination that is lost although the topology has another path fails the
/// check. A destination that is lost because it has no redundant path is reported.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Name a link by either end, as `cp1:fab0` or `leaf1:swp3`: all sessions over it\nfail. `cp1:leaf1` is all sessions between the two, and `cp1:metallb` is a speaker.\n\n\
                        Exit status: 0 all checks pass (and everything is redundant, with\n`--deny warnings`), 1 a check fails, 2 the fabric cannot be computed.\n\n\
                        Examples:\n  ichor prove\n  ichor prove --k 2\n  ichor prove --fail leaf1 --fail cp1:fab1\n  \
                        ichor prove --to 10.0.0.100\n  ichor prove --json"
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Remove this node, router, link or speaker (repeatable, all at once)
    #[arg(long, value_name = "NAME")]
    fail: Vec<String>,
    /// Number of simultaneous failures: 0, 1 or 2
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2), conflicts_with = "fail")]
    k: u8,
    /// Show the path from every node and router to this address
    #[arg(long, value_name = "ADDRESS")]
    to: Option<std::net::IpAddr>,
    /// Treat findings of this severity as errors
    #[arg(long, value_enum, value_name = "SEVERITY")]
    deny: Option<super::check::DenyLevel>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let subject = ProofModel::from_plan(&project.cluster, &project.plan).map_err(Refusal::reasons)?;
    if subject.network.nodes.is_empty() {
        bail!("{} has no fabric to simulate: no node has `routing`", args.cluster.file.display());
    }
    if let Some(address) = args.to {
        return route::run(
            &subject,
            &project.plan,
            address,
            &failures(&subject, &args.fail)?,
            args.format.json,
            out,
        );
    }
    let scope = scope(&subject, args)?;
    let study = {
        let _progress = Progress::start("simulating");
        run_study(&subject, &scope)?
    };
    let proof = Proof::new(&project.plan, &subject, study);
    if args.format.json {
        json::print(&subject, &proof, &scope, out)?;
    } else {
        text::print(&project, &subject, &proof, &scope, out)?;
    }
    let holds = proof.holds() && !(args.deny.is_some() && proof.has_warnings());
    Ok(ExitCode::from(u8::from(!holds)))
}

fn scope(subject: &ProofModel, args: &Args) -> anyhow::Result<FailureScope> {
    if !args.fail.is_empty() {
        return Ok(FailureScope::Together(failures(subject, &args.fail)?));
    }
    let failures = if args.k == 0 { Vec::new() } else { subject.failures() };
    Ok(FailureScope::Each { failures, pairs: args.k == 2 })
}

/// Finds the failures with these names.
pub(crate) fn failures(
    subject: &ProofModel,
    names: &[String],
) -> anyhow::Result<Vec<ichor_core::prove::failure::Failure>> {
    names
        .iter()
        .map(|name| match subject.failure(name) {
            Some(failure) => Ok(failure),
            None => {
                let known: Vec<_> =
                    subject.failures().into_iter().map(|failure| subject.name(failure)).collect();
                match nearest(name, known.iter().map(String::as_str)) {
                    Some(near) => bail!("unknown name `{name}`; did you mean `{near}`?"),
                    None => bail!(
                        "unknown name `{name}`; want a node, a router, a link such as `cp1:fab0` or a speaker such as `cp1:metallb`"
                    ),
                }
            }
        })
        .collect()
}

/// Simulates all destinations, in parallel.
fn run_study(subject: &ProofModel, scope: &FailureScope) -> anyhow::Result<FailureAnalysis> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = subject.destinations.len().div_ceil(workers).max(1);
    thread::scope(|threads| {
        let workers: Vec<_> = subject
            .destinations
            .chunks(share)
            .map(|some| threads.spawn(|| subject.analyse(some, scope)))
            .collect();
        let mut analysis = FailureAnalysis::default();
        for worker in workers {
            analysis.join(worker.join().map_err(|_| anyhow::anyhow!("the simulation panicked"))?);
        }
        Ok(analysis)
    })
}
