//! `prove`: what BGP will make of the fabric, before any of it exists.

mod json;
mod route;
mod text;

use std::io::Write;
use std::process::ExitCode;
use std::thread;

use anyhow::bail;
use ichor_core::prove::{Proof, Scope, Study, Subject};
use ichor_values::nearest;

use crate::argument::{ClusterFile, Format};
use crate::progress::Progress;
use crate::refused::Refused;

/// Compute BGP over the whole fabric: who reaches what, by how many paths, and after which failures still
///
/// Everything that nodes, leafs, spines, gateways and speakers say to each other follows from the cluster file. The proof lets
/// every prefix spread as BGP would, then takes away one node, router, link or speaker after the other. What is lost although
/// a way is left breaks the proof; what is lost because nothing is wired twice is told as well.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A link is called by one of its ends, as `cp1:fab0` or `leaf1:swp3`, and takes every session over it away; `cp1:leaf1` is \
                        all sessions between the two, a speaker is `cp1:metallb`.\n\n\
                        Exit status: 0 all that the file intends holds (with --deny warnings also: nothing hangs by one thread), \
                        1 it does not, 2 it could not be computed.\n\n\
                        Examples:\n  ichor prove\n  ichor prove --k 2\n  ichor prove --fail leaf1 --fail cp1:fab1\n  \
                        ichor prove --to 10.0.0.100\n  ichor prove --json"
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Take this away; may be given more than once, for all at once
    #[arg(long, value_name = "NAME")]
    fail: Vec<String>,
    /// How many things fail at once: 0, 1 or 2
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=2), conflicts_with = "fail")]
    k: u8,
    /// Show everyone's way to this address
    #[arg(long, value_name = "ADDRESS")]
    to: Option<std::net::IpAddr>,
    /// Count these as broken too
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Option<super::check::Deny>,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let subject = Subject::of(&project.cluster, &project.plan).map_err(Refused::reasons)?;
    if subject.network.nodes.is_empty() {
        bail!("no node of {} routes: there is nothing to prove", args.cluster.file.display());
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
        let _progress = Progress::start("computing");
        study(&subject, &scope)?
    };
    let proof = Proof::of(&project.plan, &subject, study);
    if args.format.json {
        json::print(&subject, &proof, &scope, out)?;
    } else {
        text::print(&project, &subject, &proof, &scope, out)?;
    }
    let holds = proof.holds() && !(args.deny.is_some() && proof.has_warnings());
    Ok(ExitCode::from(u8::from(!holds)))
}

fn scope(subject: &Subject, args: &Args) -> anyhow::Result<Scope> {
    if !args.fail.is_empty() {
        return Ok(Scope::Together(failures(subject, &args.fail)?));
    }
    let failures = if args.k == 0 { Vec::new() } else { subject.failures() };
    Ok(Scope::Each { failures, pairs: args.k == 2 })
}

/// What is meant by names.
pub(crate) fn failures(
    subject: &Subject,
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
                    Some(near) => bail!("nothing is called `{name}`; did you mean `{near}`?"),
                    None => bail!(
                        "nothing is called `{name}`; name a node, a router, a link such as `cp1:fab0` or a speaker such as `cp1:metallb`"
                    ),
                }
            }
        })
        .collect()
}

/// Shares the destinations among the processors.
fn study(subject: &Subject, scope: &Scope) -> anyhow::Result<Study> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = subject.destinations.len().div_ceil(workers).max(1);
    thread::scope(|threads| {
        let hands: Vec<_> = subject
            .destinations
            .chunks(share)
            .map(|some| threads.spawn(|| subject.study(some, scope)))
            .collect();
        let mut whole = Study::default();
        for hand in hands {
            whole.join(hand.join().map_err(|_| anyhow::anyhow!("a part of the proof failed"))?);
        }
        Ok(whole)
    })
}
