//! All simulated machines, and their transitions over time.
//!
//! [`Fleet::advance`] makes everything happen that is due; [`Fleet::next`] returns the next deadline. The calls of a machine's
//! API are in [`calls`](super::calls). Nothing here reads a clock: time is an argument, counted from the start.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::delays::Delays;
use super::etcd::{EtcdCluster, KubeNode, Member};
use super::machine::{Machine, NodeEventKind, Phase, Sequence, ServiceState, SystemDisk};
use super::node_config::CertificateAuthorities;
use ichor_talos::api::machine::Stage;
use ichor_values::Moment;

/// The key of META with the encryption of STATE, which Talos writes with the first configuration.
const STATE_ENCRYPTION: u32 = 9;

/// How long a port stays open after the response to the call that closes it.
pub(super) const GRACE: Duration = Duration::from_millis(40);

/// Machines, and the etcds that some of them make up.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The machines, by their number.
    pub machines: Vec<Machine>,
    /// The delays.
    pub(crate) delays: Delays,
    /// When the simulator began.
    pub(crate) epoch: Moment,
    pub(super) etcds: Vec<EtcdCluster>,
    pub(super) bootstraps: u64,
}

/// The open listeners of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenListeners {
    /// The addresses.
    pub addresses: Vec<IpAddr>,
    /// Talos' API.
    pub talos: Option<AuthMode>,
    /// Kubernetes' API.
    pub kubernetes: bool,
    /// The run of the machine; whatever was open in another one is closed.
    pub(crate) run: u64,
}

/// How callers are authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMode {
    /// Any caller.
    Maintenance,
    /// Callers need a certificate of the cluster's authority.
    Mutual,
}

impl Fleet {
    /// Machines without power.
    pub fn new(machines: Vec<Machine>, delays: Delays, epoch: Moment) -> Self {
        Self { machines, delays, epoch, etcds: Vec::new(), bootstraps: 0 }
    }

    /// How often an etcd was bootstrapped.
    pub(crate) fn bootstraps(&self) -> u64 {
        self.bootstraps
    }

    /// When something is due.
    pub fn next(&self) -> Option<Duration> {
        let units = |machine: &Machine| {
            let units = [machine.units.cri, machine.units.etcd, machine.units.api, machine.units.kubelet];
            units
                .into_iter()
                .filter_map(|unit| if let ServiceState::Starting(at) = unit { Some(at) } else { None })
                .min()
        };
        self.machines.iter().flat_map(|machine| machine.due.into_iter().chain(units(machine))).min()
    }

    /// Lets everything happen that is due.
    pub(crate) fn advance(&mut self, now: Duration) {
        while self.step(now) {}
        for nth in 0..self.machines.len() {
            let ready = self.is_ready(nth);
            self.machines[nth].record_stage(now, ready);
        }
    }

    /// Gives a machine power.
    pub(crate) fn power_on(&mut self, nth: usize, now: Duration) {
        if self.machines[nth].phase == Phase::Off {
            self.darken(nth, now);
        }
    }

    /// Takes power from a machine, whatever it is doing.
    pub(crate) fn power_off(&mut self, nth: usize) {
        let machine = &mut self.machines[nth];
        machine.stop();
        machine.phase = Phase::Off;
        machine.due = None;
    }

    /// The open listeners of a machine.
    pub fn listeners(&self, nth: usize) -> OpenListeners {
        let machine = &self.machines[nth];
        let mut addresses = machine.addresses();
        let talos = match machine.phase {
            Phase::Off | Phase::Dark | Phase::Installing => None,
            Phase::Maintenance | Phase::Accepted => Some(AuthMode::Maintenance),
            Phase::Up | Phase::Ending(_) if machine.intent.is_none() => Some(AuthMode::Maintenance),
            // A worker has no key of the authority: a control plane has to sign for it.
            Phase::Up | Phase::Ending(_) => self.signer(nth).map(|_| AuthMode::Mutual),
        };
        let held = self.etcd_of(nth).filter(|etcd| etcd.holder == Some(nth));
        let vip = held.and_then(|_| machine.intent.as_ref()?.vip);
        addresses.extend(vip);
        addresses.sort();
        addresses.dedup();
        let kubernetes = machine.phase == Phase::Up && machine.units.api == ServiceState::Up;
        OpenListeners { addresses, talos, kubernetes, run: machine.boots }
    }

