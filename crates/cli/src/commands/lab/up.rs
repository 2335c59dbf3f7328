//! `lab up`: start the fabric of a cluster and wait for its sessions.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use ichor_core::cluster::section::Firmware;
use ichor_core::lab::topology::MachineRole;
use ichor_core::lab::{HostCapabilities, LabTopology, TopologyInputs};
use ichor_core::plan::VmPlan;
use ichor_core::prove::ProofModel;
use ichor_values::{Issue, Secret, TalosVersion};
use nix::unistd::geteuid;
use sha2::{Digest as _, Sha256};

use super::guests;
use super::output::print_lab;
use crate::argument::{ClusterFile, OutputFormat};
use crate::cluster_secrets::SecretCache;
use crate::commands::talos::known_release;
use crate::lab::accelerator::Accelerator;
use crate::lab::builder::{LabBuilder, PendingCounts};
use crate::lab::collect::Collector;
use crate::lab::guest::GuestSettings;
use crate::lab::host::RequiredProgram;
use crate::lab::vm::{self, LabSummary, VmRequest};
use crate::lab::{Lab, LabDir, LabError, LabRecord, LockedLabDir, host};
use crate::project::Project;
use crate::refusal::Refusal;
use crate::{report, style};

/// The session password where the configured one cannot be fetched.
const PASSWORD: &str = "ichor-lab";

/// Time limit for sessions to be established.
const TIMEOUT: Duration = Duration::from_secs(90);
const VM_TIMEOUT: Duration = Duration::from_mins(5);
const EMULATED_TIMEOUT: Duration = Duration::from_mins(10);

/// Start the fabric of a cluster on this host
///
/// The command waits until every expected session is established, and reports where the lab differs from the cluster file. Without
/// root, or if the cluster needs VRFs and the kernel has none, the lab runs in a virtual machine. A lab that does not come up is
/// removed, unless --keep is set. With --image, nodes are virtual machines that boot Talos.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 every expected session is established, 1 not all are, 2 the lab\ncannot be started.\n\n\
                        Examples:\n  ichor lab up\n  ichor lab up examples/namespace/ichor.yaml --name second\n  \
                        ichor lab up --root /srv/trixie\n  ichor lab up --image nocloud-amd64.iso --talos v1.13.9"
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Name of the lab [default: the cluster's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Root file system with the BGP daemons [default: that of this host]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Agent binary of the nodes [default: ichor-agent next to ichor]
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
    /// Time limit for sessions to be established, in seconds
    ///
    /// [default: 90; 300 with --image; 600 on an emulated processor]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Talos ISO that the nodes boot as virtual machines
    #[arg(long, value_name = "FILE", requires = "talos")]
    image: Option<PathBuf>,
    /// Talos release of the image
    #[arg(long, value_name = "VERSION", requires = "image", value_parser = known_release)]
    talos: Option<TalosVersion>,
    /// Accelerator of virtual machines [default: kvm if it works, else tcg]
    #[arg(long, value_name = "ACCELERATOR")]
    accel: Option<Accelerator>,
    /// End a running lab of the same name first
    #[arg(long)]
    replace: bool,
    /// Keep a lab that does not come up
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    format: OutputFormat,
}

