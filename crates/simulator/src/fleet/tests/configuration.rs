//! Machines that boot, are configured and installed.

use super::*;

#[test]
fn a_machine_with_power_boots_into_maintenance_on_its_leased_address() {
    let mut trial = TestCluster::new("v1.13.9", 1, 0);

    trial.pass(9);
    assert_eq!(trial.fleet.listeners(0).talos, None);
    trial.pass(1);

    let listeners = trial.fleet.listeners(0);
    assert_eq!((listeners.talos, listeners.addresses), (Some(AuthMode::Maintenance), vec![ip("10.0.1.0")]));
    assert_eq!(trial.stage(0), Stage::Maintenance);
    assert!(
        trial
            .yaml(0, "runtime", "MachineStatuses.runtime.talos.dev", "machine")
            .starts_with("stage: maintenance\n")
    );
}

#[test]
fn a_configuration_leads_to_an_installation_a_reboot_and_the_address_it_names() {
    let mut trial = TestCluster::new("v1.13.9", 1, 0);
    trial.pass(10);

    let answer = trial.apply(0).unwrap();
    let second = trial.apply(0).unwrap_err();
    trial.pass(1);
    let installing = (trial.stage(0), trial.fleet.listeners(0).talos);
    trial.pass(20);
    let dark = (trial.fleet.machines[0].phase, trial.fleet.listeners(0).talos);
    trial.pass(10);

    assert_eq!(answer.messages[0].mode_details, "Applied configuration without a reboot");
    assert_eq!(
        second,
        CallError::new(ErrorCode::FailedPrecondition, "another apply configuration is already in progress")
    );
    assert_eq!((installing, dark), ((Stage::Installing, None), (Phase::Dark, None)));
    let listeners = trial.fleet.listeners(0);
    assert_eq!((listeners.talos, listeners.addresses), (Some(AuthMode::Mutual), vec![ip("10.0.0.11")]));
    assert_eq!(trial.stage(0), Stage::Booting);
    assert!(trial.unmet(0).contains(&"services".to_owned()));
    assert!(
        trial.yaml(0, "network", "HostnameStatuses.net.talos.dev", "hostname").contains("hostname: cp1\n")
    );
}

#[test]
fn a_machine_with_a_disk_image_applies_its_configuration_immediately() {
    let mut trial = TestCluster::new("v1.13.9", 1, 0);
    let hardware = Hardware { image: true, ..trial.fleet.machines[0].hardware.clone() };
    trial.fleet.machines[0] = Machine::new(hardware, trial.talos.clone());
    trial.fleet.power_on(0, trial.now);
    trial.pass(10);

    trial.apply(0).unwrap();
    trial.pass(1);

    assert_eq!((trial.stage(0), trial.fleet.listeners(0).talos), (Stage::Booting, Some(AuthMode::Mutual)));
}

#[test]
fn every_release_accepts_its_own_configurations() {
    for talos in ["v1.11.2", "v1.12.4", "v1.13.9", "v1.14.1"] {
        let mut trial = TestCluster::new(talos, 1, 1);
        trial.pass(10);

        for nth in 0..2 {
            trial.apply(nth).unwrap_or_else(|error| panic!("{talos}: {error}"));
        }
        trial.pass(40);
        trial.fleet.bootstrap(0, trial.now).unwrap();
        trial.pass(10);

        let intent = trial.fleet.machines[0].intent.clone().unwrap();
        assert_eq!((intent.hostname.as_deref(), intent.vip), (Some("cp1"), Some(ip(VIP))), "{talos}");
        assert_eq!(
            (intent.cluster.as_str(), intent.endpoint.as_str()),
            ("sim", "https://10.0.0.10:6443"),
            "{talos}"
        );
        assert_eq!([trial.stage(0), trial.stage(1)], [Stage::Running; 2], "{talos}");
        assert!(trial.fleet.is_ready(1), "{talos} {:?}", trial.fleet.unmet(1));
    }
}

#[test]
fn invalid_configurations_are_rejected_without_changes() {
    let mut trial = TestCluster::new("v1.13.9", 1, 0);
    trial.pass(10);
    let mut documents = trial.documents(0);
    documents[0]["machine"]["install"].as_object_mut().unwrap().remove("disk");
    let mut unknown = trial.documents(0);
    unknown[0]["machine"]["nonsense"] = json!(1);

    let refused = trial.send(0, &documents, ApplyMode::Auto, false).unwrap_err();
    let unread = trial.send(0, &unknown, ApplyMode::Auto, false).unwrap_err();
    trial.pass(60);

    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    assert!(refused.message.starts_with("1 error occurred:\n\t* "), "{refused}");
    assert_eq!(unread.code, ErrorCode::InvalidArgument);
    assert_eq!(trial.stage(0), Stage::Maintenance);
}

#[test]
fn a_dry_run_changes_nothing() {
    let mut trial = TestCluster::new("v1.13.9", 1, 0);
    trial.pass(10);
    let documents = trial.documents(0);

    let answer = trial.send(0, &documents, ApplyMode::Auto, true).unwrap();
    trial.pass(60);

    assert!(answer.messages[0].mode_details.starts_with("Dry run summary:\n"));
    assert_eq!(trial.stage(0), Stage::Maintenance);
}

#[test]
fn apply_modes_depend_on_the_release() {
    let mut old = TestCluster::new("v1.12.4", 1, 0);
    old.pass(10);
    let documents = old.documents(0);
    let mut new = TestCluster::new("v1.14.1", 1, 0);
    new.pass(10);
    new.apply(0).unwrap();
    new.pass(60);
    let running = new.documents(0);

    let refused = old.send(0, &documents, ApplyMode::NoReboot, false).unwrap_err();
    let reboot = new.send(0, &running, ApplyMode::Reboot, false).unwrap_err();

    let message = "apply configuration --mode='no-reboot' is not supported in maintenance mode";
    assert_eq!(refused, CallError::new(ErrorCode::Unimplemented, message));
    assert_eq!(reboot.code, ErrorCode::Unimplemented);
    assert_eq!(old.send(0, &documents, ApplyMode::Auto, false).unwrap().messages[0].mode_details, "");
}