    /// The addresses that a certificate of a machine is for: those it has, and those it had in this run.
    pub(crate) fn certificate_addresses(&self, nth: usize) -> Vec<IpAddr> {
        let mut all: Vec<_> = self.machines[nth].accumulated.iter().copied().collect();
        all.extend(self.listeners(nth).addresses);
        all.sort();
        all.dedup();
        all
    }

    /// The authority that signs for a machine: its own, or that of a running control plane of its cluster.
    pub(crate) fn signer(&self, nth: usize) -> Option<&CertificateAuthorities> {
        let intent = self.machines[nth].intent.as_ref()?;
        if let Some(authorities) = &intent.authorities {
            return Some(authorities);
        }
        let others = self.machines.iter().filter(|machine| machine.phase == Phase::Up);
        let others = others.filter_map(|machine| machine.intent.as_ref());
        others.filter(|other| other.key == intent.key).find_map(|other| other.authorities.as_ref())
    }

    /// The etcd whose data a machine has.
    pub(crate) fn etcd_of(&self, nth: usize) -> Option<&EtcdCluster> {
        self.etcds.get(self.machines[nth].disk.as_ref()?.etcd?)
    }

    /// The etcd of the cluster that a machine belongs to, whether it is a member or not.
    pub(crate) fn cluster_etcd(&self, nth: usize) -> Option<&EtcdCluster> {
        self.cluster_etcd_number(nth).map(|number| &self.etcds[number])
    }

    pub(super) fn cluster_etcd_number(&self, nth: usize) -> Option<usize> {
        let key = self.machines[nth].intent.as_ref()?.key;
        let lives = |number: &usize| {
            let etcd = &self.etcds[*number];
            etcd.cluster == key && !etcd.members.is_empty() && self.is_kept(*number)
        };
        (0..self.etcds.len()).find(lives)
    }

    /// Whether the data of an etcd is on any disk; otherwise it is lost, whatever its members.
    fn is_kept(&self, number: usize) -> bool {
        self.machines
            .iter()
            .any(|machine| machine.disk.as_ref().is_some_and(|disk| disk.etcd == Some(number)))
    }

    /// Whether an etcd can decide.
    pub(crate) fn has_quorum(&self, etcd: &EtcdCluster) -> bool {
        let healthy = etcd.voters().filter(|member| self.is_member_up(member)).count();
        let lost = etcd.members.iter().any(|member| self.machines[member.machine].faults.has("lose-quorum"));
        !lost && healthy * 2 > etcd.voters().count()
    }

    pub(super) fn is_member_up(&self, member: &Member) -> bool {
        let machine = &self.machines[member.machine];
        machine.phase == Phase::Up && machine.units.etcd == ServiceState::Up
    }

    /// Whether Kubernetes answers somewhere in the cluster of a machine.
    pub(crate) fn has_kubernetes(&self, nth: usize) -> bool {
        self.cluster_etcd(nth).is_some_and(|etcd| {
            let up = |member: &Member| {
                let machine = &self.machines[member.machine];
                machine.phase == Phase::Up && machine.units.api == ServiceState::Up
            };
            etcd.members.iter().any(up)
        })
    }

    /// Whether the kubelet of a Kubernetes node reports it ready.
    ///
    /// No kubelet reports a node of an earlier hostname.
    pub(crate) fn is_kube_node_ready(&self, etcd: &EtcdCluster, name: &str, node: &KubeNode) -> bool {
        let machine = &self.machines[node.machine];
        self.has_pod_network(etcd)
            && machine.hostname() == name
            && machine.phase == Phase::Up
            && machine.units.kubelet == ServiceState::Up
    }

    /// Whether a CNI is installed.
    pub(super) fn has_pod_network(&self, etcd: &EtcdCluster) -> bool {
        etcd.members.iter().any(|member| {
            let intent = self.machines[member.machine].intent.as_ref();
            intent.is_some_and(|intent| intent.has_pod_network)
        })
    }

