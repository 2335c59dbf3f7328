//! `lab nodes`: simulate the Talos API of a cluster's machines.

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
use ichor_core::observe::ExpectedNode;
use ichor_core::plan::NodePlan;
use ichor_core::render;
use ichor_core::render::hypervisor::uuid::VmUuid;
use ichor_simulator::fleet::scenario;
use ichor_simulator::fleet::scenario::Scenario;
use ichor_simulator::fleet::{Delays, Fault, Fleet, Hardware, Machine, duration};
use ichor_talos::secrets::{Bundle, admin_certificate, write_admin};
use ichor_values::TalosVersion;
use rand_core::OsRng;
use serde_json::Value;

use crate::argument::{ArgumentError, OutputFormat};
use crate::project::{self, Project};
use crate::{connect, disk, style, table};
use ichor_simulator::serve as nodes;
use ichor_simulator::serve::control::{self, ControlRequest};
use ichor_simulator::serve::{NetworkClaim, SimulatorError, SimulatorFolder};

/// The default Talos release.
const TALOS: &str = "v1.13.9";
/// The default folder of a simulated cluster.
const FOLDER: &str = "simulated";
const FILE: &str = "ichor.yaml";
/// Time limit for a simulator in the background to start or stop.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Lifetime of the administrator's certificate.
const YEAR: Duration = Duration::from_hours(8760);

/// Simulate the Talos API of machines, to try bring-up without hardware
///
/// No machine is booted and no container runs. Each node answers on loopback addresses like a Talos machine: first in maintenance
/// mode, then, after it got its configuration, installed and rebooted, over mutual TLS with the certificates of the cluster. etcd, the
/// API endpoint, health checks, the kubeconfig and the node list of Kubernetes follow. With COUNT, the command first creates a folder
/// with a cluster of that many nodes.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Faults:\n  slow[:DURATION], reset-mid-stream[:TIMES], late-reboot[:DURATION],\n  \
                  refuse-config[:WORDS], lose-quorum, other-identity, other-ca,\n  \
                  clock-skew[:DURATION], no-carrier, service-waits, session-down, speaker-down,\n  \
                  overlay-down, no-medium, fall-back, fail-install, keep-pods,\n  \
                  fail-service[:SERVICE]\n\n\
                  Examples:\n  ichor lab nodes 5\n  ichor lab nodes 50 -o fifty --detach\n  \
                  ichor lab nodes 3 --fault cp2:late-reboot:20s\n  ichor lab nodes fault worker1:slow:5s -o simulated"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<NodesCommand>,
    #[command(flatten)]
    start: SimulationArgs,
}

#[derive(Debug, clap::Args)]
struct SimulationArgs {
    /// Number of nodes; three are control planes, or one of fewer than three
    #[arg(value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=i64::from(scenario::MOST)))]
    count: Option<u32>,
    /// Folder to create for the cluster
    #[arg(short, long, value_name = "DIR", default_value = FOLDER)]
    out: PathBuf,
    /// Simulate the machines of this cluster file instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["count", "id", "talos"])]
    cluster: Option<PathBuf>,
    /// Talos release of the nodes
    #[arg(long, value_name = "VERSION", default_value = TALOS, value_parser = super::super::talos::known_release)]
    talos: TalosVersion,
    /// Number of the network 127.ID.0.0/16 [default: a free one]
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u8).range(1..=254))]
    id: Option<u8>,
    /// Duration of an installation
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = parse_duration)]
    install: Duration,
    /// Duration of a boot, from power on until the API answers
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_duration)]
    boot: Duration,
    /// Duration until a service is healthy
    #[arg(long = "start", value_name = "DURATION", default_value = "500ms", value_parser = parse_duration)]
    service: Duration,
    /// Fault to inject into a node (repeatable)
    #[arg(long, value_name = "NODE:KIND[:PARAM]", value_parser = Fault::parse)]
    fault: Vec<(String, Fault)>,
    /// Start with all machines powered off
    #[arg(long)]
    off: bool,
    /// Run in the background
    #[arg(long)]
    detach: bool,
    /// The network is already claimed by the open standard input (internal)
    #[arg(long, hide = true, requires = "cluster")]
    claimed: bool,
}

