//! `lab nodes`: simulate the machines of a cluster, by their API.

use std::fs::{self, File};
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use ichor_core::cluster::section::BootFrom;
use ichor_core::observe::Expected;
use ichor_core::plan::NodePlan;
use ichor_core::render;
use ichor_core::render::hypervisor::uuid::Uuid;
use ichor_simulator::fleet::scenario;
use ichor_simulator::fleet::scenario::Scenario;
use ichor_simulator::fleet::{Delays, Fault, Fleet, Hardware, Machine, duration};
use ichor_talos::secrets::{Bundle, admin_certificate, write_admin};
use ichor_values::TalosVersion;
use rand_core::OsRng;
use serde_json::Value;

use crate::argument::{ArgumentError, Format};
use crate::project::{self, Project};
use crate::{disk, reach, style, table};
use ichor_simulator::serve as nodes;
use ichor_simulator::serve::control;
use ichor_simulator::serve::control::Wish;
use ichor_simulator::serve::{Claim, NodesError, Site};

/// The release that is simulated where nobody says.
const TALOS: &str = "v1.13.9";
/// The folder that is made where nobody says.
const FOLDER: &str = "simulated";
const FILE: &str = "ichor.yaml";
/// How long nodes in the background may take to be there.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the administrator's certificate lasts.
const YEAR: Duration = Duration::from_hours(8760);

/// Simulate Talos machines by their API, to try bring-up without any
///
/// A simulator: no machine is booted, and no container runs. Each node answers on addresses of the loopback network as a
/// Talos machine would: first in maintenance mode, then, when it has been given its configuration and has installed and
/// rebooted, over mutual TLS with the certificates of the cluster; etcd, the address of the API, health checks, kubeconfig
/// and Kubernetes' list of nodes follow. With a number, a folder with a whole cluster of that many nodes is made first.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Faults: slow[:TIME], reset-mid-stream[:TIMES], late-reboot[:TIME], refuse-config[:WORDS], lose-quorum, \
                  other-identity, other-ca, clock-skew[:TIME], no-carrier, service-waits, session-down, \
                  speaker-down, overlay-down, no-medium, fall-back, fail-install, keep-pods\n\n\
                  Examples:\n  ichor lab nodes 5\n  ichor lab nodes 50 -o fifty --detach\n  \
                  ichor lab nodes 3 --fault cp2:late-reboot:20s\n  ichor lab nodes fault worker1:slow:5s -o simulated"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    start: Start,
}

