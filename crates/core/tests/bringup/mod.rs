//! Invariants of every bring-up, whatever the machines do and whenever it is interrupted.
//!
//! A `World` of machines behaves like Talos. A run observes them, decides, acts, and is interrupted at any point: before or after it
//! records a step, before or after it runs it.

mod world;

use ichor_core::bringup::{ClusterStep, ConfigState, EtcdPhase, NextStep, NodeProbe, NodeStep, preview};
use ichor_core::cluster::section::Role;
use proptest::prelude::*;

use world::*;

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
    fn an_interrupted_run_ends_with_every_node_up_and_one_bootstrap(
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

        prop_assert_eq!(decision.cluster, NextStep::Done);
        prop_assert!(decision.nodes.iter().all(|next| *next == NextStep::Done));
        prop_assert_eq!(run.world.bootstraps, 1);
        prop_assert!(run.world.machines.iter().all(|machine| machine.state == State::Booted));
        prop_assert!(run.record.nodes.values().all(|node| !node.media));
    }

    #[test]
    fn other_machines_never_get_a_configuration(
        (mut machines, control_planes) in machines(any::<bool>()),
        events in prop::collection::vec(event(), 0..120),
        silent in any::<bool>(),
    ) {
        // Some do not report their identity.
        machines[0].tells = !silent;
        let mut run = Run::new(machines, control_planes, 8);
        for event in events {
            run.event(event);
        }
        run.kill();

        let decision = run.finish();

        for (machine, next) in run.world.machines.iter().zip(&decision.nodes) {
            let known = machine.right && machine.tells;
            prop_assert!(known || matches!(next, NextStep::Refused(_)), "{:?} {:?}", machine, next);
            prop_assert_eq!(machine.state == State::Booted, known);
        }
        let all = run.world.machines.iter().take(control_planes).all(|machine| machine.right && machine.tells);
        // Whether a control plane whose address has an unconfigured machine runs etcd is known: it does not.
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

fn waits(next: &NextStep<ClusterStep>) -> &str {
    match next {
        NextStep::Wait(wait) => &wait.reason,
        next => panic!("{next:?}"),
    }
}

#[test]
fn control_planes_start_in_order_and_workers_in_parallel() {
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
    (0..4).for_each(|nth| run.probe(nth));

    assert!(preview(&run.wanted, &run.seen, &run.record).is_empty());
    let applied = run.world.applied.clone();
    run.finish();
    assert_eq!(run.world.applied, applied);
}

#[test]
fn an_added_node_is_the_only_one_changed() {
    let mut run = Run::new(ready(4), 3, 8);
    run.wanted.nodes[3].chosen = false;
    run.finish();
    run.kill();
    run.wanted.nodes[3].chosen = true;
    run.seen.cluster.kubeconfig = true;
    (0..4).for_each(|nth| run.probe(nth));

    let foreseen = preview(&run.wanted, &run.seen, &run.record);
    let applied = run.world.applied.len();
    run.finish();

    let planned: Vec<_> = foreseen.nodes.iter().map(|node| node.as_ref().unwrap().len()).collect();
    assert_eq!((planned, foreseen.cluster.len()), (vec![0, 0, 0, 2], 0));
    assert_eq!(run.world.applied[applied..], [3]);
}

#[test]
fn an_unseen_control_plane_blocks_the_bootstrap() {
    let mut run = Run::new(ready(3), 3, 8);
    run.world.machines[2].state = State::Absent;
    for _ in 0..20 {
        for nth in 0..3 {
            run.world.tick(nth);
            run.probe(nth);
        }
        (0..=3).for_each(|nth| run.act(nth, Killed::Never));
    }

    assert_eq!(waits(&run.decide().cluster), "n2 to answer once: it may run etcd");
    assert_eq!(run.world.bootstraps, 0);
}

#[test]
fn a_cluster_without_its_etcd_is_not_bootstrapped_again() {
    let mut run = Run::new(ready(1), 1, 8);
    run.finish();
    // Its disk is wiped, and it boots again.
    run.world.machines[0] = ready(1)[0];
    run.kill();
    for _ in 0..20 {
        run.world.tick(0);
        run.probe(0);
        run.act(0, Killed::Never);
        run.act(1, Killed::Never);
    }

    assert_eq!(run.world.bootstraps, 1);
    assert_eq!(waits(&run.decide().cluster), "etcd");
}

#[test]
fn a_running_control_plane_waits_for_its_etcd() {
    let mut run = Run::new(ready(1), 1, 8);
    run.finish();
    for etcd in [EtcdPhase::Waiting, EtcdPhase::Unknown] {
        run.probe(0);
        let Some(NodeProbe::Ours(ours)) = &mut run.seen.nodes[0].look else { panic!("it runs") };
        ours.etcd = etcd;

        let decision = run.decide();

        assert!(!decision.is_over(), "{decision:?}");
        assert_eq!(waits(&decision.cluster), "etcd");
    }
}

#[test]
fn a_replaced_bootstrap_node_beside_control_planes_of_another_record_is_not_bootstrapped() {
    let mut run = Run::new(ready(2), 2, 8);
    // The other one has data and is booting, and this record does not know it.
    run.world.machines[1] =
        Machine { state: State::Booted, data: true, starting: true, ..run.world.machines[1] };
    run.probe(0);
    run.probe(1);
    run.act(0, Killed::Never);
    (0..2).for_each(|_| run.world.tick(0));
    run.probe(0);

    assert_eq!(waits(&run.decide().cluster), "n1, which was configured before and may have etcd data");
}

#[test]
fn machines_of_another_cluster_are_rejected_and_the_others_continue() {
    let mut run = Run::new(ready(3), 1, 8);
    run.probe(2);
    run.seen.nodes[2].look = Some(NodeProbe::Foreign("its authority is other".to_owned()));

    let decision = run.decide();

    let NextStep::Refused(blocker) = &decision.nodes[2] else { panic!("{decision:?}") };
    let (reason, remedy) = (&blocker.issue.message, blocker.remedy());
    assert!(reason.contains("its authority is other") && remedy.contains("reset"), "{reason}: {remedy}");
}

#[test]
fn a_running_control_plane_is_changed_only_while_the_others_are_running() {
    let mut run = Run::new(ready(3), 3, 8);
    run.finish();
    let differs = |run: &mut Run, nth: usize| {
        run.probe(nth);
        let Some(NodeProbe::Ours(ours)) = &mut run.seen.nodes[nth].look else { panic!("it runs") };
        ours.config =
            ConfigState::Differs { role: Some(Role::Controlplane), keys: vec!["machine.sysctls".to_owned()] };
    };
    run.kill();
    (0..3).for_each(|nth| differs(&mut run, nth));

    let first = run.decide().nodes;
    run.seen.nodes[0].reconfigured = true;
    run.seen.nodes[0].look = Some(NodeProbe::Silent);
    let second = run.decide().nodes;
    run.probe(0);
    let third = run.decide().nodes;

    let reconfigure = NextStep::Do(NodeStep::Reconfigure);
    assert_eq!(
        (first[0] == reconfigure, first[1] == reconfigure, first[2] == reconfigure),
        (true, false, false)
    );
    assert!(second.iter().all(|next| *next != reconfigure), "{second:?}");
    assert_eq!((&third[0], third[1] == reconfigure, third[2] == reconfigure), (&NextStep::Done, true, false));
}

#[test]
fn a_node_keeps_its_role() {
    let mut run = Run::new(ready(2), 1, 8);
    run.finish();
    run.probe(1);
    let Some(NodeProbe::Ours(ours)) = &mut run.seen.nodes[1].look else { panic!("it runs") };
    ours.config = ConfigState::Differs { role: Some(Role::Controlplane), keys: Vec::new() };

    let NextStep::Refused(blocker) = run.decide().nodes[1].clone() else { panic!("it is changed") };

    assert_eq!(
        blocker.issue.message,
        "the node is installed as a control plane, but the cluster file makes it a worker"
    );
}

#[test]
fn a_failing_installation_is_abandoned() {
    let mut run = Run::new(ready(1), 1, 8);
    let mut tries = 0;
    for _ in 0..10 {
        run.world.machines[0].state = State::Maintenance;
        run.probe(0);
        tries += usize::from(run.decide().nodes[0] == NextStep::Do(NodeStep::Apply));
        run.act(0, Killed::Never);
        run.probe(0);
    }

    assert_eq!(tries, 3);
    assert!(
        matches!(&run.decide().nodes[0], NextStep::Refused(blocker) if blocker.issue.message.contains("3 attempts"))
    );
}
