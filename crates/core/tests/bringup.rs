//! What must hold of every bring-up, whatever machines do and whenever it is killed.
//!
//! A `World` of machines behaves as Talos' do. A run looks at them, asks what to do, does it, and is killed at any point: before
//! or after it wrote down what it was about to do, before or after it did it.

use ichor_core::bringup::{
    Applied, Begun, ClusterStep, ConfigSeen, Contact, Decision, Etcd, Facts, Identity, Look, MachineSeen,
    Next, NodeSeen, NodeStep, Ours, Record, Refusal, Seen, Source, Stage, Wanted, WantedNode, decide,
    foresee,
};
use ichor_core::cluster::section::Role;
use ichor_core::cluster::value::Mac;
use ichor_core::moment::Moment;
use ichor_core::talos::api::machine::Stage as MachineStage;
use proptest::prelude::*;

/// What a machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Absent,
    Off,
    Maintenance,
    Installing(u8),
    Booted,
}

#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Clone, Copy, Debug)]
struct Machine {
    state: State,
    /// Whether it is the node's.
    right: bool,
    /// Whether it tells who it is.
    tells: bool,
    /// Whether etcd has data.
    data: bool,
    /// Whether its etcd is about to start.
    starting: bool,
    /// Whether a hypervisor makes it.
    made_by_us: bool,
}

struct World {
    machines: Vec<Machine>,
    control_planes: usize,
    bootstraps: usize,
    applied: Vec<usize>,
}

impl World {
    fn tick(&mut self, nth: usize) {
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

    fn look(&self, nth: usize) -> Look {
        let machine = self.machines[nth];
        let exists = self.machines[..self.control_planes].iter().any(|one| one.data);
        match machine.state {
            State::Absent | State::Off | State::Installing(_) => Look::Silent,
            State::Maintenance => Look::Maintenance(facts(nth, machine)),
            State::Booted => {
                let etcd = match (nth < self.control_planes, machine.data && !machine.starting) {
                    (false, _) => Etcd::Unknown,
                    (true, true) => Etcd::Runs,
                    (true, false) => Etcd::Waiting,
                };
                let runs = exists && etcd != Etcd::Waiting;
                Look::Ours(Ours {
                    facts: facts(nth, machine),
                    stage: if runs { MachineStage::Running } else { MachineStage::Booting },
                    unmet: Vec::new(),
                    config: ConfigSeen::Same,
                    etcd,
                })
            }
        }
    }
}

fn mac(nth: usize) -> Mac {
    Mac([2, 0, 0, 0, 0, u8::try_from(nth).unwrap()])
}

fn facts(nth: usize, machine: Machine) -> Facts {
    let macs = if machine.right { vec![mac(nth)] } else { vec![mac(nth + 100)] };
    Facts { macs: if machine.tells { macs } else { Vec::new() }, ..Facts::default() }
}

fn at(nth: usize) -> Contact {
    let address = format!("10.0.0.{}", nth + 1).parse().unwrap();
    Contact { address, stage: Stage::Static, source: Source::File }
}

fn now() -> Moment {
    Moment::parse("2026-01-01T00:00:00Z").unwrap()
}

/// When a run is killed while it does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    Never,
    BeforeItIsWritten,
    BeforeItIsDone,
    BeforeItIsKnown,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Tick(usize),
    Look(usize),
    Act(usize, Killed),
    Kill,
    /// Somebody reboots a machine.
    Reboot(usize),
}

struct Run {
    wanted: Wanted,
    world: World,
    seen: Seen,
    record: Record,
}

impl Run {
    fn new(machines: Vec<Machine>, control_planes: usize, at_once: usize) -> Self {
        let node = |nth: usize| WantedNode {
            name: format!("n{nth}"),
            role: if nth < control_planes { Role::Controlplane } else { Role::Worker },
            identity: Identity { macs: vec![mac(nth)], ..Identity::default() },
            chosen: true,
            config: "sum".to_owned(),
        };
        let wanted = Wanted { nodes: (0..machines.len()).map(node).collect(), bootstrap: 0, at_once };
        let world = World { machines, control_planes, bootstraps: 0, applied: Vec::new() };
        let mut run = Self { wanted, world, seen: Seen::default(), record: Record::default() };
        run.kill();
        run
    }

    fn kill(&mut self) {
        self.seen = Seen::default();
        self.seen.nodes = self.world.machines.iter().map(|_| NodeSeen::default()).collect();
    }

