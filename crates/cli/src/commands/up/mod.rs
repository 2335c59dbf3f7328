//! `up`: bring a cluster up, from any state to healthy.

mod output;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ichor_core::rules::Severity;
use ichor_talos::secrets::{Bundle, Pair};

use crate::argument::{ClusterFile, DryRun, EventFormat, IdentityFile, ImagesFolder, time};
use crate::project::Project;
use crate::refusal::Refusal;
use crate::up::{KubeconfigTarget, Reporter, SourceArgs, UpError, UpOptions, prepare};
use crate::{cluster_secrets, style};

/// Bring a cluster up, from any state to healthy
///
/// The command probes all nodes and prints the plan. It creates virtual machines, inserts their boot media and powers them on, and
/// waits for physical machines. A machine in maintenance mode gets its configuration if it is identified as the node: by the MAC
/// addresses of its ports, its UUID or the fingerprint of its certificate. etcd is bootstrapped once. When the Kubernetes API answers
/// at the cluster's endpoint and the health check of Talos passes, the kubeconfig is merged into yours, and boot media are ejected. A
/// node that matches the cluster file is left alone. Nothing is ever reset.
///
/// Progress is recorded beside the cluster file, in .ichor/CLUSTER/up.json: run the command again to resume.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 the cluster is up, 1 it is not, or with --dry-run something\nwould be done.\n\n\
                        Examples:\n  ichor up --dry-run\n  ichor up\n  ichor up --only solwk03\n  \
                        ichor up --node-address solcp01=10.0.232.14 --json"
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    #[command(flatten)]
    dry_run: DryRun,
    #[command(flatten)]
    events: EventFormat,
    /// Bring up only this node (repeatable)
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
    /// Number of nodes to change at once
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    max_parallel: usize,
    /// Time limit for a node without progress
    #[arg(long, value_name = "DURATION", default_value = "20m", value_parser = time)]
    node_timeout: Duration,
    /// Time limit for the whole run
    #[arg(long, value_name = "DURATION", default_value = "2h", value_parser = time)]
    timeout: Duration,
    /// File to merge the kubeconfig into
    ///
    /// [default: the first file of $KUBECONFIG, or ~/.kube/config]
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
        let consequence = "nothing was changed; fix the errors first";
        return Err(Refusal::findings(project, findings, consequence).into());
    }
    let (bundle, admin) = cluster_secrets::open_secrets(&project, args.identity.path())?;
    let kubeconfig = match &args.kubeconfig {
        _ if args.no_kubeconfig => KubeconfigTarget::None,
        Some(file) => KubeconfigTarget::File(file.clone()),
        None => KubeconfigTarget::Usual,
    };
    let order = UpOptions {
        file: &args.cluster.file,
        identity: args.identity.path(),
        only: &args.only,
        sources: &args.sources,
        images: &args.images.images,
        dry_run: args.dry_run.enabled,
        json: args.events.json,
        at_once: args.max_parallel,
        kubeconfig,
        node_timeout: args.node_timeout,
        timeout: args.timeout,
    };
    bring_up(&project, (&bundle, &admin), &order, out)
}

/// Brings a cluster up, or prints what would be done.
fn bring_up(
    project: &Project,
    secrets: (&Bundle, &Pair),
    order: &UpOptions<'_>,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let prepared = match prepare(project, secrets, order) {
        Ok(prepared) => prepared,
        Err(UpError::Unrendered(errors)) => {
            return Ok(output::print_render_errors(&errors, order, start, out)?);
        }
        Err(UpError::Obstacles(obstacles)) => {
            return Ok(output::print_blockers(project, &obstacles, order, start, out)?);
        }
        Err(error) => return Err(error.into()),
    };
    let reporter = Reporter::new(order.json);
    output::print_plan(&reporter, &prepared.wanted, &prepared.seen, &prepared.foreseen, order, out)?;
    let idle = prepared.foreseen.is_empty();
    if order.dry_run {
        return Ok(ExitCode::from(u8::from(!idle)));
    }
    if let Some(note) = project.cilium().write_lock()? {
        style::say(&note);
    }
    let wanted = prepared.wanted.clone();
    let Some(outcome) = prepared.run(reporter)? else { return Ok(output::print_interrupted(order, start)) };
    Ok(output::print_end(&wanted, &outcome, idle, order, out)?)
}
