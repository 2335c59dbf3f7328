use super::*;
use crate::etcd::{MemberHealth, QuorumMember};
use ichor_values::Issue;

fn talos(text: &str) -> TalosVersion {
    TalosVersion::parse(text).unwrap()
}

fn candidate(name: &str, runs: &str, wanted: &str) -> UpgradeCandidate {
    UpgradeCandidate {
        name: name.to_owned(),
        role: if name.starts_with("cp") { Role::Controlplane } else { Role::Worker },
        chosen: true,
        wanted: talos(wanted),
        arch: "amd64".to_owned(),
        installer: Ok(format!("reg.example/installer:{wanted}")),
        image: ExpectedImage::Any,
        seen: Ok(RunningNode {
            release: talos(runs),
            platform: "metal".to_owned(),
            arch: "amd64".to_owned(),
            unready: None,
            kubelet: None,
            cordoned: false,
            extensions: None,
        }),
    }
}

fn etcd(nodes: &[&str], leader: u64) -> EtcdCluster {
    let members = nodes.iter().zip(1..).map(|(node, id)| QuorumMember {
        id,
        node: (*node).to_owned(),
        learner: false,
        health: Ok(MemberHealth { leader, errors: Vec::new() }),
    });
    EtcdCluster { members: members.collect(), alarms: Vec::new() }
}

fn cluster(runs: &str, wanted: &str) -> Vec<UpgradeCandidate> {
    ["worker1", "cp1", "cp2", "cp3", "worker2"].map(|name| candidate(name, runs, wanted)).to_vec()
}