    fn look(&mut self, nth: usize) {
        let (machine, look) = (self.world.machines[nth], self.world.look(nth));
        let seen = &mut self.seen.nodes[nth];
        seen.machine = machine.made_by_us.then(|| MachineSeen {
            made: machine.state != State::Absent,
            takes_media: true,
            on: !matches!(machine.state, State::Absent | State::Off),
        });
        if let Look::Ours(ours) = &look
            && ours.etcd == Etcd::Runs
            && let Some(begun) = &mut self.record.bootstrap
        {
            begun.done = Some(now());
        }
        seen.left |= seen.applied > 0 && !matches!(look, Look::Maintenance(_));
        (seen.at, seen.look) = (Some(at(nth)), Some(look));
    }

    fn decide(&self) -> Decision {
        decide(&self.wanted, &self.seen, &self.record)
    }

    /// Does the step that is decided for a node, or for the cluster behind the last of them.
    fn act(&mut self, nth: usize, killed: Killed) {
        let decision = self.decide();
        let alive = match decision.nodes.get(nth) {
            Some(Next::Do(step)) => self.node_step(nth, *step, killed),
            None => match decision.cluster {
                Next::Do(step) => self.cluster_step(step, killed),
                _ => true,
            },
            Some(_) => true,
        };
        if !alive {
            self.kill();
        }
    }

    fn node_step(&mut self, nth: usize, step: NodeStep, killed: Killed) -> bool {
        let name = self.wanted.nodes[nth].name.clone();
        if killed == Killed::BeforeItIsWritten {
            return false;
        }
        match step {
            NodeStep::Apply => {
                let Some(Look::Maintenance(facts)) = self.seen.nodes[nth].look.clone() else {
                    panic!("applied to what is not waiting for it")
                };
                let applied = Applied { config: "sum".to_owned(), machine: facts, at: now() };
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
                seen.machine = seen.machine.map(|machine| MachineSeen { made: true, ..machine });
            }
            NodeStep::Attach => seen.attached = true,
            NodeStep::Start => seen.machine = seen.machine.map(|machine| MachineSeen { on: true, ..machine }),
            NodeStep::Apply => {
                seen.applied += 1;
                seen.left = false;
            }
            NodeStep::Reconfigure => seen.reconfigured = true,
            NodeStep::Eject => self.record.nodes.get_mut(&self.wanted.nodes[nth].name).unwrap().media = false,
        }
        true
    }

