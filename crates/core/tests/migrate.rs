//! Migration between routing backends: the documents to remove and add, and their order.

use ichor_core::cluster::section::Role;
use ichor_core::migrate::{
    DocumentId, MigrationPlan, MigrationSide, MigrationStep, UpgradeTiming, compute_losses, plan_migration,
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

/// The steps between two sides, each verified.
fn steps(MigrationPlan { from, to, nodes }: &MigrationPlan) -> Vec<MigrationStep> {
    let (before, after) = (plan::plan(from), plan::plan(to));
    let (old, new) = (documents(from, &before, nodes), documents(to, &after, nodes));
    let step = |(nth, &number): (usize, &usize)| {
        let from = MigrationSide { node: &before.nodes[number], documents: &old[nth] };
        let to = MigrationSide { node: &after.nodes[number], documents: &new[nth] };
        MigrationStep::new(from, to, &after.cluster.contract.value).unwrap()
    };
    nodes.iter().enumerate().map(step).collect()
}

/// The steps of the example, with a place for images that have an extension.
fn example(from: Backend, to: Backend) -> Vec<MigrationStep> {
    let text = format!("{EXAMPLE}\nimage: {{registry: example.com/talos}}\n");
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));
    steps(&plan_migration(&cluster, &plan, from, to).unwrap())
}

fn id_names(ids: impl IntoIterator<Item = DocumentId>) -> Vec<String> {
    ids.into_iter().map(|id| id.to_string()).collect()
}

#[test]
fn a_migration_from_frr_to_native_replaces_the_service_by_instances() {
    let steps = example(Backend::Frr, Backend::Native);

    let step = &steps[0];
    assert_eq!(id_names(step.remove.clone()), ["ExtensionServiceConfig frr", "KernelModuleConfig vrf"]);
    let added = id_names(step.add.iter().map(DocumentId::from_document));
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
fn the_reverse_migration_has_the_reverse_changes() {
    let there = example(Backend::Frr, Backend::Native);
    let back = example(Backend::Native, Backend::Frr);

    for (there, back) in there.iter().zip(&back) {
        let mut gone = id_names(back.remove.clone());
        let mut came = id_names(there.add.iter().map(DocumentId::from_document));
        came.retain(|id| !id.starts_with("UnattendedInstallConfig"));
        gone.sort();
        came.sort();
        assert_eq!(gone, came);
        assert_eq!(back.kept, None, "Talos' own BGP has no graceful restart");
    }
}

#[test]
fn workers_migrate_first_and_control_planes_last() {
    let steps = example(Backend::Frr, Backend::Native);

    let names: Vec<_> = steps.iter().map(|step| step.node.as_str()).collect();

    assert_eq!(names, ["wk1", "wk2", "cp1", "cp2", "cp3"]);
    assert!(steps[2..].iter().all(|step| step.role == Role::Controlplane));
}

#[test]
fn the_file_may_have_either_backend() {
    let file = |backend: &str| {
        format!(
            "cluster: {{name: a, id: 1, talos: v1.14.1, endpoint: \"https://10.1.0.1:6443\"}}\n\
             image: {{registry: example.com/talos}}\nrouting: {{backend: {backend}, neighbors: [{{link: eth0}}]}}\n\
             nodes: [{{name: a, role: controlplane, index: 1, install: {{disk: /dev/sda}}}}]"
        )
    };
    let between = |text: String| {
        let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));
        steps(&plan_migration(&cluster, &plan, Backend::Frr, Backend::Native).unwrap())
    };

    let before = between(file("frr, version: 10.3"));
    let after = between(file("native"));

    assert_eq!(before[0].patch(), after[0].patch());
}

#[test]
fn nodes_of_other_backends_are_not_migrated() {
    let text = "cluster: {name: a, id: 1, talos: v1.14.1}\nrouting: {neighbors: [{link: eth0}]}\n\
                nodes: [{name: a, index: 1, routing: {backend: bird}}, {name: b, index: 2, routing: {backend: frr}}, {name: c, index: 3}]";
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));

    let moved = plan_migration(&cluster, &plan, Backend::Frr, Backend::Native).unwrap();
    let unchanged = plan_migration(&cluster, &plan, Backend::Gobgp, Backend::Gobgp);

    assert_eq!(moved.nodes, [1, 2]);
    assert!(unchanged.is_none());
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
fn a_backend_without_an_image_is_rejected_with_the_key_to_set() {
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(EXAMPLE));
    let MigrationPlan { from, to, nodes } =
        plan_migration(&cluster, &plan, Backend::Native, Backend::Frr).unwrap();
    let (before, after) = (plan::plan(&from), plan::plan(&to));
    let (old, new) = (documents(&from, &before, &nodes), documents(&to, &after, &nodes));

    let step = MigrationStep::new(
        MigrationSide { node: &before.nodes[nodes[0]], documents: &old[0] },
        MigrationSide { node: &after.nodes[nodes[0]], documents: &new[0] },
        &after.cluster.contract.value,
    );

    let error = step.unwrap_err().to_string();
    assert!(
        error.contains("cannot migrate wk1: the file does not name the image with frr")
            && error.contains("`image.registry`"),
        "{error}"
    );
}

#[test]
fn changes_that_cannot_be_merged_are_rejected() {
    let (_, plan) = ichor_testbed::planned(ichor_testbed::load_text(EXAMPLE));
    let side =
        |name: &str| [json!({"version": "v1alpha1", "machine": {"type": "worker", "certSANs": [name]}})];
    let (one, other) = (side("a"), side("b"));

    let step = MigrationStep::new(
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
fn keys_removed_from_machine_are_deleted_by_the_patch() {
    let text = include_str!("../../../examples/cilium/ichor.yaml");
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(text));

    let there = steps(&plan_migration(&cluster, &plan, Backend::Frr, Backend::Gobgp).unwrap());

    // Talos 1.11 has modules of the kernel in `machine`, and gobgp needs none. It is in another image than FRR.
    let patch = there[0].patch();
    assert!(
        patch.contains("---\nmachine:\n") && patch.contains("    kernel:\n        $patch: delete\n"),
        "{patch}"
    );
    assert!(there[0].upgrade.is_some(), "{patch}");
}

#[test]
fn prefixes_of_a_single_node_are_lost_for_all_others() {
    let (cluster, plan) = ichor_testbed::planned(ichor_testbed::load_text(EXAMPLE));
    let MigrationPlan { from, to, nodes } =
        plan_migration(&cluster, &plan, Backend::Native, Backend::Frr).unwrap();

    let losses = compute_losses((&from, &plan::plan(&from)), (&to, &plan::plan(&to)), &nodes).unwrap();

    let own: Vec<_> = losses[0].own.iter().map(ToString::to_string).collect();
    assert_eq!(own, ["10.0.0.11/32", "fd00:1:fe::11/128", "10.0.1.11/32"]);
    assert_eq!(losses[0].missed_by, ["leaf1", "leaf2", "cp1", "cp2", "cp3", "wk2"]);
}

#[test]
fn a_step_is_printed_without_its_documents() {
    let steps = example(Backend::Native, Backend::Frr);

    assert!(steps[0].patch().contains("router_id"));
    assert!(!format!("{:?}", steps[0]).contains("router_id"));
}