#[derive(Debug, clap::Subcommand)]
enum NodesCommand {
    /// Show the state of the simulated nodes
    Status {
        #[command(flatten)]
        place: SimulationFolder,
        #[command(flatten)]
        format: OutputFormat,
    },
    /// Inject a fault into a node
    Fault {
        /// Node and fault, such as worker1:slow:5s
        #[arg(value_name = "NODE:KIND[:PARAM]")]
        fault: String,
        #[command(flatten)]
        place: SimulationFolder,
    },
    /// Remove faults from a node
    Heal {
        /// Name of the node
        #[arg(value_name = "NODE")]
        node: String,
        /// Fault to remove [default: all faults]
        #[arg(value_name = "KIND")]
        kind: Option<String>,
        #[command(flatten)]
        place: SimulationFolder,
    },
    /// Power a node on or off
    Power {
        /// Name of the node
        #[arg(value_name = "NODE")]
        node: String,
        /// Power state to set
        #[arg(value_enum, value_name = "STATE")]
        power: PowerState,
        #[command(flatten)]
        place: SimulationFolder,
    },
    /// End the simulation
    Stop {
        #[command(flatten)]
        place: SimulationFolder,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PowerState {
    On,
    Off,
}

#[derive(Debug, clap::Args)]
struct SimulationFolder {
    /// Folder of the cluster
    ///
    /// [default: the working folder if it has simulated nodes, else simulated]
    #[arg(short = 'o', long = "out", value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl SimulationFolder {
    fn site(&self) -> SimulatorFolder {
        let here =
            || if Path::new("simulator").is_dir() { PathBuf::from(".") } else { PathBuf::from(FOLDER) };
        SimulatorFolder::new(&self.folder.clone().unwrap_or_else(here))
    }
}

fn parse_duration(text: &str) -> Result<Duration, ArgumentError> {
    duration::parse(text).ok_or(ArgumentError::want("a duration such as 500ms, 3s or 2m"))
}

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => start(&args.start, out),
        Some(NodesCommand::Status { place, format }) => status(&place.site(), format.json, out),
        Some(NodesCommand::Fault { fault, place }) => {
            send_command(&place.site(), &ControlRequest::Fault { fault: fault.clone() })
        }
        Some(NodesCommand::Heal { node, kind, place }) => {
            send_command(&place.site(), &ControlRequest::Heal { node: node.clone(), kind: kind.clone() })
        }
        Some(NodesCommand::Power { node, power, place }) => send_command(
            &place.site(),
            &ControlRequest::Power { node: node.clone(), on: *power == PowerState::On },
        ),
        Some(NodesCommand::Stop { place }) => stop(&place.site()),
    }
}

fn send_command(site: &SimulatorFolder, wish: &ControlRequest) -> anyhow::Result<ExitCode> {
    control::send_request(site, wish)?;
    Ok(ExitCode::SUCCESS)
}

/// Ends the simulation and waits until it has stopped.
fn stop(site: &SimulatorFolder) -> anyhow::Result<ExitCode> {
    control::send_request(site, &ControlRequest::Stop)?;
    let until = Instant::now() + TIMEOUT;
    while let Err(error) = site.lock() {
        anyhow::ensure!(Instant::now() < until, "cannot stop the simulated nodes: {error}");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(ExitCode::SUCCESS)
}

fn status(site: &SimulatorFolder, json: bool, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let answer = control::send_request(site, &ControlRequest::Status)?;
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
        ["node", "stage", "ready", "talos_version", "addresses", "faults"]
            .map(|key| words(&node[key]))
            .to_vec()
    });
    let rows: Vec<_> = rows.collect();
    table::print(out, &["NODE", "STAGE", "READY", "TALOS", "ADDRESSES", "FAULTS"], &rows)?;
    Ok(ExitCode::SUCCESS)
}