    /// The machines of the cluster that one belongs to, in the order of their numbers.
    pub(crate) fn cluster_of(&self, nth: usize) -> Vec<usize> {
        let Some(intent) = &self.machines[nth].intent else { return Vec::new() };
        let is_one = |machine: &Machine| {
            let same = machine.intent.as_ref().is_some_and(|other| other.key == intent.key);
            same && matches!(machine.phase, Phase::Up | Phase::Ending(_))
        };
        let all = self.machines.iter().enumerate().filter(|(_, machine)| is_one(machine));
        all.map(|(nth, _)| nth).collect()
    }

    /// Makes one due event happen; returns whether there was one.
    fn step(&mut self, now: Duration) -> bool {
        let mut changed = false;
        for nth in 0..self.machines.len() {
            if self.machines[nth].due.is_some_and(|due| due <= now) {
                self.machines[nth].due = None;
                self.go_on(nth, now);
                changed = true;
            }
            changed |= self.start_units(nth, now);
        }
        for number in 0..self.etcds.len() {
            changed |= self.elect(number);
        }
        changed
    }

    /// The transition at the end of a phase.
    fn go_on(&mut self, nth: usize, now: Duration) {
        let machine = &mut self.machines[nth];
        match machine.phase {
            Phase::Dark => self.boot(nth, now),
            Phase::Accepted => self.apply_config(nth, now),
            Phase::Installing => {
                let intent = machine.intent.clone();
                let installer = intent.as_ref().and_then(|intent| intent.install_image.clone());
                machine.disk =
                    Some(SystemDisk { intent, installer, ..SystemDisk::new(machine.release.clone()) });
                machine.record_event(now, NodeEventKind::Sequence("install", false));
                self.darken(nth, now);
            }
            Phase::Ending(sequence) => self.end(nth, sequence, now),
            Phase::Off | Phase::Maintenance | Phase::Up => {}
        }
    }

    /// A machine applies its configuration.
    fn apply_config(&mut self, nth: usize, now: Duration) {
        let install = self.delays.install;
        let machine = &mut self.machines[nth];
        if machine.needs_install() && machine.intent.as_ref().is_some_and(|it| it.install_disk.is_some()) {
            machine.phase = Phase::Installing;
            machine.due = Some(now + install);
            machine.record_event(now, NodeEventKind::Sequence("install", true));
            return;
        }
        if let Some(disk) = &mut machine.disk {
            disk.intent.clone_from(&machine.intent);
        }
        self.start_services(nth, now);
    }

    /// The end of a run.
    fn end(&mut self, nth: usize, sequence: Sequence, now: Duration) {
        let machine = &mut self.machines[nth];
        machine.record_event(now, NodeEventKind::Sequence(sequence.word(), false));
        match sequence {
            Sequence::Reboot => self.darken(nth, now),
            Sequence::Shutdown => self.power_off(nth),
            Sequence::Upgrade => {
                self.write_upgrade(nth);
                self.darken(nth, now);
            }
            Sequence::Reset { full_disk, reboot } => {
                if full_disk && !machine.hardware.image {
                    machine.disk = None;
                } else if let Some(disk) = &mut machine.disk {
                    (disk.intent, disk.etcd, disk.in_overlay) = (None, None, false);
                }
                if reboot { self.darken(nth, now) } else { self.power_off(nth) }
            }
        }
    }

    pub(super) fn write_upgrade(&mut self, nth: usize) {
        let machine = &mut self.machines[nth];
        let fails = machine.faults.has("fall-back") || machine.faults.has("fail-install");
        let written = machine.upgraded.take().filter(|_| !fails);
        if let (Some(disk), Some((release, installer))) = (&mut machine.disk, written) {
            (disk.release, disk.installer) = (release, Some(installer));
        }
    }

    /// The port closes until the machine has booted.
    fn darken(&mut self, nth: usize, now: Duration) {
        let boot = self.delays.boot;
        let machine = &mut self.machines[nth];
        let late = if machine.boots > 0 { machine.faults.late() } else { Duration::ZERO };
        machine.stop();
        machine.phase = Phase::Dark;
        machine.due = Some(now + boot + late);
    }

