//! Moving from one routing backend to another: which documents go and come, and in which order.

use ichor_core::cluster::section::Role;
use ichor_core::migrate::{
    DocumentId, MigrationPlan, MigrationSide, MigrationStep, UpgradeTiming, losses, sides,
};
use ichor_core::model::Cluster;
use ichor_core::plan::{self, Plan};
use ichor_values::Backend;
use serde_json::{Value, json};

const EXAMPLE: &str = include_str!("../../../examples/native/ichor.yaml");

fn documents(cluster: &Cluster, plan: &Plan, nodes: &[usize]) -> Vec<Vec<Value>> {
    let rendered = ichor_testbed::machine::rendered(cluster, plan, |renderer| {
        nodes.iter().map(|&nth| Ok(renderer.machine(&plan.nodes[nth])?.documents)).collect()
    });
    rendered.unwrap()
}

/// The steps between two sides, each proven as it is made.
fn steps(MigrationPlan { from, to, nodes }: &MigrationPlan) -> Vec<MigrationStep> {
    let (before, after) = (plan::plan(from), plan::plan(to));
    let (old, new) = (documents(from, &before, nodes), documents(to, &after, nodes));
    let step = |(nth, &number): (usize, &usize)| {
        let from = MigrationSide { node: &before.nodes[number], documents: &old[nth] };
        let to = MigrationSide { node: &after.nodes[number], documents: &new[nth] };
        MigrationStep::between(from, to, &after.cluster.contract.value).unwrap()
    };
    nodes.iter().enumerate().map(step).collect()
}

/// The steps of the example, with a place for images that have an extension.
fn example(from: Backend, to: Backend) -> Vec<MigrationStep> {
    let text = format!("{EXAMPLE}\nimage: {{registry: example.com/talos}}\n");
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));
    steps(&sides(&cluster, &plan, from, to).unwrap())
}

fn told(ids: impl IntoIterator<Item = DocumentId>) -> Vec<String> {
    ids.into_iter().map(|id| id.to_string()).collect()
}

#[test]
fn from_frr_to_native_the_service_goes_and_instances_come() {
    let steps = example(Backend::Frr, Backend::Native);

    let step = &steps[0];
    assert_eq!(told(step.remove.clone()), ["ExtensionServiceConfig frr", "KernelModuleConfig vrf"]);
    let added = told(step.add.iter().map(DocumentId::of));
    for id in [
        "VethConfig metallb-frr",
        "VRFConfig metallb",
        "BGPInstanceConfig load-balancer",
        "BGPInstanceConfig fabric",
    ] {
        assert!(added.iter().any(|it| it == id), "{id}: {added:?}");
    }
    assert_eq!(step.upgrade.as_ref().unwrap().when, UpgradeTiming::After);
    assert_eq!(step.kept, Some(30));
    assert_eq!(step.sessions, ["leaf1 at fab0", "leaf2 at fab1", "metallb"]);
}

#[test]
fn the_way_back_is_the_way_there_reversed() {
    let there = example(Backend::Frr, Backend::Native);
    let back = example(Backend::Native, Backend::Frr);

    for (there, back) in there.iter().zip(&back) {
        let mut gone = told(back.remove.clone());
        let mut came = told(there.add.iter().map(DocumentId::of));
        came.retain(|id| !id.starts_with("UnattendedInstallConfig"));
        gone.sort();
        came.sort();
        assert_eq!(gone, came);
        assert_eq!(back.kept, None, "Talos' own BGP has no graceful restart");
    }
}

#[test]
fn workers_move_first_and_control_planes_last() {
    let steps = example(Backend::Frr, Backend::Native);

    let names: Vec<_> = steps.iter().map(|step| step.node.as_str()).collect();

    assert_eq!(names, ["wk1", "wk2", "cp1", "cp2", "cp3"]);
    assert!(steps[2..].iter().all(|step| step.role == Role::Controlplane));
}

#[test]
fn the_file_may_have_either_backend() {
    let file = |backend: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.14.0-rc.1, endpoint: \"https://10.1.0.1:6443\"}}\n\
             image: {{registry: example.com/talos}}\nrouting: {{backend: {backend}, neighbors: [{{link: eth0}}]}}\n\
             nodes: [{{name: a, role: controlplane, index: 1, install: {{disk: /dev/sda}}}}]"
        )
    };
    let between = |text: String| {
        let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));
        steps(&sides(&cluster, &plan, Backend::Frr, Backend::Native).unwrap())
    };

    let before = between(file("frr, version: 10.3"));
    let after = between(file("native"));

    assert_eq!(before[0].patch(), after[0].patch());
}

