//! Tests of the loop on a node in memory, with a paused clock: no privileges, no daemon, no waiting.

mod config;
mod fake;
mod links;
mod process;
mod routes;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ichor_bgp::agent::Link;
use ichor_bgp::agent::config::{AgentConfig, BgpConfig, ConfigSource};
use ichor_bgp::agent::status::{AgentStatus, AnycastStatus};
use ichor_bgp::agent::wiring::ExtraAddresses;
use ichor_bgp::model::fabric::{AnnouncedAddress, ExportPolicy, Fabric, ImportPolicy, Neighbor, PeerAddress};
use ichor_bgp::model::{BgpModel, Family, PrefixFilter};
use ichor_bgp::setting::{Advertise, LogLevel};
use ichor_values::Backend;
use ichor_values::{Asn, LinkName, Mac, NodeName, SoftwareVersion};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::Settings;
use super::agent::Agent;
use super::event::SignalRequest;
use super::host::HostEvent;
use super::state_dir::StateDir;
use crate::config::ConfigLoader;
use crate::kernel::KernelChange;
use crate::machined::LeaveReason;
use fake::{FakeControl, FakeHost, Node};

/// The longest wait for a change of the status, on the clock of a test.
const PATIENCE: Duration = Duration::from_mins(2);

/// An agent that runs on a node in memory.
struct TestAgent {
    control: FakeControl,
    status: watch::Receiver<AgentStatus>,
    anycast: watch::Sender<AnycastStatus>,
    leaving: watch::Sender<Option<LeaveReason>>,
    requests: mpsc::Sender<SignalRequest>,
    task: JoinHandle<()>,
    /// The agent's run directory.
    run: PathBuf,
    file: PathBuf,
    _folder: TempDir,
}

impl TestAgent {
    /// Starts the agent with a configuration in a file, as on a node.
    fn start(config: &AgentConfig, node: Node) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (file, run) = (folder.path().join("agent.json"), folder.path().join("run"));
        fs::write(&file, config.text()).unwrap();
        let settings = Settings {
            loader: ConfigLoader::new(Some(file.clone())),
            run: run.clone(),
            port: None,
            machined: folder.path().join("machine.sock"),
        };
        let host = FakeHost::new(node);
        let control = host.control();
        let agent = Agent::new(settings, config.clone(), StateDir::open(&run).unwrap(), host);
        let (requests, receiver) = mpsc::channel(1);
        Self {
            control,
            status: agent.reporting.status.subscribe(),
            anycast: agent.reporting.anycast.clone(),
            leaving: agent.leaving.clone(),
            requests,
            task: tokio::spawn(agent.run(receiver)),
            run,
            file,
            _folder: folder,
        }
    }

    /// The first status that fulfils `condition`.
    async fn wait_for(&mut self, what: &str, condition: impl FnMut(&AgentStatus) -> bool) -> AgentStatus {
        let found = timeout(PATIENCE, self.status.wait_for(condition)).await;
        let found = found.map(|status| status.expect("the agent runs").clone());
        found.unwrap_or_else(|_| panic!("no status ever {what}: {:#?}", *self.status.borrow()))
    }

    /// Lets the agent run for some seconds of its clock.
    async fn advance(&self, seconds: u64) {
        sleep(Duration::from_secs(seconds)).await;
    }

    /// Notifies the agent that links changed.
    async fn links_changed(&self) {
        self.control.send(HostEvent::Kernel(BTreeSet::from([KernelChange::Links]))).await;
    }

    /// Writes another configuration into the agent's file, at another time.
    fn write(&self, text: &str, seconds: u64) {
        fs::write(&self.file, text).unwrap();
        let later = SystemTime::now() + Duration::from_secs(seconds);
        File::options().write(true).open(&self.file).unwrap().set_modified(later).unwrap();
    }

    /// Asks the agent to stop and waits until it did.
    async fn stop(self) -> FakeControl {
        self.requests.send(SignalRequest::Stop).await.unwrap();
        self.task.await.unwrap();
        self.control
    }
}

/// A node with two ports and a daemon, on which everything works.
fn working() -> Node {
    Node {
        links: vec![Link { up: true, loopback: true, ..link(1, "lo") }, port(2), port(3)],
        installed: Some(SoftwareVersion::parse("10.3").unwrap()),
        received: 1,
        ..Node::default()
    }
}

/// The same with a GoBGP.
fn with_gobgp() -> Node {
    Node { installed: Some(SoftwareVersion::parse("3.36").unwrap()), ..working() }
}

/// The port with a number: `eth0` is 2.
fn port(index: u8) -> Link {
    let name = format!("eth{}", index - 2);
    Link { up: true, carrier: true, mtu: 1500, mac: Some(mac(index)), ..link(index, &name) }
}

fn link(index: u8, name: &str) -> Link {
    Link { index: index.into(), name: name.to_owned(), ..Link::default() }
}

fn mac(index: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, index])
}

/// A node with the address 10.0.0.1 on the loopback, which the agent adds, and two neighbours on ports.
fn config() -> AgentConfig {
    let neighbor = |index: u8| Neighbor {
        found: PeerAddress::Port { name: name(&format!("eth{}", index - 2)), mac: Some(mac(index)) },
        asn: Some(Asn(651)),
        families: vec![Family::V4],
        bfd: None,
        timers: (3, 9),
        passive: false,
        password: None,
    };
    let announced = |kind, net: &str| AnnouncedAddress { kind, link: name("lo"), net: net.parse().unwrap() };
    let fabric = Fabric {
        neighbors: vec![neighbor(2), neighbor(3)],
        announced: vec![
            announced(Advertise::Loopback, "10.0.0.1/32"),
            announced(Advertise::Anycast, "192.0.2.53/32"),
        ],
        aggregates: Vec::new(),
        inward: ImportPolicy { filter: PrefixFilter::default(), max_prefixes: None, local_preference: None },
        outward: ExportPolicy::default(),
        graceful_restart: None,
    };
    let model = BgpModel {
        name: NodeName::parse("row1").unwrap(),
        nth: 0,
        asn: Asn(65001),
        router_id: "10.0.0.1".parse().unwrap(),
        sources: Vec::new(),
        transit: false,
        fabric,
        workload: None,
    };
    let bgp = BgpConfig {
        model,
        passwords: Vec::new(),
        discover: None,
        announce: Vec::new(),
        version: None,
        options: std::collections::BTreeMap::new(),
        template: None,
    };
    AgentConfig {
        backend: Backend::Frr,
        source: ConfigSource::Model(Box::new(bgp)),
        mtu: None,
        extra_addresses: vec![ExtraAddresses {
            link: "lo".to_owned(),
            addresses: vec!["10.0.0.1/32".parse().unwrap()],
        }],
        health: None,
        drain: false,
        log: LogLevel::Info,
        status: None,
    }
}

fn name(name: &str) -> LinkName {
    LinkName::parse(name).unwrap()
}