fn start(args: &SimulationArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let (folder, file, claim) = match &args.cluster {
        Some(file) => {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            (folder.unwrap_or(Path::new(".")).to_owned(), file.clone(), None)
        }
        None => {
            let count =
                args.count.context("no number of nodes; pass COUNT, or a cluster file with --cluster")?;
            let claim = NetworkClaim::claim(args.id)?;
            let name = "simulated".to_owned();
            create_cluster(
                args,
                &Scenario { name, id: claim.id, nodes: count, talos: args.talos.clone() },
                out,
            )?;
            (args.out.clone(), args.out.join(FILE), Some(claim))
        }
    };
    let project = project::open(&file)?;
    let site = SimulatorFolder::new(&folder);
    site.make()?;
    if args.detach {
        return detach(args, &site, &file, || claim_network(claim, &project));
    }
    let _lock = site.lock()?;
    let claim = if args.claimed { None } else { claim_network(claim, &project)? };
    let fleet = fleet(args, &project)?;
    let count = fleet.machines.len();
    let runtime = connect::runtime()?;
    let ready = || {
        style::say(&format!(
            "{count} simulated nodes; stop with Ctrl-C; API calls are logged in {}",
            site.journal().display()
        ));
        style::say(&format!("next: cd {} && ichor up --no-kubeconfig", folder.display()));
    };
    runtime.block_on(nodes::run(fleet, &site, !args.off, ready))?;
    // Work on other threads is aborted.
    runtime.shutdown_timeout(Duration::from_millis(200));
    drop(claim);
    Ok(ExitCode::SUCCESS)
}

/// Claims the loopback network of a cluster, if it is in one.
fn claim_network(
    claim: Option<NetworkClaim>,
    project: &Project,
) -> Result<Option<NetworkClaim>, SimulatorError> {
    match claim {
        Some(claim) => Ok(Some(claim)),
        None => loopback_id(project).map(|id| NetworkClaim::claim(Some(id))).transpose(),
    }
}

/// The number of a cluster's loopback network, if it is in one.
fn loopback_id(project: &Project) -> Option<u8> {
    let addresses = project.plan.nodes.iter().filter_map(NodePlan::main_address);
    addresses
        .map(|address| match address {
            IpAddr::V4(v4) if v4.is_loopback() => Some(v4.octets()[1]),
            _ => None,
        })
        .next()
        .flatten()
}

