//! Scenes: what is built of a cluster file on one machine.

use std::path::{Path, PathBuf};

use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_core::lab::scene::MachineRole;
use ichor_core::lab::{HostCapabilities, LabTopology, TopologyInputs};
use ichor_core::plan::attachment::Attachments;
use ichor_core::prove::ProofModel;
use ichor_testbed::{FolderFiles, folder, group, planned_case};
use ichor_values::{Issue, SoftwareVersion};

/// A Debian 13 whose kernel has everything.
fn trixie() -> HostCapabilities {
    let release = |text| Some(SoftwareVersion::parse(text).unwrap());
    HostCapabilities {
        frr: release("10.3"),
        bird: release("2.17.1"),
        gobgp: release("3.36.0"),
        vrf: true,
        dummy: true,
        emulated: false,
    }
}

fn scene(case: &Path, here: &HostCapabilities) -> Result<LabTopology, Vec<Issue>> {
    scene_of(case, here, false)
}

fn scene_of(case: &Path, here: &HostCapabilities, guests: bool) -> Result<LabTopology, Vec<Issue>> {
    let (cluster, plan) = planned_case(case, "ichor.yaml");
    let subject = ProofModel::of(&cluster, &plan).unwrap();
    let attachments = Attachments::gather(&cluster, "ichor.yaml", &mut FolderFiles(case.to_owned()));
    let secret = |_: &_| Ok("a-password".to_owned());
    LabTopology::of(TopologyInputs {
        cluster: &cluster,
        plan: &plan,
        subject: &subject,
        attachments: &attachments,
        secret: &secret,
        here,
        guests,
    })
}

/// The examples in which something routes, and the cases of their own.
fn all() -> Vec<PathBuf> {
    let examples = ["bird", "cilium", "gobgp", "metallb", "namespace", "native"];
    let examples = examples.map(|name| folder("../../../examples").join(name));
    examples.into_iter().chain(group("lab")).collect()
}

fn made(name: &str) -> LabTopology {
    let case = all().into_iter().find(|case| case.ends_with(name)).unwrap();
    scene(&case, &trixie()).unwrap()
}

#[test]
fn a_scene_can_be_written_down_and_read_again() {
    for case in all() {
        let scene = scene(&case, &trixie()).unwrap();

        let text = serde_json::to_string(&scene).unwrap();

        assert_eq!(serde_json::from_str::<LabTopology>(&text).unwrap(), scene);
    }
}

#[test]
fn every_port_is_on_one_cable_and_every_name_is_taken_once() {
    for case in all() {
        let scene = scene(&case, &trixie()).unwrap();

        let mut plugs: Vec<_> =
            scene.cables.iter().flat_map(|cable| &cable.ends).map(|end| (end.machine, end.port)).collect();
        let count = plugs.len();
        plugs.sort_unstable();
        plugs.dedup();
        assert_eq!(plugs.len(), count, "{}", scene.cluster);
        let mut names: Vec<_> = scene.machines.iter().map(|machine| &machine.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), scene.machines.len());
        assert!(scene.cables.iter().all(|cable| cable.ends.len() > 1), "{:?}", scene.cables);
    }
}

#[test]
fn only_clusters_with_vrfs_need_them() {
    let needs: Vec<_> = ["metallb", "cilium", "bird", "namespace", "gobgp", "native", "lab-fabric"]
        .into_iter()
        .filter(|name| made(name).needs_vrf())
        .collect();

    assert_eq!(needs, ["metallb", "cilium", "bird"]);
}

#[test]
fn what_a_speaker_announces_is_what_its_node_takes() {
    for case in all() {
        for machine in scene(&case, &trixie()).unwrap().machines {
            let MachineRole::Node { agent, speaker: Some(speaker), .. } = &machine.part else { continue };
            let ConfigSource::Model(meant) = AgentConfig::parse(agent).unwrap().config.source else {
                panic!("{agent}")
            };
            let filter = meant.model.workload.unwrap().filter;

            assert!(!speaker.announces.is_empty() && !speaker.refused.is_empty(), "{}", machine.name);
            assert!(speaker.announces.iter().all(|net| filter.admits(*net)), "{speaker:?}");
            assert!(!speaker.refused.iter().any(|net| filter.admits(*net)), "{speaker:?}");
        }
    }
}

#[test]
fn a_kernel_without_dummies_is_told() {
    let case = folder("../../../examples/metallb");

    let scene = scene(&case, &HostCapabilities { dummy: false, ..trixie() }).unwrap();

    assert!(scene.differs.iter().any(|line| line.contains("no dummy links")), "{:?}", scene.differs);
}

#[test]
fn on_an_emulated_processor_bfd_waits_longer_at_both_ends() {
    let case = folder("../../../examples/metallb");

    let scene = scene(&case, &HostCapabilities { emulated: true, ..trixie() }).unwrap();

    assert!(
        scene.differs.iter().any(|line| line.contains("BFD waits 10 times as long")),
        "{:?}",
        scene.differs
    );
    for machine in &scene.machines {
        let intervals: Vec<u32> = match &machine.part {
            MachineRole::Router { conf, .. } => conf
                .lines()
                .filter_map(|line| line.trim().strip_prefix("transmit-interval ")?.parse().ok())
                .collect(),
            MachineRole::Node { agent, .. } => {
                let ConfigSource::Model(meant) = AgentConfig::parse(agent).unwrap().config.source else {
                    panic!("{agent}")
                };
                meant.model.bfd().iter().map(|bfd| bfd.interval).collect()
            }
            _ => continue,
        };

        let has_bfd = !machine.name.starts_with("spine");
        assert_eq!(intervals, if has_bfd { vec![3000] } else { vec![] }, "{}", machine.name);
    }
}

#[test]
fn a_node_that_boots_has_all_its_ports_and_nobody_who_speaks_for_it() {
    let case = folder("../../../examples").join("cilium");

    let scene = scene_of(&case, &trixie(), true).unwrap();

    let guests = scene.machines.iter().filter_map(|machine| match &machine.part {
        MachineRole::Guest(guest) => Some((machine, guest)),
        _ => None,
    });
    let guests: Vec<_> = guests.collect();
    assert!(guests.len() > 3, "{}", guests.len());
    for (node, guest) in guests {
        assert!(node.ports.iter().all(|port| port.mac.is_some()) && !node.ports.is_empty());
        assert_eq!((guest.cores, guest.memory, guest.carrier.as_deref()), (4, 8192, Some("cidata.iso")));
        assert!(node.dummies.is_empty());
    }
    assert!(scene.sessions.iter().all(|session| !session.other.name.contains(':')));
    assert!(scene.differs.iter().any(|line| line.contains("no speakers")), "{:?}", scene.differs);
}

#[test]
fn a_node_that_cannot_boot_in_a_lab_is_told_with_the_reason() {
    let case = folder("cases/lab-dhcp");

    let errors = scene_of(&case, &trixie(), true).unwrap_err();

    let told: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert!(told.iter().any(|line| line.contains("no DHCP server is in a lab")), "{told:#?}");
}
