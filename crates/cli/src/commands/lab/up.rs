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
use ichor_core::cluster::section::Firmware;
use ichor_core::lab::scene::Part;
use ichor_core::lab::{Here, Order, Scene};
use ichor_core::plan::VmPlan;
use ichor_core::prove::Subject;
use ichor_values::{Issue, Secret, TalosVersion};
use nix::unistd::geteuid;
use sha2::{Digest as _, Sha256};

use super::guests;
use super::told::tell;
use crate::argument::{ClusterFile, Format};
use crate::commands::talos::known_release;
use crate::lab::accelerator::Accelerator;
use crate::lab::build::{Site, Unsettled};
use crate::lab::guest::Guests;
use crate::lab::here::Need;
use crate::lab::vm::{self, Content, Wanted};
use crate::lab::{Lab, LabError, Place, Record, Taken, here};
use crate::project::Project;
use crate::refused::Refused;
use crate::vault::Vault;
use crate::{report, style};

/// The password of a session whose own cannot be had.
const PASSWORD: &str = "ichor-lab";

/// How long sessions may take to come up.
const PATIENCE: Duration = Duration::from_secs(90);
const GUEST_PATIENCE: Duration = Duration::from_mins(5);
const EMULATED_PATIENCE: Duration = Duration::from_mins(10);

/// Bring the fabric of a cluster up on this machine
///
/// Where the kernel has no VRFs and the cluster needs them, and for whoever is not root, it runs in a virtual machine. Waits
/// until every session that shall come up is established, and tells what is other here than the file says. A lab that
/// does not come up leaves nothing behind. With --image, nodes are virtual machines that boot Talos.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 every session that shall be is established, 1 some are not, 2 it could not be built.\n\n\
                        Examples:\n  ichor lab up\n  ichor lab up examples/namespace/ichor.yaml --name second\n  \
                        ichor lab up --root /srv/trixie\n  ichor lab up --image nocloud-amd64.iso --talos v1.13.9"
)]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Name of the lab; that of the cluster when left out
    #[arg(long)]
    name: Option<String>,
    /// File system with the routing daemons; this machine's own when left out
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The agent of the nodes; `ichor-agent` beside this program when left out
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
    /// Seconds that sessions may take to come up; when left out 90, of virtual machines 300, and 600 on an emulated processor
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// CD of Talos that nodes boot, each as a virtual machine with what `ichor build` makes for it
    #[arg(long, value_name = "ISO", requires = "talos")]
    image: Option<PathBuf>,
    /// Talos release of the image
    #[arg(long, value_name = "VERSION", requires = "image", value_parser = known_release)]
    talos: Option<TalosVersion>,
    /// What runs the code of virtual machines, where there are any
    #[arg(long)]
    accel: Option<Accelerator>,
    /// End a lab of this name that runs already
    #[arg(long)]
    replace: bool,
    /// Leave what was built when it does not come up
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    format: Format,
}

impl Args {
    fn patience(&self, record: &Record) -> Duration {
        let usual = match record {
            Record { emulated: true, .. } => EMULATED_PATIENCE,
            Record { guests: Some(_), .. } => GUEST_PATIENCE,
            _ => PATIENCE,
        };
        self.timeout.map_or(usual, Duration::from_secs)
    }
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let subject = Subject::of(&project.cluster, &project.plan).map_err(Refused::reasons)?;
    if subject.network.nodes.is_empty() {
        bail!("no node of {} routes: there is no fabric to bring up", args.cluster.file.display());
    }
    let root = args.root.as_deref().map(fs::canonicalize).transpose().context("--root")?;
    // This machine's own file system is what there is without another.
    let root = root.filter(|root| root != Path::new("/"));
    let image = image(args, &project, &subject)?;
    here::judge(&needs(&project, &subject, image.is_some()), root.as_deref())?;
    let here = here::look(root.as_deref());
    let scene = scene(&project, &subject, &here, image.is_some()).map_err(|errors| unrenderable(&errors))?;
    let name = args.name.clone().unwrap_or_else(|| scene.cluster.clone());
    let place = Place::of(&name)?;
    if args.replace && place.is_alive() {
        place.end()?;
    }
    if !vm::is_here() && (!geteuid().is_root() || (scene.needs_vrf() && !here.vrf)) {
        if image.is_some() {
            bail!("with --image a lab needs root, and a kernel with VRFs where the cluster has them");
        }
        let (nodes, routers) = counts(&scene);
        let wanted = Wanted {
            machines: scene.machines.len(),
            content: Some(Content { file: canonical(&args.cluster.file)?, nodes, routers }),
            accelerator: args.accel,
            keep: args.keep,
        };
        return Ok(vm::hand_over_all(&place, Some(wanted), &[])?);
    }
    let guests = image.map(|(image, talos)| guests(args, image, &talos)).transpose()?;
    let record = record(args, &project, scene, here, root, guests)?;
    let patience = args.patience(&record);
    let Some(taken) = place.clone().take()? else { return unchanged(&place, &record, args.format.json, out) };
    let built = build(args, &project, taken, record, out);
    if !args.keep && !matches!(built, Ok(None)) {
        place.end()?;
    }
    Ok(match built? {
        None => ExitCode::SUCCESS,
        Some(unsettled) => {
            style::say(&format!("after {} s {unsettled}", patience.as_secs()));
            ExitCode::from(1)
        }
    })
}