    fn boot(&mut self, nth: usize, now: Duration) {
        let machine = &mut self.machines[nth];
        machine.boots += 1;
        machine.release = machine.disk.as_ref().map_or(&machine.medium, |disk| &disk.release).clone();
        let written = machine.disk.as_ref().and_then(|disk| disk.installer.clone());
        machine.installer = written.or_else(|| machine.medium_installer.clone());
        let release = machine.release.clone();
        machine.log(now, format!("Linux version (simulated) for Talos {release}"));
        machine.record_event(now, NodeEventKind::Sequence("initialize", true));
        machine.record_event(now, NodeEventKind::Stage(Stage::Booting, false));
        machine.intent = machine.disk.as_ref().and_then(|disk| disk.intent.clone());
        if machine.intent.is_some() {
            self.start_services(nth, now);
            return;
        }
        machine.phase = Phase::Maintenance;
        machine.log(now, "[talos] entering maintenance service");
    }

    /// A configured machine starts its services.
    fn start_services(&mut self, nth: usize, now: Duration) {
        let start = self.delays.start;
        let machine = &mut self.machines[nth];
        machine.phase = Phase::Up;
        machine.record_event(now, NodeEventKind::Sequence("initialize", false));
        machine.join_overlay();
        machine.units.cri = ServiceState::Starting(now + start);
        for begins in [true, false] {
            machine.record_event(now, NodeEventKind::Sequence("install", begins));
        }
        machine.record_event(now, NodeEventKind::Sequence("boot", true));
        if let Some(disk) = &mut machine.disk {
            disk.meta.entry(STATE_ENCRYPTION).or_default();
        }
        machine.log(now, "[talos] service[apid](Running): Health check successful");
        let addresses = machine.addresses();
        machine.accumulated.extend(addresses);
        if machine.is_control_plane() && machine.disk.as_ref().is_none_or(|disk| disk.etcd.is_none()) {
            machine.log(
                now,
                "[talos] etcd is waiting to join the cluster, if this node is the first node in the cluster, please run \
                 `talosctl bootstrap` against one of the following IPs:",
            );
        }
    }

    /// Starts the services that can start on a machine, and stops those that cannot run; returns whether any changed.
    fn start_units(&mut self, nth: usize, now: Duration) -> bool {
        if self.machines[nth].phase != Phase::Up {
            return false;
        }
        let before = (self.machines[nth].units, self.machines[nth].booted);
        let ready_at = now + self.delays.start;
        self.finish_starts(nth, now);
        let units = self.machines[nth].units;
        if units.cri == ServiceState::Up {
            if self.machines[nth].is_control_plane() {
                self.start_etcd(nth, ready_at);
                let has_quorum = self.etcd_of(nth).is_some_and(|etcd| self.has_quorum(etcd));
                let machine = &mut self.machines[nth];
                let can_serve = machine.units.etcd == ServiceState::Up && has_quorum;
                match machine.units.api {
                    ServiceState::Down if can_serve => machine.units.api = ServiceState::Starting(ready_at),
                    ServiceState::Starting(_) | ServiceState::Up if !can_serve => {
                        machine.units.api = ServiceState::Down;
                    }
                    _ => {}
                }
            }
            let is_broken = self.machines[nth].faults.fails("kubelet");
            if units.kubelet == ServiceState::Down && !is_broken && self.has_kubernetes(nth) {
                self.machines[nth].units.kubelet = ServiceState::Starting(ready_at);
            }
        }
        self.finish_boot(nth, now);
        before != (self.machines[nth].units, self.machines[nth].booted)
    }

    /// Services become healthy some time after their start.
    fn finish_starts(&mut self, nth: usize, now: Duration) {
        let over = |unit: ServiceState| matches!(unit, ServiceState::Starting(at) if at <= now);
        let machine = &mut self.machines[nth];
        if over(machine.units.cri) {
            machine.units.cri = ServiceState::Up;
        }
        if over(machine.units.etcd) {
            machine.units.etcd = ServiceState::Up;
            machine.log(now, "[talos] service[etcd](Running): Health check successful");
            self.promote(nth);
        }
        let machine = &mut self.machines[nth];
        if over(machine.units.api) {
            machine.units.api = ServiceState::Up;
        }
        if over(machine.units.kubelet) {
            machine.units.kubelet = ServiceState::Up;
            self.join_kubernetes(nth, now);
        }
    }

