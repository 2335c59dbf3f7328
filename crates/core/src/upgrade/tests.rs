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
        image: Image::Any,
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

fn etcd(nodes: &[&str], leader: u64) -> Etcd {
    let members = nodes.iter().zip(1..).map(|(node, id)| QuorumMember {
        id,
        node: (*node).to_owned(),
        learner: false,
        said: Ok(MemberHealth { leader, errors: Vec::new() }),
    });
    Etcd { members: members.collect(), alarms: Vec::new() }
}

fn cluster(runs: &str, wanted: &str) -> Vec<UpgradeCandidate> {
    ["worker1", "cp1", "cp2", "cp3", "worker2"].map(|name| candidate(name, runs, wanted)).to_vec()
}

fn told(refused: Result<UpgradePlan, Vec<Issue>>) -> String {
    refused.unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn control_planes_come_first_and_of_them_the_leader_last() {
    let plan = plan(&cluster("v1.13.9", "v1.14.0"), Some(&etcd(&["cp1", "cp2", "cp3"], 1)), false).unwrap();

    let order: Vec<_> = plan.steps.iter().map(|step| step.node.as_str()).collect();
    assert_eq!(order, ["cp2", "cp3", "cp1", "worker1", "worker2"]);
    assert!(plan.steps.iter().all(|step| step.way == UpgradeMethod::Parts));
    assert_eq!(plan.steps[0].absence, Absence::Spared);
    assert_eq!(plan.steps[4].absence, Absence::None);
}

#[test]
fn before_1_13_one_call_does_it_all() {
    let plan = plan(&cluster("v1.12.4", "v1.13.9"), Some(&etcd(&["cp1", "cp2", "cp3"], 1)), false).unwrap();

    assert!(plan.steps.iter().all(|step| step.way == UpgradeMethod::Whole));
}

#[test]
fn what_runs_the_release_is_left_alone_and_uncordoned_where_that_was_forgotten() {
    let mut all = cluster("v1.14.0", "v1.14.0");
    all[0].seen.as_mut().unwrap().cordoned = true;
    all[2] = candidate("cp2", "v1.13.9", "v1.14.0");
    all[2].chosen = false;

    // Nothing is to be rebooted, so nobody asks how etcd is.
    let plan = plan(&all, None, false).unwrap();

    assert_eq!(plan.uncordon, ["worker1"]);
    assert_eq!(plan.done, ["cp1", "cp3", "worker1", "worker2"]);
    assert!(plan.steps.is_empty());
}

#[test]
fn steps_back_jumps_other_machines_and_old_kubernetes_are_refused_all_at_once() {
    let mut all = cluster("v1.13.9", "v1.14.0");
    all[0] = candidate("worker1", "v1.12.4", "v1.14.0");
    all[1] = candidate("cp1", "v1.14.0", "v1.13.9");
    all[2].seen.as_mut().unwrap().arch = "arm64".to_owned();
    all[3].seen.as_mut().unwrap().kubelet = Some(KubernetesVersion::parse("v1.31.0").unwrap());
    all[4].seen = Err(ProbeError::new("nobody answers"));

    let said = told(plan(&all, Some(&etcd(&["cp1", "cp2", "cp3"], 1)), false));

    assert!(said.contains("cp1: it runs v1.14.0, and v1.13.9 would be a step back"), "{said}");
    assert!(
        said.contains("worker1: from v1.12.4 to v1.14.0 is more than one minor release; write v1.13 first"),
        "{said}"
    );
    assert!(said.contains("cp2: its machine is arm64"), "{said}");
    assert!(said.contains("cp3: it runs Kubernetes v1.31.0, which Talos v1.14.0 does not run"), "{said}");
    assert!(said.contains("worker2: nobody answers"), "{said}");
}

#[test]
fn nothing_is_upgraded_in_a_cluster_that_is_not_well() {
    let mut all = cluster("v1.13.9", "v1.14.0");
    for one in &mut all {
        one.chosen = one.name == "worker1";
    }
    all[2].seen = Err(ProbeError::new("nobody answers"));
    let mut etcd = etcd(&["cp1", "cp2", "cp3"], 1);
    etcd.members[1].said = Err(ProbeError::new("nobody answers"));

    let said = told(plan(&all, Some(&etcd), false));

    assert!(said.contains("cp2: nobody answers"), "{said}");
    assert!(said.contains("etcd: etcd's member on cp2 does not answer"), "{said}");
    assert!(told(plan(&all, None, false)).contains("no control plane tells how it is"));
}

#[test]
fn one_control_plane_may_be_away_and_two_only_if_somebody_says_so() {
    let one = [candidate("cp1", "v1.13.9", "v1.14.0")];
    let two = [candidate("cp1", "v1.13.9", "v1.14.0"), candidate("cp2", "v1.13.9", "v1.14.0")];
    let pair = etcd(&["cp1", "cp2"], 2);

    assert_eq!(plan(&one, Some(&etcd(&["cp1"], 1)), false).unwrap().steps[0].absence, Absence::Outage);
    assert!(told(plan(&two, Some(&pair), false)).contains("say --outage"));
    assert_eq!(plan(&two, Some(&pair), true).unwrap().steps.len(), 2);
}

#[test]
fn a_node_that_fell_back_is_told_as_that() {
    let step = plan(&[candidate("cp1", "v1.13.9", "v1.14.0")], Some(&etcd(&["cp1"], 1)), false)
        .unwrap()
        .steps
        .remove(0);

    assert_eq!(judge(&step, &talos("v1.14.0"), None), Ok(()));
    assert!(judge(&step, &talos("v1.13.9"), None).unwrap_err().to_string().contains("fell back to v1.13.9"));
    assert!(judge(&step, &talos("v1.13.8"), None).unwrap_err().to_string().contains("neither"));
}

#[test]
fn another_image_of_the_same_release_is_an_upgrade_too() {
    let schematic = |id: &str| vec![ExtensionTold { name: "schematic".to_owned(), version: id.to_owned() }];
    let mut all = cluster("v1.13.9", "v1.13.9");
    for one in &mut all {
        one.image = Image::Schematic("376567988ad3".to_owned());
        one.seen.as_mut().unwrap().extensions = Some(schematic("376567988ad3"));
    }
    all[0].seen.as_mut().unwrap().extensions = Some(schematic("ce4c980550dd"));

    let plan = plan(&all, Some(&etcd(&["cp1", "cp2", "cp3"], 1)), false).unwrap();

    let [step] = plan.steps.as_slice() else { panic!("{plan:?}") };
    assert_eq!((step.node.as_str(), &step.from), ("worker1", &step.to));
    assert!(step.other.as_ref().unwrap().contains("schematic ce4c980550dd"), "{step:?}");
    let (release, right) = (talos("v1.13.9"), schematic("376567988ad3"));
    assert_eq!(judge(step, &release, Some(&right)), Ok(()));
    let same = judge(step, &release, Some(&schematic("ce4c980550dd"))).unwrap_err().to_string();
    assert!(same.starts_with("it runs what it ran before"), "{same}");
    let third = judge(step, &release, Some(&schematic("0000"))).unwrap_err().to_string();
    assert!(third.contains("is not what the file means"), "{third}");
}
