//! Faults and their effects.

use super::*;

#[test]
fn slow_and_reset_faults_reach_the_server() {
    let mut trial = TestCluster::up(1, 0);

    trial.fleet.spoil(0, Fault::Slow(secs(3)), None, trial.now);
    trial.fleet.spoil(0, Fault::ResetMidStream(1), None, trial.now);

    let faults = &mut trial.fleet.machines[0].faults;
    assert_eq!((faults.slow(), faults.take_cut(), faults.take_cut()), (Some(secs(3)), true, false));
    assert!(trial.fleet.heal(0, Some("slow"), trial.now));
    assert_eq!(trial.fleet.machines[0].faults.slow(), None);
}

#[test]
fn a_late_reboot_takes_longer_and_the_first_boot_does_not() {
    let mut trial = TestCluster::new("v1.13.9", 1, 0);
    trial.fleet.spoil(0, Fault::LateReboot(secs(100)), None, trial.now);

    trial.pass(10);
    assert_eq!(trial.stage(0), Stage::Maintenance);
    trial.apply(0).unwrap();
    trial.pass(100);
    assert_eq!(trial.fleet.machines[0].phase, Phase::Dark);
    trial.pass(40);

    assert_eq!(trial.stage(0), Stage::Booting);
}

#[test]
fn configurations_are_rejected_while_the_fault_is_active() {
    let mut trial = TestCluster::new("v1.13.9", 1, 0);
    trial.pass(10);
    trial.fleet.spoil(0, Fault::RefuseConfig("no".to_owned()), None, trial.now);

    let refused = trial.apply(0).unwrap_err();
    trial.fleet.heal(0, None, trial.now);

    assert_eq!(refused, CallError::new(ErrorCode::InvalidArgument, "no"));
    assert!(trial.apply(0).is_ok());
}

#[test]
fn a_lost_quorum_stops_the_api_and_its_address_until_healed() {
    let mut trial = TestCluster::up(3, 1);

    trial.fleet.spoil(1, Fault::LoseQuorum, None, trial.now);
    trial.pass(1);

    assert_eq!(
        trial.health().unwrap(),
        ("etcd to be healthy", CheckPending::For("etcdserver: no leader".to_owned()))
    );
    assert!(!trial.fleet.listeners(0).kubernetes && !trial.fleet.listeners(0).addresses.contains(&ip(VIP)));
    let status = trial.fleet.etcd_status(0).unwrap().messages.remove(0).member_status.unwrap();
    assert_eq!((status.leader, status.errors.len()), (0, 1));
    assert_eq!(trial.stage(0), Stage::Running);
    trial.fleet.heal(1, None, trial.now);
    trial.pass(10);
    assert_eq!(trial.health(), None);
}

#[test]
fn an_identity_fault_changes_links_and_firmware_until_healed() {
    let mut trial = TestCluster::new("v1.13.9", 1, 0);
    trial.pass(10);
    let seen = |trial: &TestCluster| {
        let link = trial.yaml(0, "network", "LinkStatuses.net.talos.dev", "eth0");
        let firmware =
            trial.yaml(0, "hardware", "SystemInformations.hardware.talos.dev", "systeminformation");
        (link, firmware)
    };
    let before = seen(&trial);

    trial.fleet.spoil(0, Fault::OtherIdentity, None, trial.now);
    let spoilt = seen(&trial);
    trial.fleet.spoil(0, Fault::OtherIdentity, None, trial.now);
    trial.fleet.heal(0, None, trial.now);

    assert!(before.0 != spoilt.0 && before.1 != spoilt.1);
    assert_eq!(seen(&trial), before);
}

#[test]
fn a_machine_of_another_cluster_has_its_own_authority_and_no_membership() {
    let mut trial = TestCluster::new("v1.13.9", 2, 0);
    let strangers =
        CertificateAuthorities { os: trial.bundle.etcd.clone(), k8s: trial.bundle.aggregator.clone() };
    trial.fleet.spoil(1, Fault::OtherCa, Some(strangers.clone()), trial.now);
    trial.pass(10);
    trial.apply(0).unwrap();
    trial.pass(40);
    trial.fleet.bootstrap(0, trial.now).unwrap();
    trial.pass(30);

    assert_eq!(trial.fleet.listeners(1).talos, Some(AuthMode::Mutual));
    assert_eq!(trial.fleet.signer(1).unwrap().os, strangers.os);
    assert_eq!(trial.fleet.etcd_members(0).unwrap().messages[0].members.len(), 1);
    trial.fleet.heal(1, None, trial.now);
    trial.pass(10);
    assert_eq!(trial.fleet.listeners(1).talos, Some(AuthMode::Maintenance));
}

#[test]
fn clock_skew_blocks_bootstrap_and_readiness() {
    let mut trial = TestCluster::new("v1.13.9", 1, 0);
    trial.fleet.spoil(0, Fault::ClockSkew(Duration::ZERO), None, trial.now);
    trial.pass(10);
    trial.apply(0).unwrap();
    trial.pass(40);

    let refused = trial.fleet.bootstrap(0, trial.now).unwrap_err();
    assert!(trial.unmet(0).contains(&"time".to_owned()));
    trial.fleet.heal(0, None, trial.now);

    assert_eq!(refused, CallError::new(ErrorCode::FailedPrecondition, "time is not in sync yet"));
    assert!(trial.fleet.bootstrap(0, trial.now).is_ok());
}

#[test]
fn a_reboot_is_reported_as_events() {
    let mut trial = TestCluster::up(1, 0);
    let from = trial.fleet.machines[0].next_event();

    trial.fleet.reboot(0, trial.now).unwrap();
    trial.pass(40);

    let events: Vec<_> = trial.fleet.machines[0].events(from).collect();
    assert_eq!(events[0].what, NodeEventKind::Sequence("reboot", true));
    assert_eq!(events[1].what, NodeEventKind::Stage(Stage::Rebooting, true));
    assert!(events.iter().any(|event| event.what == NodeEventKind::Stage(Stage::Running, true)));
    assert!(trial.fleet.dmesg(0).iter().any(|line| line.ends_with("[talos] boot sequence: done")));
}
