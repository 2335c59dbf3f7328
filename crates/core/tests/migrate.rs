//! Moving from one routing backend to another: which documents go and come, and in which order.

mod common;

use ichor_core::cluster::section::{Backend, Role};
use ichor_core::migrate::{DocumentId, Side, Sides, Step, When, sides};
use ichor_core::model::Cluster;
use ichor_core::plan::{self, Plan};
use ichor_core::render::machine::{Ground, PatchTexts, Renderer};
use ichor_core::rules::attachment::Attachments;
use ichor_core::talos::secrets::Bundle;
use serde_json::Value;

const SECRETS: &str = include_str!("talos/clusters/single-v1.12/secrets.yaml");
const EXAMPLE: &str = include_str!("../../../examples/native/ichor.yaml");

fn documents(cluster: &Cluster, plan: &Plan, nodes: &[usize]) -> Vec<Vec<Value>> {
    let attachments = Attachments::gather(cluster, "ichor.yaml", &mut common::Alone(Vec::new()));
    let ground = Ground {
        cluster,
        plan,
        bundle: &Bundle::read(SECRETS).unwrap(),
        attachments: &attachments,
        patches: &PatchTexts::new(),
        secret: &|_| Ok("a-secret-of-the-file".to_owned()),
    };
    let Ok(renderer) = Renderer::new(ground) else { panic!("what the nodes share cannot be made") };
    nodes.iter().map(|&nth| renderer.machine(&plan.nodes[nth]).unwrap().documents).collect()
}

/// The steps between two sides, each proven as it is made.
fn steps(Sides { from, to, nodes }: &Sides) -> Vec<Step> {
    let (before, after) = (plan::plan(from), plan::plan(to));
    let (old, new) = (documents(from, &before, nodes), documents(to, &after, nodes));
    let step = |(nth, &number): (usize, &usize)| {
        let from = Side { node: &before.nodes[number], documents: &old[nth] };
        let to = Side { node: &after.nodes[number], documents: &new[nth] };
        Step::between(from, to, &after.cluster.contract.value).unwrap()
    };
    nodes.iter().enumerate().map(step).collect()
}

/// The steps of the example, with a place for images that have an extension.
fn example(from: Backend, to: Backend) -> Vec<Step> {
    let text = format!("{EXAMPLE}\nimage: {{registry: example.com/talos}}\n");
    let (cluster, plan) = common::planned(common::load_text(text));
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
        "BGPInstanceConfig workload",
        "BGPInstanceConfig fabric",
    ] {
        assert!(added.iter().any(|it| it == id), "{id}: {added:?}");
    }
    assert_eq!(step.upgrade.as_ref().unwrap().when, When::After);
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
        let (cluster, plan) = common::planned(common::load_text(text));
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
    let (cluster, plan) = common::planned(common::load_text(text));

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
fn what_merging_cannot_do_is_refused() {
    let (cluster, plan) = common::planned(common::load_text(EXAMPLE));
    let Sides { from, to, nodes } = sides(&cluster, &plan, Backend::Native, Backend::Frr).unwrap();
    let (before, after) = (plan::plan(&from), plan::plan(&to));
    let (old, new) = (documents(&from, &before, &nodes), documents(&to, &after, &nodes));

    // Nobody said where the installer with the extension is, and an empty value takes no other's place.
    let step = Step::between(
        Side { node: &before.nodes[nodes[0]], documents: &old[0] },
        Side { node: &after.nodes[nodes[0]], documents: &new[0] },
        &after.cluster.contract.value,
    );

    assert!(step.unwrap_err().to_string().contains("`UnattendedInstallConfig` would be another"));
}

#[test]
fn a_step_does_not_print_what_its_documents_hold() {
    let steps = example(Backend::Native, Backend::Frr);

    assert!(steps[0].patch().contains("router bgp"));
    assert!(!format!("{:?}", steps[0]).contains("router bgp"));
}