impl Args {
    fn session_timeout(&self, record: &LabRecord) -> Duration {
        let default = match record {
            LabRecord { emulated: true, .. } => EMULATED_TIMEOUT,
            LabRecord { guests: Some(_), .. } => VM_TIMEOUT,
            _ => TIMEOUT,
        };
        self.timeout.map_or(default, Duration::from_secs)
    }
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let subject = ProofModel::from_plan(&project.cluster, &project.plan).map_err(Refusal::reasons)?;
    if subject.network.nodes.is_empty() {
        bail!("{} has no fabric to start: no node has `routing`", args.cluster.file.display());
    }
    let root = args.root.as_deref().map(fs::canonicalize).transpose().context("--root")?;
    // `/` is the same as no --root.
    let root = root.filter(|root| root != Path::new("/"));
    let image = image(args, &project, &subject)?;
    host::check_programs(&needs(&project, &subject, image.is_some()), root.as_deref())?;
    let capabilities = host::detect_host(root.as_deref());
    let topology = derive_topology(&project, &subject, &capabilities, image.is_some())
        .map_err(|errors| unrenderable(&errors))?;
    let name = args.name.clone().unwrap_or_else(|| topology.cluster.clone());
    let dir = LabDir::named(&name)?;
    if args.replace && dir.is_alive() {
        dir.end()?;
    }
    if !vm::is_inside() && (!geteuid().is_root() || (topology.needs_vrf() && !capabilities.vrf)) {
        if image.is_some() {
            bail!(
                "cannot start virtual machines: --image needs root, and a kernel with VRFs if the cluster uses them"
            );
        }
        let (nodes, routers) = count_machines(&topology);
        let wanted = VmRequest {
            machines: topology.machines.len(),
            content: Some(LabSummary { file: canonical(&args.cluster.file)?, nodes, routers }),
            accelerator: args.accel,
            keep: args.keep,
        };
        return Ok(vm::rerun_in_vm(&dir, Some(wanted), &[])?);
    }
    let guests = image.map(|(image, talos)| guests(args, image, &talos)).transpose()?;
    let record = new_record(args, &project, topology, capabilities, root, guests)?;
    let timeout = args.session_timeout(&record);
    let Some(taken) = dir.clone().acquire()? else {
        return report_unchanged(&dir, &record, args.format.json, out);
    };
    let built = build(args, &project, taken, record, out);
    if !args.keep && !matches!(built, Ok(None)) {
        dir.end()?;
    }
    Ok(match built? {
        None => ExitCode::SUCCESS,
        Some(unsettled) => {
            style::say(&format!("after {} s {unsettled}", timeout.as_secs()));
            ExitCode::from(1)
        }
    })
}

/// Builds a lab and prints its state; returns the sessions that were not established in time.
fn build(
    args: &Args,
    project: &Project,
    taken: LockedLabDir,
    record: LabRecord,
    out: &mut dyn Write,
) -> anyhow::Result<Option<PendingCounts>> {
    if record.guests.is_some() {
        guests::write_boot_media(&taken.dir, project, &record.topology)?;
    }
    let timeout = args.session_timeout(&record);
    let mut site = LabBuilder::start(taken, record, args.keep)?;
    let unsettled = site.wait_for_sessions(timeout)?;
    print_lab(&site.lab, args.keep || unsettled.is_none(), args.format.json, out)?;
    if unsettled.is_none() {
        site.keep_alive()?;
    }
    Ok(unsettled)
}

/// The image that nodes boot and its release, after validation.
fn image(
    args: &Args,
    project: &Project,
    subject: &ProofModel,
) -> anyhow::Result<Option<(PathBuf, TalosVersion)>> {
    let (Some(image), Some(talos)) = (&args.image, &args.talos) else { return Ok(None) };
    let nodes: Vec<_> = subject.network.nodes.iter().map(|model| &project.plan.nodes[model.nth]).collect();
    Ok(Some((guests::validate_image(image, talos, &nodes)?, talos.clone())))
}

/// The programs that the lab needs.
fn needs(project: &Project, subject: &ProofModel, guests: bool) -> Vec<RequiredProgram> {
    if !guests {
        return host::required_programs(&project.plan, &subject.network);
    }
    let uefi = |vm: &VmPlan| vm.firmware.value == Firmware::Ovmf;
    host::programs_for_vms(project.plan.nodes.iter().filter_map(|node| node.vm.as_deref()).any(uefi))
}

/// The image and accelerator of the virtual machines.
fn guests(args: &Args, image: PathBuf, talos: &TalosVersion) -> anyhow::Result<GuestSettings> {
    let accelerator = match args.accel {
        Some(accelerator) => accelerator,
        None => Accelerator::best().context("cannot try KVM")?,
    };
    if accelerator == Accelerator::Tcg {
        let note = "the virtual machines run on an emulated processor: they are slow, and measured times are meaningless";
        style::say(&format!("{}note:{} {note}", style::NOTE, style::NOTE.render_reset()));
    }
    Ok(GuestSettings { image, talos: talos.to_string(), accelerator })
}

fn unrenderable(errors: &[Issue]) -> Refusal {
    // A closed stderr is not an error.
    let _ = report::unrendered(&mut anstream::stderr(), errors);
    Refusal::Printed
}

