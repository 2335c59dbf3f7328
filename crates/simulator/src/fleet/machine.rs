//! A simulated machine: its phase, its disk, its running services.
//!
//! Not here: transitions, which depend on other machines ([`Fleet`](super::Fleet)).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::fault::Faults;
use super::hardware::Hardware;
use super::node_config::NodeConfig;
use ichor_talos::api::machine::Stage;
use ichor_values::TalosVersion;

/// The service that joins an overlay.
const OVERLAY: &str = "ext-tailscale";

/// How many events a node keeps.
const REMEMBERED: usize = 200;

/// The phase of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Powered off.
    Off,
    /// Firmware, kernel: no port is open.
    Dark,
    /// Waiting for a configuration.
    Maintenance,
    /// It took a configuration, and will close its port in a moment.
    Accepted,
    /// Writing Talos to its disk.
    Installing,
    /// Running as configured.
    Up,
    /// Ending this run, with open ports.
    Ending(Sequence),
}

/// Why a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// To start again.
    Reboot,
    /// To be off.
    Shutdown,
    /// To reset; whether the complete disk is wiped, and whether it starts again.
    Reset {
        /// Whether the complete disk is wiped.
        full_disk: bool,
        /// It starts again.
        reboot: bool,
    },
    /// To start again as another release.
    Upgrade,
}

impl Sequence {
    /// Its word in events.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Reboot => "reboot",
            Self::Shutdown => "shutdown",
            Self::Reset { .. } => "reset",
            Self::Upgrade => "upgrade",
        }
    }

    fn stage(self) -> Stage {
        match self {
            Self::Reboot => Stage::Rebooting,
            Self::Shutdown => Stage::ShuttingDown,
            Self::Reset { .. } => Stage::Resetting,
            Self::Upgrade => Stage::Upgrading,
        }
    }
}

/// A service that takes time to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ServiceState {
    /// Not running.
    #[default]
    Down,
    /// Started, and healthy at this time.
    Starting(Duration),
    /// Healthy.
    Up,
}

/// The services that depend on more than the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DependentServices {
    /// Containers of Kubernetes.
    pub(crate) cri: ServiceState,
    /// The member of etcd.
    pub etcd: ServiceState,
    /// The API server.
    pub(crate) api: ServiceState,
    /// The kubelet.
    pub kubelet: ServiceState,
}

/// Talos' state on a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemDisk {
    /// The release that boots from it.
    pub release: TalosVersion,
    /// The configuration.
    pub(crate) intent: Option<Arc<NodeConfig>>,
    /// The etcd whose data is on it, by its number in the fleet.
    pub etcd: Option<usize>,
    /// Whether the overlay has let it in before.
    pub(crate) in_overlay: bool,
    /// The values of META.
    pub meta: BTreeMap<u32, Vec<u8>>,
    /// The installer that wrote it; none for the image that the machine started with.
    pub installer: Option<String>,
}

impl SystemDisk {
    /// A disk with Talos, and without any configuration.
    pub(super) fn new(release: TalosVersion) -> Self {
        Self { release, intent: None, etcd: None, in_overlay: false, meta: BTreeMap::new(), installer: None }
    }
}

/// An event of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEvent {
    /// Its number on the node.
    pub id: u64,
    /// When, since the simulator began.
    pub at: Duration,
    /// Its kind.
    pub what: NodeEventKind,
}

/// The kind of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeEventKind {
    /// The stage changed; whether it is ready.
    Stage(Stage, bool),
    /// A sequence begins or ends.
    Sequence(&'static str, bool),
}

/// A machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its hardware.
    pub(crate) hardware: Hardware,
    /// The release that runs, and that of the medium it boots where its disk is empty.
    pub release: TalosVersion,
    /// Its injected faults.
    pub faults: Faults,
    /// Its phase.
    pub phase: Phase,
    /// The release of its boot media while its disk is empty.
    pub(super) medium: TalosVersion,
    /// The installer of the boot media, if known.
    pub(super) medium_installer: Option<String>,
    /// The installer whose image runs.
    pub(super) installer: Option<String>,
    /// The extensions that every image of it has.
    pub(super) extensions: Vec<String>,
    /// When its phase ends.
    pub(super) due: Option<Duration>,
    /// Its disk.
    pub disk: Option<SystemDisk>,
    /// The configuration it runs.
    pub(crate) intent: Option<Arc<NodeConfig>>,
    /// Its hardware before it was exchanged.
    pub(super) original: Option<Hardware>,
    pub(super) units: DependentServices,
    /// Whether it got through its boot.
    pub(super) booted: bool,
    /// Whether it left etcd, and does not come back in this run.
    pub(super) left_etcd: bool,
    /// How often it was started: connections of an earlier run are invalid.
    pub boots: u64,
    /// Extension services that were stopped by a call.
    pub(super) stopped: BTreeSet<String>,
    /// Addresses it had in this run.
    pub(super) accumulated: BTreeSet<IpAddr>,
    /// Images that were pulled.
    pub(super) images: BTreeSet<String>,
    /// The release that an installer wrote, for the next boot, and which installer that was.
    pub(super) upgraded: Option<(TalosVersion, String)>,
    events: VecDeque<NodeEvent>,
    seen: u64,
    /// The kernel log.
    pub(super) dmesg: Vec<(Duration, String)>,
    reported: Option<(Stage, bool)>,
}