/// Builds a lab and tells what came of it; what is not as it shall be, where the time was too short.
fn build(
    args: &Args,
    project: &Project,
    taken: Taken,
    record: Record,
    out: &mut dyn Write,
) -> anyhow::Result<Option<Unsettled>> {
    if record.guests.is_some() {
        guests::write(&taken.place, project, &record.scene)?;
    }
    let patience = args.patience(&record);
    let mut site = Site::begin(taken, record, args.keep)?;
    let unsettled = site.settle(patience)?;
    tell(&site.lab, args.keep || unsettled.is_none(), args.format.json, out)?;
    if unsettled.is_none() {
        site.stay()?;
    }
    Ok(unsettled)
}

/// The image that nodes boot, with its release, if they can.
fn image(
    args: &Args,
    project: &Project,
    subject: &Subject,
) -> anyhow::Result<Option<(PathBuf, TalosVersion)>> {
    let (Some(image), Some(talos)) = (&args.image, &args.talos) else { return Ok(None) };
    let nodes: Vec<_> = subject.network.nodes.iter().map(|model| &project.plan.nodes[model.nth]).collect();
    Ok(Some((guests::judge(image, talos, &nodes)?, talos.clone())))
}

/// The programs that it takes.
fn needs(project: &Project, subject: &Subject, guests: bool) -> Vec<Need> {
    if !guests {
        return here::needs(&project.plan, &subject.network);
    }
    let uefi = |vm: &VmPlan| vm.firmware.value == Firmware::Ovmf;
    here::needs_of_guests(project.plan.nodes.iter().filter_map(|node| node.vm.as_deref()).any(uefi))
}

/// What virtual machines boot, and what runs their code.
fn guests(args: &Args, image: PathBuf, talos: &TalosVersion) -> anyhow::Result<Guests> {
    let accelerator = match args.accel {
        Some(accelerator) => accelerator,
        None => Accelerator::best().context("cannot try KVM")?,
    };
    if accelerator == Accelerator::Tcg {
        let note = "the virtual machines run on an emulated processor: all is slow, and times say nothing";
        style::say(&format!("{}note:{} {note}", style::NOTE, style::NOTE.render_reset()));
    }
    Ok(Guests { image, talos: talos.to_string(), accelerator })
}

fn unrenderable(errors: &[Issue]) -> Refused {
    // Nobody listening is no error.
    let _ = report::unrendered(&mut anstream::stderr(), errors);
    Refused::Printed
}

fn scene(project: &Project, subject: &Subject, here: &Here, guests: bool) -> Result<Scene, Vec<Issue>> {
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
        guests,
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
    guests: Option<Guests>,
) -> anyhow::Result<Record> {
    let is_emulated = |guests: &Guests| guests.accelerator == Accelerator::Tcg;
    Ok(Record {
        scene,
        here,
        root,
        agent: agent(args.agent.as_deref())?,
        file: canonical(&args.cluster.file)?,
        sources: digests(project),
        emulated: vm::is_emulated() || guests.as_ref().is_some_and(is_emulated),
        guests,
        hub: 0,
        machines: Vec::new(),
        took: None,
    })
}

/// A file, as it is named from the root of the file system.
fn canonical(file: &Path) -> anyhow::Result<PathBuf> {
    fs::canonicalize(file).with_context(|| file.display().to_string())
}

/// How many nodes and routers a scene has.
pub(super) fn counts(scene: &Scene) -> (usize, usize) {
    let count = |part: fn(&Part) -> bool| scene.machines.iter().filter(|machine| part(&machine.part)).count();
    let nodes = count(|part| matches!(part, Part::Node { .. } | Part::Guest(_)));
    (nodes, count(|part| matches!(part, Part::Router { .. })))
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
    let rises = || LabError::Rises(place.name().to_owned());
    // Nothing is written down of one that is just begun.
    let lab = Lab::open(Some(place.name())).map_err(|_| rises())?;
    if lab.record.took.is_none() {
        return Err(rises().into());
    }
    let same = lab.record.scene == wanted.scene
        && lab.record.root == wanted.root
        && lab.record.agent == wanted.agent
        && lab.record.guests == wanted.guests;
    if !same {
        return Err(LabError::Runs(place.name().to_owned()).into());
    }
    tell(&lab, true, json, out)?;
    style::say("it ran already, and nothing has changed");
    Ok(ExitCode::SUCCESS)
}