fn derive_topology(
    project: &Project,
    subject: &ProofModel,
    capabilities: &HostCapabilities,
    guests: bool,
) -> Result<LabTopology, Vec<Issue>> {
    let vault = SecretCache::new(project.name());
    let unknown = AtomicBool::new(false);
    // Both ends of a session are in the lab: any common password works.
    let secret = |reference: &Secret| {
        Ok(vault.open(reference).unwrap_or_else(|_| {
            unknown.store(true, Ordering::Relaxed);
            PASSWORD.to_owned()
        }))
    };
    let mut topology = LabTopology::derive(TopologyInputs {
        cluster: &project.cluster,
        plan: &project.plan,
        subject,
        attachments: project.attachments(),
        secret: &secret,
        here: capabilities,
        guests,
    })?;
    if unknown.load(Ordering::Relaxed) {
        topology
            .deviations
            .push("session passwords that cannot be fetched here are replaced at both ends".to_owned());
    }
    Ok(topology)
}

fn new_record(
    args: &Args,
    project: &Project,
    topology: LabTopology,
    host: HostCapabilities,
    root: Option<PathBuf>,
    guests: Option<GuestSettings>,
) -> anyhow::Result<LabRecord> {
    let is_emulated = |guests: &GuestSettings| guests.accelerator == Accelerator::Tcg;
    Ok(LabRecord {
        topology,
        host,
        root,
        agent: agent(args.agent.as_deref())?,
        file: canonical(&args.cluster.file)?,
        sources: digests(project),
        emulated: vm::is_emulated() || guests.as_ref().is_some_and(is_emulated),
        guests,
        switch_pid: 0,
        machine_pids: Vec::new(),
        convergence_ms: None,
    })
}

/// The absolute path of a file.
fn canonical(file: &Path) -> anyhow::Result<PathBuf> {
    fs::canonicalize(file).with_context(|| file.display().to_string())
}

/// The number of nodes and routers of a lab.
pub(super) fn count_machines(topology: &LabTopology) -> (usize, usize) {
    let count = |part: fn(&MachineRole) -> bool| {
        topology.machines.iter().filter(|machine| part(&machine.part)).count()
    };
    let nodes = count(|part| matches!(part, MachineRole::Node { .. } | MachineRole::Guest(_)));
    (nodes, count(|part| matches!(part, MachineRole::Router { .. })))
}

/// SHA-256 of the cluster file and of those it includes.
pub(super) fn digests(project: &Project) -> BTreeMap<String, String> {
    let digest = |text: &str| format!("{:x}", Sha256::digest(text));
    project.sources.0.iter().map(|source| (source.name.clone(), digest(&source.text))).collect()
}

/// The agent that runs on the nodes.
fn agent(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let beside = || Some(env::current_exe().ok()?.with_file_name("ichor-agent"));
    let path = named.map(Path::to_owned).or_else(beside).context("cannot find the path of this program")?;
    fs::canonicalize(&path).with_context(|| {
        format!("no agent at {}; build it with `make agent`, or pass --agent", path.display())
    })
}

/// Reports a lab that is already running with the same content.
fn report_unchanged(
    dir: &LabDir,
    wanted: &LabRecord,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    let still_starting = || LabError::Starting(dir.name().to_owned());
    // A lab that is still starting has no record.
    let lab = Lab::open(Some(dir.name())).map_err(|_| still_starting())?;
    if lab.record.convergence_ms.is_none() {
        return Err(still_starting().into());
    }
    let is_same = lab.record.topology == wanted.topology
        && lab.record.root == wanted.root
        && lab.record.agent == wanted.agent
        && lab.record.guests == wanted.guests;
    if !is_same {
        return Err(LabError::AlreadyRuns(dir.name().to_owned()).into());
    }
    print_lab(&lab, true, json, out)?;
    style::say("the lab is already running; nothing has changed");
    let status = Collector::new(&lab).collect();
    if !status.ok {
        let (up, all) = status.session_counts();
        style::say(&format!("{up} of {all} sessions are up; `ichor lab status` reports the problems"));
    }
    Ok(ExitCode::from(u8::from(!status.ok)))
}
