//! Machines that behave as Talos' do, and a run that can be killed at any point.

use ichor_core::bringup::{
    AddressOrigin, AddressStage, AppliedConfig, BootstrapRecord, BringupDecision, BringupRecord,
    ClusterMember, ClusterStep, ConfigState, DesiredNode, DesiredState, EtcdPhase, MachineFacts,
    MachineIdentity, NextStep, NodeAddress, NodeProbe, NodeStep, ObservedNode, ObservedState, ObservedVm,
    decide,
};
use ichor_core::cluster::section::Role;
use ichor_talos::api::machine::Stage as MachineStage;
use ichor_values::Mac;
use ichor_values::Moment;

/// The state of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Absent,
    Off,
    Maintenance,
    Installing(u8),
    Booted,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub state: State,
    /// Whether it is the node's machine.
    pub right: bool,
    /// Whether it reports its identity.
    pub tells: bool,
    /// Whether etcd has data.
    pub data: bool,
    /// Whether its etcd is about to start.
    pub starting: bool,
    /// Whether a hypervisor creates it.
    pub made_by_us: bool,
}

pub struct World {
    pub machines: Vec<Machine>,
    pub control_planes: usize,
    pub bootstraps: usize,
    pub applied: Vec<usize>,
}

impl World {
    pub fn tick(&mut self, nth: usize) {
        let exists = self.machines[..self.control_planes].iter().any(|one| one.data);
        let machine = &mut self.machines[nth];
        match machine.state {
            State::Absent => {}
            State::Off if machine.made_by_us => {}
            State::Off => machine.state = State::Maintenance,
            State::Installing(0) => {
                machine.state = State::Booted;
                machine.starting = machine.data;
            }
            State::Installing(left) => machine.state = State::Installing(left - 1),
            State::Booted if nth < self.control_planes && exists => {
                (machine.data, machine.starting) = (true, false);
            }
            State::Maintenance | State::Booted => {}
        }
    }

    pub fn probe(&self, nth: usize) -> NodeProbe {
        let machine = self.machines[nth];
        let exists = self.machines[..self.control_planes].iter().any(|one| one.data);
        match machine.state {
            State::Absent | State::Off | State::Installing(_) => NodeProbe::Silent,
            State::Maintenance => NodeProbe::Maintenance(facts(nth, machine)),
            State::Booted => {
                let etcd = match (nth < self.control_planes, machine.data && !machine.starting) {
                    (false, _) => EtcdPhase::Unknown,
                    (true, true) => EtcdPhase::Runs,
                    (true, false) => EtcdPhase::Waiting,
                };
                let runs = exists && etcd != EtcdPhase::Waiting;
                NodeProbe::Ours(ClusterMember {
                    facts: facts(nth, machine),
                    stage: if runs { MachineStage::Running } else { MachineStage::Booting },
                    unmet: Vec::new(),
                    config: ConfigState::Same,
                    etcd,
                })
            }
        }
    }
}

pub fn mac(nth: usize) -> Mac {
    Mac([2, 0, 0, 0, 0, u8::try_from(nth).unwrap()])
}

pub fn facts(nth: usize, machine: Machine) -> MachineFacts {
    let macs = if machine.right { vec![mac(nth)] } else { vec![mac(nth + 100)] };
    MachineFacts { macs: if machine.tells { macs } else { Vec::new() }, ..MachineFacts::default() }
}

pub fn at(nth: usize) -> NodeAddress {
    let address = format!("10.0.0.{}", nth + 1).parse().unwrap();
    NodeAddress { address, stage: AddressStage::Static, source: AddressOrigin::File }
}

pub fn now() -> Moment {
    Moment::parse("2026-01-01T00:00:00Z").unwrap()
}

/// The moment at which a run is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Killed {
    Never,
    BeforeItIsWritten,
    BeforeItIsDone,
    BeforeItIsKnown,
}