    fn finish_boot(&mut self, nth: usize, now: Duration) {
        let machine = &mut self.machines[nth];
        let units = machine.units;
        let control_plane = [units.etcd, units.api];
        let waits = machine.is_control_plane() && control_plane.iter().any(|unit| *unit != ServiceState::Up);
        if !machine.booted && units.kubelet == ServiceState::Up && !waits {
            machine.booted = true;
            machine.record_event(now, NodeEventKind::Sequence("boot", false));
            machine.log(now, "[talos] boot sequence: done");
        }
    }

    /// Starts the etcd member of a machine, or lets it join an etcd with a quorum.
    fn start_etcd(&mut self, nth: usize, ready_at: Duration) {
        let machine = &self.machines[nth];
        if machine.units.etcd != ServiceState::Down || machine.left_etcd || machine.faults.fails("etcd") {
            return;
        }
        if machine.disk.as_ref().is_some_and(|disk| disk.etcd.is_some()) {
            self.machines[nth].units.etcd = ServiceState::Starting(ready_at);
            return;
        }
        let Some(number) = self.cluster_etcd_number(nth) else { return };
        let etcd = &self.etcds[number];
        // Members join one at a time.
        if !self.has_quorum(etcd) || etcd.members.iter().any(|member| member.learner) {
            return;
        }
        self.add_member(number, nth, true);
        self.machines[nth].units.etcd = ServiceState::Starting(ready_at);
    }

    pub(super) fn add_member(&mut self, number: usize, nth: usize, learner: bool) {
        let machine = &mut self.machines[nth];
        let (hostname, addresses) = (machine.hostname(), machine.etcd_addresses());
        // A machine without a disk keeps its data in memory, and loses it with the run.
        let release = machine.release.clone();
        let intent = machine.intent.clone();
        let disk = machine.disk.get_or_insert_with(|| SystemDisk { intent, ..SystemDisk::new(release) });
        disk.etcd = Some(number);
        let etcd = &mut self.etcds[number];
        let change = etcd.change();
        let digest = Sha256::digest(format!("{number} {} {change}", machine.hardware.uuid));
        let id = u64::from_be_bytes(digest[..8].try_into().expect("eight bytes"));
        etcd.members.retain(|member| member.machine != nth);
        etcd.members.push(Member { id, machine: nth, hostname, addresses, learner });
    }

    fn promote(&mut self, nth: usize) {
        let number = self.machines[nth].disk.as_ref().and_then(|disk| disk.etcd);
        if let Some(etcd) = number.and_then(|number| self.etcds.get_mut(number)) {
            let own = etcd.members.iter_mut().filter(|member| member.machine == nth);
            own.for_each(|member| member.learner = false);
            etcd.change();
        }
    }

    fn join_kubernetes(&mut self, nth: usize, now: Duration) {
        let Some(number) = self.cluster_etcd_number(nth) else { return };
        let hostname = self.machines[nth].hostname();
        let etcd = &mut self.etcds[number];
        let revision = etcd.change();
        let node = KubeNode {
            machine: nth,
            unschedulable: false,
            annotations: BTreeMap::new(),
            moved: false,
            created: now,
            revision,
        };
        let node = etcd.nodes.entry(hostname).or_insert(node);
        node.machine = nth;
    }

    /// Elects the leader of etcd and the holder of the virtual address; returns whether either changed.
    fn elect(&mut self, number: usize) -> bool {
        let etcd = &self.etcds[number];
        let before = (etcd.leader, etcd.holder);
        let up = |nth: usize| etcd.voters().any(|member| member.machine == nth && self.is_member_up(member));
        let first = || etcd.voters().find(|member| self.is_member_up(member)).map(|member| member.machine);
        let quorum = self.has_quorum(etcd);
        let choose = |held: Option<usize>| held.filter(|nth| up(*nth)).or_else(first).filter(|_| quorum);
        let (leader, holder) = (choose(etcd.leader), choose(etcd.holder));
        let etcd = &mut self.etcds[number];
        (etcd.leader, etcd.holder) = (leader, holder);
        if let Some(nth) = holder.filter(|_| holder != before.1) {
            let vip = self.machines[nth].intent.as_ref().and_then(|intent| intent.vip);
            self.machines[nth].accumulated.extend(vip);
        }
        before != (leader, holder)
    }
}