fn error_text(rejected: Result<UpgradePlan, Vec<Issue>>) -> String {
    rejected.unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn control_planes_come_first_and_the_leader_is_the_last_of_them() {
    let plan = plan(&cluster("v1.13.9", "v1.14.0"), Some(&etcd(&["cp1", "cp2", "cp3"], 1)), false).unwrap();

    let order: Vec<_> = plan.steps.iter().map(|step| step.node.as_str()).collect();
    assert_eq!(order, ["cp2", "cp3", "cp1", "worker1", "worker2"]);
    assert!(plan.steps.iter().all(|step| step.way == UpgradeMethod::Parts));
    assert_eq!(plan.steps[0].absence, RebootImpact::Spared);
    assert_eq!(plan.steps[4].absence, RebootImpact::None);
}

#[test]
fn upgrades_before_1_13_are_a_single_request() {
    let plan = plan(&cluster("v1.12.4", "v1.13.9"), Some(&etcd(&["cp1", "cp2", "cp3"], 1)), false).unwrap();

    assert!(plan.steps.iter().all(|step| step.way == UpgradeMethod::Whole));
}

#[test]
fn upgraded_nodes_are_skipped_and_uncordoned() {
    let mut all = cluster("v1.14.0", "v1.14.0");
    all[0].seen.as_mut().unwrap().cordoned = true;
    all[2] = candidate("cp2", "v1.13.9", "v1.14.0");
    all[2].chosen = false;

    // Without a reboot, the health of etcd does not matter.
    let plan = plan(&all, None, false).unwrap();

    assert_eq!(plan.uncordon, ["worker1"]);
    assert_eq!(plan.done, ["cp1", "cp3", "worker1", "worker2"]);
    assert!(plan.steps.is_empty());
}

#[test]
fn all_blockers_are_reported_at_once() {
    let mut all = cluster("v1.13.9", "v1.14.0");
    all[0] = candidate("worker1", "v1.12.4", "v1.14.0");
    all[1] = candidate("cp1", "v1.14.0", "v1.13.9");
    all[2].seen.as_mut().unwrap().arch = "arm64".to_owned();
    all[3].seen.as_mut().unwrap().kubelet = Some(KubernetesVersion::parse("v1.31.0").unwrap());
    all[4].seen = Err(ProbeError::new("no response"));

    let errors = error_text(plan(&all, Some(&etcd(&["cp1", "cp2", "cp3"], 1)), false));

    assert!(errors.contains("cp1: v1.13.9 would be a downgrade from v1.14.0"), "{errors}");
    assert!(
        errors.contains(
            "worker1: from v1.12.4 to v1.14.0 is more than one minor release; upgrade to v1.13 first"
        ),
        "{errors}"
    );
    assert!(errors.contains("cp2: the machine is arm64"), "{errors}");
    assert!(errors.contains("cp3: Talos v1.14.0 does not support Kubernetes v1.31.0"), "{errors}");
    assert!(errors.contains("worker2: no response"), "{errors}");
}

#[test]
fn an_unhealthy_cluster_is_not_upgraded() {
    let mut all = cluster("v1.13.9", "v1.14.0");
    for one in &mut all {
        one.chosen = one.name == "worker1";
    }
    all[2].seen = Err(ProbeError::new("no response"));
    let mut etcd = etcd(&["cp1", "cp2", "cp3"], 1);
    etcd.members[1].health = Err(ProbeError::new("no response"));

    let errors = error_text(plan(&all, Some(&etcd), false));

    assert!(errors.contains("cp2: no response"), "{errors}");
    assert!(errors.contains("etcd: etcd's member on cp2 does not answer"), "{errors}");
    assert!(error_text(plan(&all, None, false)).contains("no control plane reports its health"));
}

#[test]
fn an_outage_of_two_control_planes_must_be_permitted() {
    let one = [candidate("cp1", "v1.13.9", "v1.14.0")];
    let two = [candidate("cp1", "v1.13.9", "v1.14.0"), candidate("cp2", "v1.13.9", "v1.14.0")];
    let pair = etcd(&["cp1", "cp2"], 2);

    assert_eq!(plan(&one, Some(&etcd(&["cp1"], 1)), false).unwrap().steps[0].absence, RebootImpact::Outage);
    assert!(error_text(plan(&two, Some(&pair), false)).contains("pass --outage"));
    assert_eq!(plan(&two, Some(&pair), true).unwrap().steps.len(), 2);
}

#[test]
fn a_fallback_to_the_previous_release_is_detected() {
    let step = plan(&[candidate("cp1", "v1.13.9", "v1.14.0")], Some(&etcd(&["cp1"], 1)), false)
        .unwrap()
        .steps
        .remove(0);

    assert_eq!(verify_upgrade(&step, &talos("v1.14.0"), None), Ok(()));
    assert!(
        verify_upgrade(&step, &talos("v1.13.9"), None)
            .unwrap_err()
            .to_string()
            .contains("fell back to v1.13.9")
    );
    assert!(verify_upgrade(&step, &talos("v1.13.8"), None).unwrap_err().to_string().contains("neither"));
}

#[test]
fn another_image_of_the_same_release_is_an_upgrade() {
    let schematic =
        |id: &str| vec![InstalledExtension { name: "schematic".to_owned(), version: id.to_owned() }];
    let mut all = cluster("v1.13.9", "v1.13.9");
    for one in &mut all {
        one.image = ExpectedImage::Schematic("376567988ad3".to_owned());
        one.seen.as_mut().unwrap().extensions = Some(schematic("376567988ad3"));
    }
    all[0].seen.as_mut().unwrap().extensions = Some(schematic("ce4c980550dd"));

    let plan = plan(&all, Some(&etcd(&["cp1", "cp2", "cp3"], 1)), false).unwrap();

    let [step] = plan.steps.as_slice() else { panic!("{plan:?}") };
    assert_eq!((step.node.as_str(), &step.from), ("worker1", &step.to));
    assert!(step.other.as_ref().unwrap().contains("schematic ce4c980550dd"), "{step:?}");
    let (release, right) = (talos("v1.13.9"), schematic("376567988ad3"));
    assert_eq!(verify_upgrade(step, &release, Some(&right)), Ok(()));
    let same = verify_upgrade(step, &release, Some(&schematic("ce4c980550dd"))).unwrap_err().to_string();
    assert!(same.starts_with("the node still runs its previous image"), "{same}");
    let third = verify_upgrade(step, &release, Some(&schematic("0000"))).unwrap_err().to_string();
    assert!(third.contains("is not the image of the file"), "{third}");
}
