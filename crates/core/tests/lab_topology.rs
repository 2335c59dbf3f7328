//! Lab topologies of clusters.

use std::path::{Path, PathBuf};

use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_core::lab::topology::MachineRole;
use ichor_core::lab::{HostCapabilities, LabTopology, TopologyInputs};
use ichor_core::plan::attachment::Attachments;
use ichor_core::prove::ProofModel;
use ichor_testbed::{FolderFiles, folder, group, planned_case};
use ichor_values::{Issue, SoftwareVersion};

/// A Debian 13 whose kernel has all features.
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

fn topology(case: &Path, here: &HostCapabilities) -> Result<LabTopology, Vec<Issue>> {
    topology_with(case, here, false)
}

fn topology_with(case: &Path, here: &HostCapabilities, guests: bool) -> Result<LabTopology, Vec<Issue>> {
    let (cluster, plan) = planned_case(case, "ichor.yaml");
    let subject = ProofModel::from_plan(&cluster, &plan).unwrap();
    let attachments = Attachments::gather(&cluster, "ichor.yaml", &mut FolderFiles(case.to_owned()));
    let secret = |_: &_| Ok("a-password".to_owned());
    LabTopology::derive(TopologyInputs {
        cluster: &cluster,
        plan: &plan,
        subject: &subject,
        attachments: &attachments,
        secret: &secret,
        here,
        guests,
    })
}

/// The examples with routing, and the dedicated cases.
fn all() -> Vec<PathBuf> {
    let examples = ["bird", "cilium", "gobgp", "metallb", "namespace", "native"];
    let examples = examples.map(|name| folder("../../../examples").join(name));
    examples.into_iter().chain(group("lab")).collect()
}

fn topology_of(name: &str) -> LabTopology {
    let case = all().into_iter().find(|case| case.ends_with(name)).unwrap();
    topology(&case, &trixie()).unwrap()
}

#[test]
fn a_topology_survives_serialisation() {
    for case in all() {
        let topology = topology(&case, &trixie()).unwrap();

        let text = serde_json::to_string(&topology).unwrap();

        assert_eq!(serde_json::from_str::<LabTopology>(&text).unwrap(), topology);
    }
}

#[test]
fn ports_are_on_one_cable_and_names_are_unique() {
    for case in all() {
        let topology = topology(&case, &trixie()).unwrap();

        let mut plugs: Vec<_> =
            topology.cables.iter().flat_map(|cable| &cable.ends).map(|end| (end.machine, end.port)).collect();
        let count = plugs.len();
        plugs.sort_unstable();
        plugs.dedup();
        assert_eq!(plugs.len(), count, "{}", topology.cluster);
        let mut names: Vec<_> = topology.machines.iter().map(|machine| &machine.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), topology.machines.len());
        assert!(topology.cables.iter().all(|cable| cable.ends.len() > 1), "{:?}", topology.cables);
    }
}

#[test]
fn vrf_support_is_required_only_by_clusters_with_vrfs() {
    let needs: Vec<_> = ["metallb", "cilium", "bird", "namespace", "gobgp", "native", "lab-fabric"]
        .into_iter()
        .filter(|name| topology_of(name).needs_vrf())
        .collect();

    assert_eq!(needs, ["metallb", "cilium", "bird"]);
}

#[test]
fn a_speaker_announces_only_prefixes_that_its_node_accepts() {
    for case in all() {
        for machine in topology(&case, &trixie()).unwrap().machines {
            let MachineRole::Node { agent, speaker: Some(speaker), .. } = &machine.part else { continue };
            let ConfigSource::Model(intended) = AgentConfig::parse(agent).unwrap().config.source else {
                panic!("{agent}")
            };
            let filter = intended.model.workload.unwrap().filter;

            assert!(!speaker.announces.is_empty() && !speaker.refused.is_empty(), "{}", machine.name);
            assert!(speaker.announces.iter().all(|net| filter.admits(*net)), "{speaker:?}");
            assert!(!speaker.refused.iter().any(|net| filter.admits(*net)), "{speaker:?}");
        }
    }
}

#[test]
fn a_kernel_without_dummy_links_is_a_reported_deviation() {
    let case = folder("../../../examples/metallb");

    let topology = topology(&case, &HostCapabilities { dummy: false, ..trixie() }).unwrap();

    assert!(
        topology.deviations.iter().any(|line| line.contains("no dummy links")),
        "{:?}",
        topology.deviations
    );
}

#[test]
fn bfd_intervals_are_longer_on_an_emulated_processor() {
    let case = folder("../../../examples/metallb");

    let topology = topology(&case, &HostCapabilities { emulated: true, ..trixie() }).unwrap();

    assert!(
        topology.deviations.iter().any(|line| line.contains("BFD intervals are 10 times as long")),
        "{:?}",
        topology.deviations
    );
    for machine in &topology.machines {
        let intervals: Vec<u32> = match &machine.part {
            MachineRole::Router { conf, .. } => conf
                .lines()
                .filter_map(|line| line.trim().strip_prefix("transmit-interval ")?.parse().ok())
                .collect(),
            MachineRole::Node { agent, .. } => {
                let ConfigSource::Model(intended) = AgentConfig::parse(agent).unwrap().config.source else {
                    panic!("{agent}")
                };
                intended.model.bfd().iter().map(|bfd| bfd.interval).collect()
            }
            _ => continue,
        };

        let has_bfd = !machine.name.starts_with("spine");
        assert_eq!(intervals, if has_bfd { vec![3000] } else { vec![] }, "{}", machine.name);
    }
}

#[test]
fn a_virtual_machine_has_all_its_ports_and_no_speaker() {
    let case = folder("../../../examples").join("cilium");

    let topology = topology_with(&case, &trixie(), true).unwrap();

    let guests = topology.machines.iter().filter_map(|machine| match &machine.part {
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
    assert!(topology.sessions.iter().all(|session| !session.other.name.contains(':')));
    assert!(topology.deviations.iter().any(|line| line.contains("no speakers")), "{:?}", topology.deviations);
}

#[test]
fn a_node_that_cannot_boot_in_a_lab_is_rejected_with_the_reason() {
    let case = folder("cases/lab-dhcp");

    let errors = topology_with(&case, &trixie(), true).unwrap_err();

    let reported: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert!(reported.iter().any(|line| line.contains("a lab has no DHCP server")), "{reported:#?}");
}