#[derive(Clone, Copy, Debug)]
pub enum Event {
    Tick(usize),
    Look(usize),
    Act(usize, Killed),
    Kill,
    /// An operator reboots a machine.
    Reboot(usize),
}

pub struct Run {
    pub wanted: DesiredState,
    pub world: World,
    pub seen: ObservedState,
    pub record: BringupRecord,
}

impl Run {
    pub fn new(machines: Vec<Machine>, control_planes: usize, at_once: usize) -> Self {
        let node = |nth: usize| DesiredNode {
            name: format!("n{nth}"),
            role: if nth < control_planes { Role::Controlplane } else { Role::Worker },
            identity: MachineIdentity { macs: vec![mac(nth)], ..MachineIdentity::default() },
            chosen: true,
            config: "sum".to_owned(),
        };
        let wanted = DesiredState { nodes: (0..machines.len()).map(node).collect(), bootstrap: 0, at_once };
        let world = World { machines, control_planes, bootstraps: 0, applied: Vec::new() };
        let mut run =
            Self { wanted, world, seen: ObservedState::default(), record: BringupRecord::default() };
        run.kill();
        run
    }

    pub fn kill(&mut self) {
        self.seen = ObservedState::default();
        self.seen.nodes = self.world.machines.iter().map(|_| ObservedNode::default()).collect();
    }

    pub fn probe(&mut self, nth: usize) {
        let (machine, look) = (self.world.machines[nth], self.world.probe(nth));
        let seen = &mut self.seen.nodes[nth];
        seen.machine = machine.made_by_us.then(|| ObservedVm {
            made: machine.state != State::Absent,
            takes_media: true,
            on: !matches!(machine.state, State::Absent | State::Off),
        });
        if let NodeProbe::Ours(ours) = &look
            && ours.etcd == EtcdPhase::Runs
            && let Some(begun) = &mut self.record.bootstrap
        {
            begun.done = Some(now());
        }
        seen.left |= seen.applied > 0 && !matches!(look, NodeProbe::Maintenance(_));
        (seen.at, seen.look) = (Some(at(nth)), Some(look));
    }

    pub fn decide(&self) -> BringupDecision {
        decide(&self.wanted, &self.seen, &self.record)
    }

    /// Runs the decided step of a node, or of the cluster after the last node.
    pub fn act(&mut self, nth: usize, killed: Killed) {
        let decision = self.decide();
        let alive = match decision.nodes.get(nth) {
            Some(NextStep::Do(step)) => self.node_step(nth, *step, killed),
            None => match decision.cluster {
                NextStep::Do(step) => self.cluster_step(step, killed),
                _ => true,
            },
            Some(_) => true,
        };
        if !alive {
            self.kill();
        }
    }

    pub fn node_step(&mut self, nth: usize, step: NodeStep, killed: Killed) -> bool {
        let name = self.wanted.nodes[nth].name.clone();
        if killed == Killed::BeforeItIsWritten {
            return false;
        }
        match step {
            NodeStep::Apply => {
                let Some(NodeProbe::Maintenance(facts)) = self.seen.nodes[nth].look.clone() else {
                    panic!("applied to what is not waiting for it")
                };
                let applied = AppliedConfig { config: "sum".to_owned(), machine: facts, at: now() };
                self.record.nodes.entry(name).or_default().applied = Some(applied);
            }
            NodeStep::Attach => self.record.nodes.entry(name).or_default().media = true,
            _ => {}
        }
        if killed == Killed::BeforeItIsDone {
            return false;
        }
        let machine = &mut self.world.machines[nth];
        match step {
            NodeStep::Make => {
                assert_eq!(machine.state, State::Absent);
                machine.state = State::Off;
            }
            NodeStep::Start if machine.state == State::Off => machine.state = State::Maintenance,
            NodeStep::Apply => {
                assert!(machine.right && machine.tells, "a configuration for another machine");
                if machine.state == State::Maintenance {
                    machine.state = State::Installing(1);
                    self.world.applied.push(nth);
                }
            }
            _ => {}
        }
        if killed == Killed::BeforeItIsKnown {
            return false;
        }
        let seen = &mut self.seen.nodes[nth];
        match step {
            NodeStep::Make => {
                seen.machine = seen.machine.map(|machine| ObservedVm { made: true, ..machine });
            }
            NodeStep::Attach => seen.attached = true,
            NodeStep::Start => seen.machine = seen.machine.map(|machine| ObservedVm { on: true, ..machine }),
            NodeStep::Apply => {
                seen.applied += 1;
                seen.left = false;
            }
            NodeStep::Reconfigure => seen.reconfigured = true,
            NodeStep::Eject => self.record.nodes.get_mut(&self.wanted.nodes[nth].name).unwrap().media = false,
        }
        true
    }