/// Creates the folder of a cluster, completely or not at all.
fn create_cluster(args: &SimulationArgs, scenario: &Scenario, out: &mut dyn Write) -> anyhow::Result<()> {
    let names: Vec<String> = scenario.places().map(|place| place.name).collect();
    for (node, _) in &args.fault {
        control::find_name(names.iter().map(String::as_str), node)?;
    }
    let folder = &args.out;
    let path = folder.join(FILE);
    if path.exists() {
        bail!(
            "{0} already exists; list running nodes with `ichor lab nodes status`, simulate its machines again with \
            `ichor lab nodes --cluster {0}`, or choose another folder",
            path.display()
        );
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let now = ichor_system::now();
    let bundle = Bundle::quick(&args.talos, &mut OsRng, now)?;
    let admin = admin_certificate(&bundle.os, &mut OsRng, now, YEAR)?;
    // Stored in the clear: these keys only open simulated machines.
    disk::create_private(&folder.join("secrets.yaml"), bundle.write().as_bytes())?;
    disk::create_private(&folder.join("admin.yaml"), write_admin(&admin).as_bytes())?;
    disk::replace(&path, scenario.file().as_bytes())?;
    writeln!(out, "{}", path.display())?;
    Ok(())
}

/// Starts the simulator in the background and waits until it answers.
fn detach(
    args: &SimulationArgs,
    site: &SimulatorFolder,
    file: &Path,
    claim: impl FnOnce() -> Result<Option<NetworkClaim>, SimulatorError>,
) -> anyhow::Result<ExitCode> {
    if control::send_request(site, &ControlRequest::Status).is_ok() {
        bail!("simulated nodes are already running in {}", site.folder().display());
    }
    let log = site.log();
    let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let mut command = Command::new(std::env::current_exe().context("cannot find the path of this program")?);
    command.args(["lab", "nodes", "--cluster"]).arg(file);
    let millis = |time: Duration| format!("{}ms", time.as_millis());
    for (name, time) in [("--install", args.install), ("--boot", args.boot), ("--start", args.service)] {
        command.arg(name).arg(millis(time));
    }
    for text in &args.fault_texts() {
        command.arg("--fault").arg(text);
    }
    command.args(args.off.then_some("--off"));
    // The child inherits the claim, so that no other process can take the network in between.
    let stdin = match claim()? {
        Some(claim) => {
            command.arg("--claimed");
            claim.into()
        }
        None => Stdio::null(),
    };
    command.stdin(stdin).stdout(output.try_clone()?).stderr(output);
    // Its own process group: Ctrl-C at the terminal does not end it.
    let mut child = command.process_group(0).spawn().context("cannot start the simulator")?;
    let until = Instant::now() + TIMEOUT;
    while control::send_request(site, &ControlRequest::Status).is_err() {
        if let Some(status) = child.try_wait()? {
            let output = fs::read_to_string(&log).unwrap_or_default();
            bail!("cannot start the simulator: {status}: {}", output.trim());
        }
        anyhow::ensure!(Instant::now() < until, "the simulator does not answer; check {}", log.display());
        thread::sleep(Duration::from_millis(20));
    }
    let folder = site.folder().display();
    style::say(&format!(
        "simulated nodes run in the background; stop them with `ichor lab nodes stop -o {folder}`"
    ));
    style::say(&format!("next: cd {folder} && ichor up --no-kubeconfig"));
    Ok(ExitCode::SUCCESS)
}

impl SimulationArgs {
    fn fault_texts(&self) -> Vec<String> {
        self.fault.iter().map(|(node, fault)| format!("{node}:{fault}")).collect()
    }
}

/// The machines of a cluster file, powered off.
fn fleet(args: &SimulationArgs, project: &Project) -> anyhow::Result<Fleet> {
    let cluster = project.plan.cluster.name.as_str();
    let machines =
        project.plan.nodes.iter().map(|node| machine(cluster, node)).collect::<anyhow::Result<Vec<_>>>()?;
    let delays = Delays { boot: args.boot, install: args.install, start: args.service };
    let mut fleet = Fleet::new(machines, delays, ichor_system::now());
    for (node, fault) in &args.fault {
        let nth = control::find_machine(&fleet, node)?;
        nodes::inject_fault(&mut fleet, nth, fault.clone(), Duration::ZERO)?;
    }
    Ok(fleet)
}

fn machine(cluster: &str, node: &NodePlan) -> anyhow::Result<Machine> {
    let macs = node.ports.iter().filter_map(|port| port.mac.as_ref().map(|mac| mac.value)).collect();
    let stages = &node.stages;
    let leased: Vec<IpAddr> = [stages.dhcp(), stages.external()].into_iter().flatten().collect();
    let leased = if leased.is_empty() { node.main_address().into_iter().collect() } else { leased };
    if leased.is_empty() {
        bail!("{} has no known address; set `address: {{dhcp: ADDRESS}}`", node.name);
    }
    let mut hardware = Hardware::new(node.name.as_str(), macs, leased);
    node.platform.value.word().clone_into(&mut hardware.platform);
    hardware.has_medium = matches!(node.boot.from.value, BootFrom::Cidata | BootFrom::NocloudNet);
    if let Some(overlay) = stages.overlay() {
        hardware.overlay = overlay;
    }
    if node.vm.is_some() {
        hardware.uuid = VmUuid::new(cluster, node.name.as_str()).to_string();
    }
    let installer = render::machine::installer(node).ok().flatten();
    let extensions = ExpectedNode::from_plan(node).extensions;
    Ok(Machine::new(hardware, node.talos.value.clone()).with_image(installer, extensions))
}