impl Machine {
    /// A machine without power, with an empty disk.
    pub fn new(hardware: Hardware, release: TalosVersion) -> Self {
        let disk = hardware.image.then(|| SystemDisk::new(release.clone()));
        Self {
            hardware,
            medium: release.clone(),
            medium_installer: None,
            installer: None,
            extensions: Vec::new(),
            release,
            faults: Faults::default(),
            phase: Phase::Off,
            due: None,
            disk,
            intent: None,
            original: None,
            units: DependentServices::default(),
            booted: false,
            left_etcd: false,
            boots: 0,
            stopped: BTreeSet::new(),
            accumulated: BTreeSet::new(),
            images: BTreeSet::new(),
            upgraded: None,
            events: VecDeque::new(),
            seen: 0,
            dmesg: Vec::new(),
            reported: None,
        }
    }

    /// The same machine with a medium whose installer is known, and with extensions in all its images.
    #[must_use]
    pub fn with_image(self, installer: Option<String>, extensions: Vec<String>) -> Self {
        Self { medium_installer: installer, extensions, ..self }
    }

    /// Its hostname.
    pub fn hostname(&self) -> String {
        let own = self.intent.as_ref().and_then(|intent| intent.hostname.clone());
        own.unwrap_or_else(|| format!("talos-{}-{}", &self.hardware.uuid[..3], &self.hardware.uuid[3..6]))
    }

    /// Whether it is a control plane.
    pub(crate) fn is_control_plane(&self) -> bool {
        self.intent.as_ref().is_some_and(|intent| intent.control_plane)
    }

    /// The addresses it has; none while no port is open.
    pub fn addresses(&self) -> Vec<IpAddr> {
        let leased = || self.hardware.leased.clone();
        match (self.phase, &self.intent) {
            (Phase::Off | Phase::Dark | Phase::Installing, _) => Vec::new(),
            (Phase::Maintenance | Phase::Accepted, _) | (_, None) => leased(),
            (_, Some(intent)) => {
                let own: Vec<_> = intent.ips().collect();
                if own.is_empty() { leased() } else { own }
            }
        }
    }

    /// Its address in the overlay, if it is in one, for which it needs a key.
    pub(super) fn overlay(&self) -> Option<IpAddr> {
        let intent =
            self.intent.as_ref().filter(|_| self.phase == Phase::Up && !self.faults.has("overlay-down"))?;
        let is_known = intent.has_overlay_key || self.disk.as_ref().is_some_and(|disk| disk.in_overlay);
        let is_member = is_known && self.services().iter().any(|it| it.id == OVERLAY && it.is_running());
        is_member.then_some(self.hardware.overlay)
    }

    /// With a key the overlay lets it in, and knows it from then on.
    pub(super) fn join_overlay(&mut self) {
        let has_key = self.intent.as_ref().is_some_and(|intent| intent.has_overlay_key);
        if let Some(disk) = self.disk.as_mut().filter(|_| has_key) {
            disk.in_overlay = true;
        }
    }

    /// The addresses that its etcd advertises.
    pub(super) fn etcd_addresses(&self) -> Vec<IpAddr> {
        let subnets = self.intent.as_ref().map_or(&[][..], |intent| &intent.etcd_subnets);
        let mut addresses = self.addresses();
        if subnets.is_empty() {
            addresses.truncate(1);
        } else {
            addresses.retain(|address| subnets.iter().any(|subnet| subnet.contains(address)));
        }
        addresses
    }

    /// The stage that it reports.
    pub fn stage(&self) -> Stage {
        match self.phase {
            Phase::Off | Phase::Dark => Stage::Unknown,
            Phase::Maintenance | Phase::Accepted => Stage::Maintenance,
            Phase::Installing => Stage::Installing,
            Phase::Up if self.booted => Stage::Running,
            Phase::Up => Stage::Booting,
            Phase::Ending(sequence) => sequence.stage(),
        }
    }

    /// Whether nothing is on its disk, and something has to be.
    pub(crate) fn needs_install(&self) -> bool {
        self.disk.is_none()
    }

    /// Everything that happened and is remembered, from this number on.
    pub fn events(&self, from: u64) -> impl Iterator<Item = &NodeEvent> {
        self.events.iter().filter(move |event| event.id >= from)
    }

    /// The number that the next event has.
    pub(crate) fn next_event(&self) -> u64 {
        self.seen
    }

    /// The kernel log of this run, each line with its time.
    pub fn log_lines(&self) -> &[(Duration, String)] {
        &self.dmesg
    }

    pub(super) fn record_event(&mut self, at: Duration, what: NodeEventKind) {
        self.events.push_back(NodeEvent { id: self.seen, at, what });
        self.seen += 1;
        if self.events.len() > REMEMBERED {
            self.events.pop_front();
        }
    }

    pub(super) fn log(&mut self, at: Duration, words: impl Into<String>) {
        self.dmesg.push((at, words.into()));
    }

    /// Records an event if its stage or readiness changed.
    pub(super) fn record_stage(&mut self, at: Duration, ready: bool) -> bool {
        let now = (self.stage(), ready);
        // A machine without open ports reports nothing.
        let changed = self.reported != Some(now) && now.0 != Stage::Unknown;
        if changed {
            self.reported = Some(now);
            self.record_event(at, NodeEventKind::Stage(now.0, ready));
        }
        changed
    }

    /// Clears the state of a run.
    pub(super) fn stop(&mut self) {
        self.units = DependentServices::default();
        self.booted = false;
        self.left_etcd = false;
        self.intent = None;
        self.accumulated.clear();
        self.images.clear();
        self.stopped.clear();
        self.dmesg.clear();
    }
}
