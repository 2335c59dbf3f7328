//! `lab up`: bring a cluster's fabric up, and say what came of it.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use ichor_core::cluster::value::Secret;
use ichor_core::lab::{Here, Order, Scene};
use ichor_core::prove::Subject;
use ichor_core::render::machine::RenderError;
use nix::unistd::geteuid;
use sha2::{Digest as _, Sha256};

use super::told::tell;
use crate::commands::build::{Vault, by_reason};
use crate::lab::build::{Site, Unsettled};
use crate::lab::vm::{self, Accelerator, Wanted};
use crate::lab::{Lab, LabError, Place, Record, Taken, here};
use crate::project::{self, Project};
use crate::{report, style};

/// The password of a session whose own cannot be had.
const PASSWORD: &str = "ichor-lab";

/// How long sessions may take to come up.
const PATIENCE: Duration = Duration::from_secs(90);
const EMULATED_PATIENCE: Duration = Duration::from_mins(10);

/// Bring the fabric of a cluster up on this machine
///
/// Where the kernel has no VRFs and the cluster needs them, and for whoever is not root, it runs in a virtual machine. Waits
/// until every session that shall come up is established, and tells what is other here than the file says. A lab that
/// does not come up leaves nothing behind.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 every session that shall be is established, 1 some are not, 2 it could not be built.\n\n\
                        Examples:\n  ichor lab up\n  ichor lab up examples/namespace/ichor.yaml --name second\n  \
                        ichor lab up --root /srv/trixie"
)]
pub(crate) struct Args {
    /// Cluster file
    #[arg(default_value = "ichor.yaml")]
    file: PathBuf,
    /// Name of the lab; that of the cluster when left out
    #[arg(long)]
    name: Option<String>,
    /// File system with the routing daemons; this machine's own when left out
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The agent of the nodes; `ichor-agent` beside this program when left out
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
    /// Seconds that sessions may take to come up; 90 when left out, and 600 on an emulated processor
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// What runs the code of a virtual machine, where one is needed
    #[arg(long)]
    accel: Option<Accelerator>,
    /// End a lab of this name that runs already
    #[arg(long)]
    replace: bool,
    /// Leave what was built when it does not come up
    #[arg(long)]
    keep: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    fn patience(&self) -> Duration {
        self.timeout.map_or(if vm::is_emulated() { EMULATED_PATIENCE } else { PATIENCE }, Duration::from_secs)
    }
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = match project::open(&args.file)? {
        Ok(project) => project,
        Err(refused) => return refused.report(&args.file, out),
    };
    let subject = match Subject::of(&project.cluster, &project.plan) {
        Ok(subject) => subject,
        Err(errors) => return Ok(report::underivable(&errors)),
    };
    if subject.network.nodes.is_empty() {
        bail!("no node of {} routes: there is no fabric to bring up", args.file.display());
    }
    let root = args.root.as_deref().map(fs::canonicalize).transpose().context("--root")?;
    here::judge(&project.plan, &subject.network, root.as_deref())?;
    let here = here::look(root.as_deref());
    let scene = match scene(&project, &subject, &here) {
        Ok(scene) => scene,
        Err(errors) => return Ok(unrenderable(&errors)),
    };
    let name = args.name.clone().unwrap_or_else(|| scene.cluster.clone());
    let place = Place::of(&name)?;
    if args.replace && place.is_alive() {
        place.end()?;
    }
    if !vm::is_here() && (!geteuid().is_root() || (scene.needs_vrf() && !here.vrf)) {
        let wanted = Wanted { machines: scene.machines.len(), accelerator: args.accel, keep: args.keep };
        return vm::hand_over_all(&place, Some(wanted), &[]);
    }
    let record = record(args, &project, scene, here, root)?;
    let Some(taken) = place.clone().take()? else { return unchanged(&place, &record, args.json, out) };
    let built = build(args, taken, record, out);
    if !args.keep && !matches!(built, Ok(None)) {
        place.end()?;
    }
    Ok(match built? {
        None => ExitCode::SUCCESS,
        Some(unsettled) => {
            style::say(&format!("after {} s {unsettled}", args.patience().as_secs()));
            ExitCode::from(1)
        }
    })
}

/// Builds a lab and tells what came of it; what is not as it shall be, where the time was too short.
fn build(
    args: &Args,
    taken: Taken,
    record: Record,
    out: &mut dyn Write,
) -> anyhow::Result<Option<Unsettled>> {
    let mut site = Site::begin(taken, record, args.keep)?;
    let unsettled = site.settle(args.patience())?;
    tell(&site.lab, args.json, out)?;
    if unsettled.is_none() {
        site.stay()?;
    }
    Ok(unsettled)
}

fn unrenderable(errors: &[RenderError]) -> ExitCode {
    for (reason, places) in by_reason(errors) {
        let (colour, end) = (style::ERROR, style::ERROR.render_reset());
        style::say(&format!("{colour}error:{end} {}: {reason}", places.join(", ")));
    }
    ExitCode::from(1)
}

fn scene(project: &Project, subject: &Subject, here: &Here) -> Result<Scene, Vec<RenderError>> {
    let vault = Vault::new(project.name());
    let unknown = AtomicBool::new(false);
    // Both ends of a session are here: whatever they agree on will do.
    let secret = |reference: &Secret| {
        Ok(vault.open(reference).unwrap_or_else(|_| {
            unknown.store(true, Ordering::Relaxed);
            PASSWORD.to_owned()
        }))
    };
    let mut scene = Scene::of(Order {
        cluster: &project.cluster,
        plan: &project.plan,
        subject,
        attachments: project.attachments(),
        secret: &secret,
        here,
    })?;
    if unknown.load(Ordering::Relaxed) {
        scene
            .differs
            .push("passwords of sessions that cannot be had here are others, at both ends".to_owned());
    }
    Ok(scene)
}

fn record(
    args: &Args,
    project: &Project,
    scene: Scene,
    here: Here,
    root: Option<PathBuf>,
) -> anyhow::Result<Record> {
    Ok(Record {
        scene,
        here,
        root,
        agent: agent(args.agent.as_deref())?,
        file: fs::canonicalize(&args.file).with_context(|| args.file.display().to_string())?,
        sources: digests(project),
        emulated: vm::is_emulated(),
        hub: 0,
        machines: Vec::new(),
        took: None,
    })
}

/// SHA-256 of the cluster file and of those it includes.
pub(super) fn digests(project: &Project) -> BTreeMap<String, String> {
    let digest = |text: &str| format!("{:x}", Sha256::digest(text));
    project.sources.0.iter().map(|source| (source.name.clone(), digest(&source.text))).collect()
}

/// The agent that runs on the nodes.
fn agent(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let beside = || Some(env::current_exe().ok()?.with_file_name("ichor-agent"));
    let path = named.map(Path::to_owned).or_else(beside).context("cannot tell where this program is")?;
    fs::canonicalize(&path).with_context(|| {
        format!("there is no agent at {}; `make agent` builds it, or name it with --agent", path.display())
    })
}

/// Says that a lab is there already, if it is the same.
fn unchanged(place: &Place, wanted: &Record, json: bool, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let lab = Lab::open(Some(place.name()))?;
    let same = lab.record.scene == wanted.scene
        && lab.record.root == wanted.root
        && lab.record.agent == wanted.agent
        && lab.record.took.is_some();
    if !same {
        return Err(LabError::Runs(place.name().to_owned()).into());
    }
    tell(&lab, json, out)?;
    style::say("it ran already, and nothing has changed");
    Ok(ExitCode::SUCCESS)
}