    pub fn cluster_step(&mut self, step: ClusterStep, killed: Killed) -> bool {
        if killed == Killed::BeforeItIsWritten {
            return false;
        }
        if let ClusterStep::Bootstrap(nth) = step {
            let node = self.wanted.nodes[nth].name.clone();
            let begun = self.record.bootstrap.get_or_insert(BootstrapRecord {
                node: node.clone(),
                begun: now(),
                done: None,
            });
            assert_eq!(begun.node, node, "begun on one node, done on another");
            if killed == Killed::BeforeItIsDone {
                return false;
            }
            let answered = self.bootstrap(nth);
            if killed == Killed::BeforeItIsKnown {
                return false;
            }
            if answered {
                self.record.bootstrap.as_mut().unwrap().done = Some(now());
            } else {
                self.record.bootstrap = None;
            }
            return true;
        }
        match step {
            ClusterStep::Bootstrap(_) => {}
            ClusterStep::Endpoint => self.seen.cluster.endpoint = true,
            ClusterStep::Health(_) => self.seen.cluster.healthy = true,
            ClusterStep::Kubeconfig(_) => self.seen.cluster.kubeconfig = true,
        }
        killed == Killed::Never
    }

    /// Talos' bootstrap, which is rejected if there is data. False if the machine does not answer.
    pub fn bootstrap(&mut self, nth: usize) -> bool {
        let others =
            self.world.machines.iter().enumerate().any(|(other, machine)| other != nth && machine.data);
        let machine = &mut self.world.machines[nth];
        if machine.state == State::Booted && !machine.data {
            assert!(!others, "a second cluster");
            machine.data = true;
            self.world.bootstraps += 1;
            assert_eq!(self.world.bootstraps, 1, "bootstrapped twice");
        }
        machine.state == State::Booted
    }

    pub fn event(&mut self, event: Event) {
        let count = self.world.machines.len();
        match event {
            Event::Tick(nth) => self.world.tick(nth % count),
            Event::Look(nth) => self.probe(nth % count),
            // One more than the number of nodes: the cluster.
            Event::Act(nth, killed) => self.act(nth % (count + 1), killed),
            Event::Kill => self.kill(),
            Event::Reboot(nth) => {
                let machine = &mut self.world.machines[nth % count];
                if machine.state == State::Booted {
                    machine.state = State::Installing(0);
                }
            }
        }
    }

    /// An uninterrupted run on machines that work as expected.
    pub fn finish(&mut self) -> BringupDecision {
        for _ in 0..40 * self.world.machines.len() {
            for nth in 0..self.world.machines.len() {
                self.world.tick(nth);
                self.probe(nth);
            }
            for nth in 0..=self.world.machines.len() {
                self.act(nth, Killed::Never);
            }
            let installing = self.seen.nodes.iter().filter(|seen| seen.applied > 0 && !seen.left).count();
            assert!(installing <= self.wanted.at_once, "{installing} at once");
            let decision = self.decide();
            if decision.is_over() {
                return decision;
            }
        }
        panic!("it does not end: {:?}", self.decide());
    }
}