    fn cluster_step(&mut self, step: ClusterStep, killed: Killed) -> bool {
        if killed == Killed::BeforeItIsWritten {
            return false;
        }
        if let ClusterStep::Bootstrap(nth) = step {
            let node = self.wanted.nodes[nth].name.clone();
            let begun =
                self.record.bootstrap.get_or_insert(Begun { node: node.clone(), begun: now(), done: None });
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

    /// What Talos does: nothing over data. False where nobody answers.
    fn bootstrap(&mut self, nth: usize) -> bool {
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

    fn event(&mut self, event: Event) {
        let count = self.world.machines.len();
        match event {
            Event::Tick(nth) => self.world.tick(nth % count),
            Event::Look(nth) => self.look(nth % count),
            // One more than there are nodes: the cluster.
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

    /// A run that nobody kills, on machines that do what they shall.
    fn finish(&mut self) -> Decision {
        for _ in 0..40 * self.world.machines.len() {
            for nth in 0..self.world.machines.len() {
                self.world.tick(nth);
                self.look(nth);
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

fn killed() -> impl Strategy<Value = Killed> {
    prop_oneof![
        3 => Just(Killed::Never),
        1 => Just(Killed::BeforeItIsWritten),
        1 => Just(Killed::BeforeItIsDone),
        1 => Just(Killed::BeforeItIsKnown),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let nth = 0_usize..8;
    prop_oneof![
        3 => nth.clone().prop_map(Event::Tick),
        4 => nth.clone().prop_map(Event::Look),
        6 => (nth.clone(), killed()).prop_map(|(nth, killed)| Event::Act(nth, killed)),
        1 => Just(Event::Kill),
        1 => nth.prop_map(Event::Reboot),
    ]
}

fn machine(right: impl Strategy<Value = bool>) -> impl Strategy<Value = Machine> {
    let early = prop_oneof![Just(State::Off), Just(State::Maintenance), Just(State::Absent)];
    (early, right, any::<bool>()).prop_map(|(state, right, made_by_us)| {
        let state = if state == State::Absent && !made_by_us { State::Off } else { state };
        Machine { state, right, tells: true, data: false, starting: false, made_by_us }
    })
}

fn machines(right: impl Strategy<Value = bool> + Clone) -> impl Strategy<Value = (Vec<Machine>, usize)> {
    (1_usize..4, 0_usize..4).prop_flat_map(move |(control_planes, workers)| {
        (prop::collection::vec(machine(right.clone()), control_planes + workers), Just(control_planes))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn killed_at_any_point_it_ends_with_every_node_up_and_etcd_bootstrapped_once(
        (machines, control_planes) in machines(Just(true)),
        events in prop::collection::vec(event(), 0..120),
        at_once in 1_usize..4,
    ) {
        let mut run = Run::new(machines, control_planes, at_once);
        for event in events {
            run.event(event);
        }
        run.kill();

        let decision = run.finish();

        prop_assert_eq!(decision.cluster, Next::Done);
        prop_assert!(decision.nodes.iter().all(|next| *next == Next::Done));
        prop_assert_eq!(run.world.bootstraps, 1);
        prop_assert!(run.world.machines.iter().all(|machine| machine.state == State::Booted));
        prop_assert!(run.record.nodes.values().all(|node| !node.media));
    }

    #[test]
    fn machines_that_are_others_are_never_given_a_configuration(
        (mut machines, control_planes) in machines(any::<bool>()),
        events in prop::collection::vec(event(), 0..120),
        silent in any::<bool>(),
    ) {
        // Some do not even tell who they are.
        machines[0].tells = !silent;
        let mut run = Run::new(machines, control_planes, 8);
        for event in events {
            run.event(event);
        }
        run.kill();

        let decision = run.finish();

        for (machine, next) in run.world.machines.iter().zip(&decision.nodes) {
            let known = machine.right && machine.tells;
            prop_assert!(known || matches!(next, Next::Refused(_)), "{:?} {:?}", machine, next);
            prop_assert_eq!(machine.state == State::Booted, known);
        }
        let all = run.world.machines.iter().take(control_planes).all(|machine| machine.right && machine.tells);
        // Nobody knows whether etcd runs on a control plane that is another machine without a configuration: it does not.
        if all {
            prop_assert_eq!(run.world.bootstraps, 1);
        }
    }
}

fn ready(count: usize) -> Vec<Machine> {
    let machine = Machine {
        state: State::Maintenance,
        right: true,
        tells: true,
        data: false,
        starting: false,
        made_by_us: false,
    };
    vec![machine; count]
}

fn waits(next: &Next<ClusterStep>) -> &str {
    match next {
        Next::Wait(wait) => &wait.reason,
        next => panic!("{next:?}"),
    }
}

#[test]
fn control_planes_come_in_order_and_workers_beside_them() {
    let mut run = Run::new(ready(5), 3, 8);
    run.wanted.bootstrap = 1;

    run.finish();

    let control_planes: Vec<_> = run.world.applied.iter().filter(|nth| **nth < 3).copied().collect();
    assert_eq!(control_planes, [1, 0, 2]);
    assert!(run.world.machines[1].data && run.world.bootstraps == 1);
}

#[test]
fn a_second_run_does_nothing() {
    let mut run = Run::new(ready(4), 1, 8);
    run.finish();
    run.kill();
    run.seen.cluster.kubeconfig = true;
    (0..4).for_each(|nth| run.look(nth));

    assert!(foresee(&run.wanted, &run.seen, &run.record).is_empty());
    let applied = run.world.applied.clone();
    run.finish();
    assert_eq!(run.world.applied, applied);
}

#[test]
fn a_node_that_is_added_is_all_that_is_done() {
    let mut run = Run::new(ready(4), 3, 8);
    run.wanted.nodes[3].chosen = false;
    run.finish();
    run.kill();
    run.wanted.nodes[3].chosen = true;
    run.seen.cluster.kubeconfig = true;
    (0..4).for_each(|nth| run.look(nth));

    let foreseen = foresee(&run.wanted, &run.seen, &run.record);
    let applied = run.world.applied.len();
    run.finish();

    let planned: Vec<_> = foreseen.nodes.iter().map(|node| node.as_ref().unwrap().len()).collect();
    assert_eq!((planned, foreseen.cluster.len()), (vec![0, 0, 0, 2], 0));
    assert_eq!(run.world.applied[applied..], [3]);
}

#[test]
fn a_control_plane_that_was_never_seen_keeps_etcd_from_being_bootstrapped() {
    let mut run = Run::new(ready(3), 3, 8);
    run.world.machines[2].state = State::Absent;
    for _ in 0..20 {
        for nth in 0..3 {
            run.world.tick(nth);
            run.look(nth);
        }
        (0..=3).for_each(|nth| run.act(nth, Killed::Never));
    }

    assert_eq!(waits(&run.decide().cluster), "n2 to be seen once: etcd could run there");
    assert_eq!(run.world.bootstraps, 0);
}

#[test]
fn a_cluster_that_lost_its_etcd_is_not_bootstrapped_again() {
    let mut run = Run::new(ready(1), 1, 8);
    run.finish();
    // Its disk is wiped, and it boots anew.
    run.world.machines[0] = ready(1)[0];
    run.kill();
    for _ in 0..20 {
        run.world.tick(0);
        run.look(0);
        run.act(0, Killed::Never);
        run.act(1, Killed::Never);
    }

    assert_eq!(run.world.bootstraps, 1);
    assert_eq!(waits(&run.decide().cluster), "etcd");
}

#[test]
fn a_replaced_bootstrap_node_beside_control_planes_of_another_record_is_not_bootstrapped() {
    let mut run = Run::new(ready(2), 2, 8);
    // The other one has data, is just booting, and this record knows nothing of it.
    run.world.machines[1] =
        Machine { state: State::Booted, data: true, starting: true, ..run.world.machines[1] };
    run.look(0);
    run.look(1);
    run.act(0, Killed::Never);
    (0..2).for_each(|_| run.world.tick(0));
    run.look(0);

    assert_eq!(waits(&run.decide().cluster), "n1, which was configured before and may have data of etcd");
}

#[test]
fn what_is_of_another_cluster_is_refused_and_others_go_on() {
    let mut run = Run::new(ready(3), 1, 8);
    run.look(2);
    run.seen.nodes[2].look = Some(Look::Foreign("its authority is other".to_owned()));

    let decision = run.decide();

    let Next::Refused(Refusal { reason, remedy, .. }) = &decision.nodes[2] else { panic!("{decision:?}") };
    assert!(reason.contains("its authority is other") && remedy.contains("reset"), "{reason}: {remedy}");
}

#[test]
fn a_running_control_plane_is_changed_only_while_the_others_stand() {
    let mut run = Run::new(ready(3), 3, 8);
    run.finish();
    let differs = |run: &mut Run, nth: usize| {
        run.look(nth);
        let Some(Look::Ours(ours)) = &mut run.seen.nodes[nth].look else { panic!("it runs") };
        ours.config =
            ConfigSeen::Differs { role: Some(Role::Controlplane), keys: vec!["machine.sysctls".to_owned()] };
    };
    run.kill();
    (0..3).for_each(|nth| differs(&mut run, nth));

    let first = run.decide().nodes;
    run.seen.nodes[0].reconfigured = true;
    run.seen.nodes[0].look = Some(Look::Silent);
    let second = run.decide().nodes;
    run.look(0);
    let third = run.decide().nodes;

    let reconfigure = Next::Do(NodeStep::Reconfigure);
    assert_eq!(
        (first[0] == reconfigure, first[1] == reconfigure, first[2] == reconfigure),
        (true, false, false)
    );
    assert!(second.iter().all(|next| *next != reconfigure), "{second:?}");
    assert_eq!((&third[0], third[1] == reconfigure, third[2] == reconfigure), (&Next::Done, true, false));
}

#[test]
fn a_node_keeps_its_role() {
    let mut run = Run::new(ready(2), 1, 8);
    run.finish();
    run.look(1);
    let Some(Look::Ours(ours)) = &mut run.seen.nodes[1].look else { panic!("it runs") };
    ours.config = ConfigSeen::Differs { role: Some(Role::Controlplane), keys: Vec::new() };

    let Next::Refused(refusal) = run.decide().nodes[1].clone() else { panic!("it is changed") };

    assert_eq!(refusal.reason, "it runs as a control plane, and the file makes it a worker");
}

#[test]
fn a_machine_that_never_gets_installed_is_given_up() {
    let mut run = Run::new(ready(1), 1, 8);
    let mut tries = 0;
    for _ in 0..10 {
        run.world.machines[0].state = State::Maintenance;
        run.look(0);
        tries += usize::from(run.decide().nodes[0] == Next::Do(NodeStep::Apply));
        run.act(0, Killed::Never);
        run.look(0);
    }

    assert_eq!(tries, 3);
    assert!(
        matches!(&run.decide().nodes[0], Next::Refused(refusal) if refusal.reason.contains("3 attempts"))
    );
}