#[test]
fn nodes_of_other_backends_stay() {
    let text = "cluster: {name: a, id: 1, talos: v1.14.0-rc.1}\nrouting: {neighbors: [{link: eth0}]}\n\
                nodes: [{name: a, index: 1, routing: {backend: bird}}, {name: b, index: 2, routing: {backend: frr}}, {name: c, index: 3}]";
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));

    let moved = sides(&cluster, &plan, Backend::Frr, Backend::Native).unwrap();
    let nobody = sides(&cluster, &plan, Backend::Gobgp, Backend::Gobgp);

    assert_eq!(moved.nodes, [1, 2]);
    assert!(nobody.is_none());
    let backend = |cluster: &Cluster, nth: usize| {
        plan::plan(cluster).nodes[nth].routing.as_ref().unwrap().backend.value
    };
    assert_eq!([0, 1, 2].map(|nth| backend(&moved.from, nth)), [Backend::Bird, Backend::Frr, Backend::Frr]);
    assert_eq!(
        [0, 1, 2].map(|nth| backend(&moved.to, nth)),
        [Backend::Bird, Backend::Native, Backend::Native]
    );
}

#[test]
fn a_backend_whose_image_nobody_names_is_refused_with_the_key_to_set() {
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(EXAMPLE));
    let MigrationPlan { from, to, nodes } = sides(&cluster, &plan, Backend::Native, Backend::Frr).unwrap();
    let (before, after) = (plan::plan(&from), plan::plan(&to));
    let (old, new) = (documents(&from, &before, &nodes), documents(&to, &after, &nodes));

    let step = MigrationStep::between(
        MigrationSide { node: &before.nodes[nodes[0]], documents: &old[0] },
        MigrationSide { node: &after.nodes[nodes[0]], documents: &new[0] },
        &after.cluster.contract.value,
    );

    let error = step.unwrap_err().to_string();
    assert!(
        error.contains("wk1 cannot move: frr comes with an image") && error.contains("`image.registry`"),
        "{error}"
    );
}

#[test]
fn what_merging_cannot_do_is_refused() {
    let (_, plan) = ichor_testbed::planned(ichor_testbed::load_text(EXAMPLE));
    let side =
        |name: &str| [json!({"version": "v1alpha1", "machine": {"type": "worker", "certSANs": [name]}})];
    let (one, other) = (side("a"), side("b"));

    let step = MigrationStep::between(
        MigrationSide { node: &plan.nodes[0], documents: &one },
        MigrationSide { node: &plan.nodes[0], documents: &other },
        &plan.cluster.contract.value,
    );

    // Names of a list are added to, and none of them can be taken away.
    let error = step.unwrap_err().to_string();
    assert!(
        error.contains("would change `machine and cluster` incorrectly") && error.contains("apply-config"),
        "{error}"
    );
}

#[test]
fn what_machine_loses_is_deleted_by_the_patch() {
    let text = include_str!("../../../examples/cilium/ichor.yaml");
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));

    let there = steps(&sides(&cluster, &plan, Backend::Frr, Backend::Gobgp).unwrap());

    // Talos 1.11 has modules of the kernel in `machine`, and gobgp needs none. It is in another image than FRR.
    let patch = there[0].patch();
    assert!(
        patch.contains("---\nmachine:\n") && patch.contains("    kernel:\n        $patch: delete\n"),
        "{patch}"
    );
    assert!(there[0].upgrade.is_some(), "{patch}");
}

#[test]
fn what_a_node_alone_announces_is_missed_by_all_who_reach_it() {
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(EXAMPLE));
    let MigrationPlan { from, to, nodes } = sides(&cluster, &plan, Backend::Native, Backend::Frr).unwrap();

    let losses = losses((&from, &plan::plan(&from)), (&to, &plan::plan(&to)), &nodes).unwrap();

    let own: Vec<_> = losses[0].own.iter().map(ToString::to_string).collect();
    assert_eq!(own, ["10.0.0.11/32", "fd00:1:fe::11/128", "10.0.1.11/32"]);
    assert_eq!(losses[0].missed_by, ["leaf1", "leaf2", "cp1", "cp2", "cp3", "wk2"]);
}

#[test]
fn a_step_does_not_print_what_its_documents_hold() {
    let steps = example(Backend::Native, Backend::Frr);

    assert!(steps[0].patch().contains("router_id"));
    assert!(!format!("{:?}", steps[0]).contains("router_id"));
}
