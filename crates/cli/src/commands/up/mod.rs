//! `up`: bring a cluster from its file to healthy.

mod told;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ichor_core::rules::Severity;
use ichor_talos::secrets::{Bundle, Pair};

use crate::argument::{ClusterFile, Events, IdentityFile, ImagesFolder, Rehearsal, time};
use crate::project::Project;
use crate::refused::Refused;
use crate::up::{Order, SourceArgs, Target, Teller, UpError, prepare};
use crate::{style, vault};

/// Bring a cluster up, from whatever state it is in to healthy
///
/// The command probes all nodes, and prints the plan. It creates the machines of hypervisors, inserts their boot media and
/// powers them on, and waits for physical ones. A machine in maintenance mode gets its configuration if it
/// is identified as the node: by the MAC addresses of its ports, its UUID or the fingerprint of its certificate. etcd is bootstrapped once. When
/// the Kubernetes API answers at the cluster's endpoint and the health check of Talos passes, the kubeconfig is
/// merged into yours, and boot media are ejected. A node that runs what the file says is left alone; nothing is ever reset.
///
/// Progress is recorded beside the cluster file, in .ichor/CLUSTER/up.json: run the command again to resume.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ichor up --dry-run\n  ichor up\n  ichor up --only solwk03\n  \
                        ichor up --node-address solcp01=10.0.232.14 --json\n\n\
                        Exit status: 0 the cluster is up, 1 it is not, or with --dry-run there is something to do.")]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    #[command(flatten)]
    rehearsal: Rehearsal,
    #[command(flatten)]
    events: Events,
    /// Bring up these nodes only
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
    /// Number of nodes to change at once
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    max_parallel: usize,
    /// Time limit for a node without progress
    #[arg(long, value_name = "TIME", default_value = "20m", value_parser = time)]
    node_timeout: Duration,
    /// Time limit for the whole run
    #[arg(long, value_name = "TIME", default_value = "2h", value_parser = time)]
    timeout: Duration,
    /// File to merge the kubeconfig into; otherwise the first of $KUBECONFIG, or ~/.kube/config
    #[arg(long, value_name = "FILE", conflicts_with = "no_kubeconfig")]
    kubeconfig: Option<PathBuf>,
    /// Do not change any kubeconfig
    #[arg(long)]
    no_kubeconfig: bool,
    #[command(flatten)]
    images: ImagesFolder,
    #[command(flatten)]
    identity: IdentityFile,
    #[command(flatten)]
    sources: SourceArgs,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let findings = project.findings();
    if findings.iter().any(|finding| finding.silenced.is_none() && finding.issue.severity == Severity::Error)
    {
        let consequence = "nothing was done: first mend what is wrong";
        return Err(Refused::findings(project, findings, consequence).into());
    }
    let (bundle, admin) = vault::secrets(&project, args.identity.path())?;
    let kubeconfig = match &args.kubeconfig {
        _ if args.no_kubeconfig => Target::None,
        Some(file) => Target::File(file.clone()),
        None => Target::Usual,
    };
    let order = Order {
        file: &args.cluster.file,
        identity: args.identity.path(),
        only: &args.only,
        sources: &args.sources,
        images: &args.images.images,
        dry_run: args.rehearsal.dry_run,
        json: args.events.json,
        at_once: args.max_parallel,
        kubeconfig,
        node_timeout: args.node_timeout,
        timeout: args.timeout,
    };
    bring_up(&project, (&bundle, &admin), &order, out)
}

/// Brings a cluster up, or says what that would take.
fn bring_up(
    project: &Project,
    secrets: (&Bundle, &Pair),
    order: &Order<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let prepared = match prepare(project, secrets, order) {
        Ok(prepared) => prepared,
        Err(UpError::Unrendered(errors)) => return Ok(told::unrendered(&errors, order, start, out)?),
        Err(UpError::Obstacles(obstacles)) => {
            return Ok(told::obstructed(project, &obstacles, order, start, out)?);
        }
        Err(error) => return Err(error.into()),
    };
    let teller = Teller::new(order.json);
    told::plan(&teller, &prepared.wanted, &prepared.seen, &prepared.foreseen, order, out)?;
    let idle = prepared.foreseen.is_empty();
    if order.dry_run {
        return Ok(ExitCode::from(u8::from(!idle)));
    }
    if let Some(note) = project.cilium().keep()? {
        style::say(&note);
    }
    let wanted = prepared.wanted.clone();
    let Some(outcome) = prepared.run(teller)? else { return Ok(told::stopped(order, start)) };
    Ok(told::end(&wanted, &outcome, idle, order, out)?)
}