#[derive(Debug, clap::Args)]
struct Start {
    /// How many nodes; three of them are control planes, one of fewer than three
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(scenario::MOST)))]
    count: Option<u32>,
    /// Folder to make for the cluster of that many nodes
    #[arg(short, long, value_name = "DIR", default_value = FOLDER)]
    out: PathBuf,
    /// Simulate the machines of this cluster file instead, on the addresses it names
    #[arg(long, value_name = "FILE", conflicts_with_all = ["count", "id", "talos"])]
    cluster: Option<PathBuf>,
    /// Talos release of the nodes
    #[arg(long, value_name = "VERSION", default_value = TALOS, value_parser = super::super::talos::known_release)]
    talos: TalosVersion,
    /// Number of the cluster: 127.ID.0.0/16 is its network; a free one when left out
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=254))]
    id: Option<u8>,
    /// How long an installation takes
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = time)]
    install: Duration,
    /// How long a machine takes from power on until it answers
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time)]
    boot: Duration,
    /// How long a service takes to be healthy
    #[arg(long = "start", value_name = "TIME", default_value = "500ms", value_parser = time)]
    service: Duration,
    /// Something that a node does wrong; may be said more than once
    #[arg(long, value_name = "NODE:KIND[:PARAM]", value_parser = Fault::parse)]
    fault: Vec<(String, Fault)>,
    /// Leave the machines without power until `lab nodes power` gives it to them
    #[arg(long)]
    off: bool,
    /// Run in the background
    #[arg(long)]
    detach: bool,
    /// The network is claimed already, by what stands open as standard input
    #[arg(long, hide = true, requires = "cluster")]
    claimed: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Say how the nodes are
    Status {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        format: Format,
    },
    /// Make a node do something wrong
    Fault {
        /// What, and on which node
        #[arg(value_name = "NODE:KIND[:PARAM]")]
        fault: String,
        #[command(flatten)]
        place: Place,
    },
    /// Let a node do everything right again, or one thing
    Heal {
        node: String,
        /// Which fault; all of them when left out
        kind: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Give a node power, or take it away
    Power {
        node: String,
        #[arg(value_enum)]
        power: Power,
        #[command(flatten)]
        place: Place,
    },
    /// End all nodes
    Stop {
        #[command(flatten)]
        place: Place,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Power {
    On,
    Off,
}

#[derive(Debug, clap::Args)]
struct Place {
    /// Folder of the cluster; this one when it has simulated nodes
    #[arg(short = 'o', long = "out", value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Place {
    fn site(&self) -> Site {
        let here =
            || if Path::new("simulator").is_dir() { PathBuf::from(".") } else { PathBuf::from(FOLDER) };
        Site::of(&self.folder.clone().unwrap_or_else(here))
    }
}

fn time(text: &str) -> Result<Duration, ArgumentError> {
    duration::parse(text).ok_or(ArgumentError::want("a time such as 500ms, 3s or 2m"))
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.verb {
        None => start(&args.start, out),
        Some(Verb::Status { place, format }) => status(&place.site(), format.json, out),
        Some(Verb::Fault { fault, place }) => told(&place.site(), &Wish::Fault { fault: fault.clone() }),
        Some(Verb::Heal { node, kind, place }) => {
            told(&place.site(), &Wish::Heal { node: node.clone(), kind: kind.clone() })
        }
        Some(Verb::Power { node, power, place }) => {
            told(&place.site(), &Wish::Power { node: node.clone(), on: *power == Power::On })
        }
        Some(Verb::Stop { place }) => stop(&place.site()),
    }
}

fn told(site: &Site, wish: &Wish) -> anyhow::Result<ExitCode> {
    control::ask(site, wish)?;
    Ok(ExitCode::SUCCESS)
}

/// Ends nodes, and waits until they are gone.
fn stop(site: &Site) -> anyhow::Result<ExitCode> {
    control::ask(site, &Wish::Stop)?;
    let until = Instant::now() + PATIENCE;
    while let Err(error) = site.take() {
        anyhow::ensure!(Instant::now() < until, "the simulated nodes do not end: {error}");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(ExitCode::SUCCESS)
}

fn status(site: &Site, json: bool, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let answer = control::ask(site, &Wish::Status)?;
    if json {
        writeln!(out, "{answer:#}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let words = |value: &Value| match value {
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        Value::Bool(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        value => value.as_str().unwrap_or_default().to_owned(),
    };
    let rows = answer["nodes"].as_array().into_iter().flatten().map(|node| {
        ["node", "stage", "ready", "talos", "addresses", "faults"].map(|key| words(&node[key])).to_vec()
    });
    let rows: Vec<_> = rows.collect();
    table::print(out, &["NODE", "STAGE", "READY", "TALOS", "ADDRESSES", "FAULTS"], &rows)?;
    Ok(ExitCode::SUCCESS)
}

fn start(args: &Start, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let (folder, file, claim) = match &args.cluster {
        Some(file) => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            (folder.unwrap_or(Path::new(".")).to_owned(), file.clone(), None)
        }
        None => {
            let count =
                args.count.context("how many nodes? Say a number, or name a cluster file with --cluster")?;
            let claim = Claim::take(args.id)?;
            let name = "simulated".to_owned();
            make(args, &Scenario { name, id: claim.id, nodes: count, talos: args.talos.clone() }, out)?;
            (args.out.clone(), args.out.join(FILE), Some(claim))
        }
    };
    let project = project::open(&file)?;
    let site = Site::of(&folder);
    site.make()?;
    if args.detach {
        return detach(args, &site, &file, || claimed(claim, &project));
    }
    let _taken = site.take()?;
    let claim = if args.claimed { None } else { claimed(claim, &project)? };
    let fleet = fleet(args, &project)?;
    let count = fleet.machines.len();
    let runtime = reach::runtime()?;
    let ready = || {
        style::say(&format!(
            "{count} simulated nodes, until Ctrl-C; every call is in {}",
            site.journal().display()
        ));
        style::say(&format!("next: cd {} && ichor up", folder.display()));
    };
    runtime.block_on(nodes::run(fleet, &site, !args.off, ready))?;
    // What is under way on other threads ends with them.
    runtime.shutdown_timeout(Duration::from_millis(200));
    drop(claim);
    Ok(ExitCode::SUCCESS)
}

/// The claim on the loopback network of a cluster, where it is in one.
fn claimed(claim: Option<Claim>, project: &Project) -> Result<Option<Claim>, NodesError> {
    match claim {
        Some(claim) => Ok(Some(claim)),
        None => loopback(project).map(|id| Claim::take(Some(id))).transpose(),
    }
}

/// The number of the loopback network that a cluster is in, where it is in one.
fn loopback(project: &Project) -> Option<u8> {
    let addresses = project.plan.nodes.iter().filter_map(NodePlan::main_address);
    addresses
        .map(|address| match address {
            IpAddr::V4(v4) if v4.is_loopback() => Some(v4.octets()[1]),
            _ => None,
        })
        .next()
        .flatten()
}

/// Makes the folder of a cluster, whole or not at all.
fn make(args: &Start, scenario: &Scenario, out: &mut dyn Write) -> anyhow::Result<()> {
    let names: Vec<String> = scenario.places().map(|place| place.name).collect();
    for (node, _) in &args.fault {
        control::one_of(names.iter().map(String::as_str), node)?;
    }
    let folder = &args.out;
    let path = folder.join(FILE);
    if path.exists() {
        bail!(
            "{0} exists already; simulate its machines with `ichor lab nodes --cluster {0}`, or name another folder",
            path.display()
        );
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let now = ichor_system::now();
    let bundle = Bundle::quick(&args.talos, &mut OsRng, now)?;
    let admin = admin_certificate(&bundle.os, &mut OsRng, now, YEAR)?;
    // They open nothing but what is simulated here, so nobody has to be able to decrypt them.
    disk::create_private(&folder.join("secrets.yaml"), bundle.write().as_bytes())?;
    disk::create_private(&folder.join("admin.yaml"), write_admin(&admin).as_bytes())?;
    disk::replace(&path, scenario.file().as_bytes())?;
    writeln!(out, "{}", path.display())?;
    Ok(())
}

/// Starts the same in the background, and waits until it answers.
fn detach(
    args: &Start,
    site: &Site,
    file: &Path,
    claim: impl FnOnce() -> Result<Option<Claim>, NodesError>,
) -> anyhow::Result<ExitCode> {
    if control::ask(site, &Wish::Status).is_ok() {
        bail!("simulated nodes run in {} already", site.folder().display());
    }
    let log = site.log();
    let said = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut command = Command::new(std::env::current_exe().context("cannot tell where this program is")?);
    command.args(["lab", "nodes", "--cluster"]).arg(file);
    let millis = |time: Duration| format!("{}ms", time.as_millis());
    for (name, time) in [("--install", args.install), ("--boot", args.boot), ("--start", args.service)] {
        command.arg(name).arg(millis(time));
    }
    for text in &args.fault_texts() {
        command.arg("--fault").arg(text);
    }
    command.args(args.off.then_some("--off"));
    // It has the claim from the first moment on, so nobody comes between.
    let stdin = match claim()? {
        Some(claim) => {
            command.arg("--claimed");
            claim.into()
        }
        None => Stdio::null(),
    };
    command.stdin(stdin).stdout(said.try_clone()?).stderr(said);
    // A process group of its own: a Ctrl-C at the terminal is not meant for it.
    let mut child = command.process_group(0).spawn().context("cannot start the simulator")?;
    let until = Instant::now() + PATIENCE;
    while control::ask(site, &Wish::Status).is_err() {
        if let Some(status) = child.try_wait()? {
            let said = fs::read_to_string(&log).unwrap_or_default();
            bail!("the simulator ended with {status}: {}", said.trim());
        }
        anyhow::ensure!(Instant::now() < until, "the simulator does not answer; see {}", log.display());
        thread::sleep(Duration::from_millis(20));
    }
    let folder = site.folder().display();
    style::say(&format!(
        "simulated nodes run in the background; end them with `ichor lab nodes stop -o {folder}`"
    ));
    style::say(&format!("next: cd {folder} && ichor up"));
    Ok(ExitCode::SUCCESS)
}

impl Start {
    fn fault_texts(&self) -> Vec<String> {
        self.fault.iter().map(|(node, fault)| format!("{node}:{fault}")).collect()
    }
}

/// The machines of a cluster file, without power.
fn fleet(args: &Start, project: &Project) -> anyhow::Result<Fleet> {
    let cluster = project.plan.cluster.name.as_str();
    let machines =
        project.plan.nodes.iter().map(|node| machine(cluster, node)).collect::<anyhow::Result<Vec<_>>>()?;
    let delays = Delays { boot: args.boot, install: args.install, start: args.service };
    let mut fleet = Fleet::new(machines, delays, ichor_system::now());
    for (node, fault) in &args.fault {
        let nth = control::find(&fleet, node)?;
        nodes::spoil(&mut fleet, nth, fault.clone(), Duration::ZERO)?;
    }
    Ok(fleet)
}

fn machine(cluster: &str, node: &NodePlan) -> anyhow::Result<Machine> {
    let macs = node.ports.iter().filter_map(|port| port.mac.as_ref().map(|mac| mac.value)).collect();
    let stages = &node.stages;
    let leased: Vec<IpAddr> = [stages.dhcp(), stages.external()].into_iter().flatten().collect();
    let leased = if leased.is_empty() { node.main_address().into_iter().collect() } else { leased };
    if leased.is_empty() {
        bail!("{} has no address that is known beforehand; write `address: {{dhcp: ADDRESS}}`", node.name);
    }
    let mut hardware = Hardware::new(node.name.as_str(), macs, leased);
    node.platform.value.word().clone_into(&mut hardware.platform);
    hardware.has_medium = matches!(node.boot.from.value, BootFrom::Cidata | BootFrom::NocloudNet);
    if let Some(overlay) = stages.overlay() {
        hardware.overlay = overlay;
    }
    if node.vm.is_some() {
        hardware.uuid = Uuid::of(cluster, node.name.as_str()).to_string();
    }
    let installer = render::machine::installer(node).ok().flatten();
    let extensions = Expected::of(node).extensions;
    Ok(Machine::new(hardware, node.talos.value.clone()).with_image(installer, extensions))
}
