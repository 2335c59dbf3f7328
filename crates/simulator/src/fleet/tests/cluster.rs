//! Machines that become a cluster, and stay one.

use super::*;

#[test]
fn a_worker_answers_only_when_a_control_plane_can_sign_for_it() {
    let mut trial = TestCluster::new("v1.13.9", 1, 1);
    trial.pass(10);

    trial.apply(1).unwrap();
    trial.pass(60);
    assert_eq!(trial.fleet.listeners(1).talos, None);
    trial.apply(0).unwrap();
    trial.pass(60);

    assert_eq!(trial.fleet.listeners(1).talos, Some(AuthMode::Mutual));
    assert_eq!(trial.stage(1), Stage::Booting);
}

#[test]
fn bootstrap_runs_once_on_a_ready_control_plane() {
    let mut trial = TestCluster::new("v1.13.9", 1, 1);
    trial.pass(10);
    for nth in 0..2 {
        trial.apply(nth).unwrap();
    }
    while trial.fleet.machines[0].phase != Phase::Up {
        trial.pass(1);
    }
    let refused = |trial: &mut TestCluster, nth| trial.fleet.bootstrap(nth, trial.now).unwrap_err();

    assert_eq!(
        refused(&mut trial, 0),
        CallError::new(ErrorCode::FailedPrecondition, "bootstrap is not available yet")
    );
    trial.pass(3);
    let worker = "bootstrap is only available on control plane nodes";
    assert_eq!(refused(&mut trial, 1), CallError::new(ErrorCode::Unimplemented, worker));
    trial.fleet.bootstrap(0, trial.now).unwrap();
    let again = CallError::new(ErrorCode::AlreadyExists, "etcd data directory is not empty");
    assert_eq!(refused(&mut trial, 0), again);
    trial.pass(10);
    assert_eq!(refused(&mut trial, 0), again);
    assert_eq!(trial.fleet.bootstraps(), 1);
}

#[test]
fn nodes_join_in_sequence_after_bootstrap_until_the_cluster_is_healthy() {
    let mut trial = TestCluster::new("v1.13.9", 3, 2);
    trial.pass(10);
    for nth in 0..5 {
        trial.apply(nth).unwrap();
    }
    trial.pass(40);
    assert_eq!(trial.health().unwrap().0, "etcd to be healthy");
    trial.fleet.bootstrap(0, trial.now).unwrap();

    let mut most_learners = 0;
    while trial.health().is_some() {
        trial.pass(1);
        let etcd = trial.fleet.cluster_etcd(0).unwrap();
        most_learners = most_learners.max(etcd.members.iter().filter(|member| member.learner).count());
    }

    assert_eq!(most_learners, 1);
    let members = trial.fleet.etcd_members(1).unwrap().messages.remove(0).members;
    let names: Vec<_> = members.iter().map(|member| member.hostname.as_str()).collect();
    assert_eq!(names, ["cp1", "cp2", "cp3"]);
    for nth in 0..5 {
        assert!(trial.fleet.is_ready(nth));
    }
    let status = trial.fleet.etcd_status(2).unwrap().messages.remove(0).member_status.unwrap();
    assert_eq!(status.leader, members[0].id);
    let worker = trial.fleet.etcd_members(3).unwrap_err();
    assert_eq!(worker.message, "member list is only available on control plane nodes");
}

#[test]
fn a_second_bootstrap_creates_a_second_etcd_that_health_checks_detect() {
    let mut trial = TestCluster::new("v1.13.9", 2, 0);
    trial.pass(10);
    for nth in 0..2 {
        trial.apply(nth).unwrap();
    }
    trial.pass(40);

    trial.fleet.bootstrap(0, trial.now).unwrap();
    trial.fleet.bootstrap(1, trial.now).unwrap();
    trial.pass(30);

    assert_eq!(trial.fleet.bootstraps(), 2);
    assert_eq!(trial.health().unwrap().0, "etcd members to be consistent across nodes");
}

#[test]
fn the_virtual_address_fails_over_to_another_control_plane() {
    let mut trial = TestCluster::up(3, 0);
    let holder = |trial: &TestCluster| {
        (0..3).filter(|nth| trial.fleet.listeners(*nth).addresses.contains(&ip(VIP))).collect::<Vec<_>>()
    };
    assert_eq!(holder(&trial), [0]);

    trial.fleet.power_off(0);
    trial.pass(1);

    assert_eq!(holder(&trial), [1]);
    assert!(trial.fleet.certificate_addresses(1).contains(&ip(VIP)));
    assert!(trial.fleet.has_quorum(trial.fleet.cluster_etcd(1).unwrap()));
    trial.fleet.power_off(1);
    trial.pass(1);
    assert_eq!(holder(&trial), Vec::<usize>::new());
    assert_eq!(
        trial.fleet.etcd_members(2).unwrap_err(),
        CallError::new(ErrorCode::Unavailable, "etcdserver: no leader")
    );
    for nth in 0..2 {
        trial.fleet.power_on(nth, trial.now);
    }
    trial.pass(30);
    assert_eq!((trial.health(), holder(&trial).len()), (None, 1));
}
