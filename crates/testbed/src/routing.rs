//! The configuration of routing daemons, for every case.

use std::path::{Path, PathBuf};

use ichor_bgp::model::BgpModel;
use ichor_bgp::render as routing;
use ichor_bgp::render::{RenderRequest, RouterAddresses, SecretFetcher, Service, Template};
use ichor_bgp::setting::Carrier;
use ichor_core::model::Cluster;
use ichor_core::plan::{ConfigStage, NodePlan, Plan};
use ichor_core::render::native;
pub use ichor_core::routing::protected;
use ichor_values::{Backend, Issue};
use serde_json::Value;

pub const PASSWORD: &str = "a-secret-of-the-file";

pub fn model(_: &Cluster, plan: &Plan, node: &NodePlan) -> BgpModel {
    ichor_core::routing::model(node, &protected(plan)).unwrap().unwrap()
}

pub fn service_with(
    cluster: &Cluster,
    plan: &Plan,
    node: &NodePlan,
    fetch: &SecretFetcher<'_>,
) -> Result<Option<Service>, Vec<Issue>> {
    service(cluster, plan, node, fetch, None)
}

pub fn service_with_template(
    cluster: &Cluster,
    plan: &Plan,
    node: &NodePlan,
    template: Option<Template<'_>>,
) -> Result<Option<Service>, Vec<Issue>> {
    service(cluster, plan, node, &|_| Ok(PASSWORD.to_owned()), template)
}

fn service(
    cluster: &Cluster,
    plan: &Plan,
    node: &NodePlan,
    fetch: &SecretFetcher<'_>,
    template: Option<Template<'_>>,
) -> Result<Option<Service>, Vec<Issue>> {
    let decided = node.routing.as_deref().unwrap();
    let order = RenderRequest {
        backend: decided.backend.value,
        carrier: decided.carrier.as_ref().map_or(Carrier::Ichor, |carrier| carrier.value),
        model: &model(cluster, plan, node),
        version: decided.version.as_ref().map(|version| &version.value),
        options: &decided.options(),
        template,
        routers: &RouterAddresses::new(),
    };
    routing::render(order, fetch)
}

/// The service of the first node of a cluster file, or its problems.
pub fn service_of(text: &str) -> Result<Service, Vec<String>> {
    let (cluster, plan) = super::planned(super::load_text(text));
    let service = service_with(&cluster, &plan, &plan.nodes[0], &|_| Ok(PASSWORD.to_owned()));
    let to_texts = |issues: Vec<Issue>| issues.iter().map(ToString::to_string).collect::<Vec<_>>();
    service.map_err(to_texts).map(|service| service.unwrap())
}

/// The cases with nodes that route: examples, and variants beside the tests.
pub fn cases() -> Vec<PathBuf> {
    let all = ["example", "native", "routing"].into_iter().flat_map(super::group);
    all.filter(|case| routed(&super::planned_case(case, "ichor.yaml").1).next().is_some()).collect()
}

/// One node of each kind that routes.
pub fn routed(plan: &Plan) -> impl Iterator<Item = &NodePlan> {
    plan.by_class().map(|(node, _)| node).filter(|node| node.routing.is_some())
}

/// The service of each kind of node of a case, where it has one.
pub fn services(case: &Path) -> Vec<(String, Service)> {
    let (cluster, plan) = super::planned_case(case, "ichor.yaml");
    let service = |node: &NodePlan| {
        let service = service_with(&cluster, &plan, node, &|_| Ok(PASSWORD.to_owned()));
        let service = service.unwrap_or_else(|issues| panic!("{}: {issues:#?}", case.display()));
        service.map(|service| (node.name.to_string(), service))
    };
    routed(&plan).filter_map(service).collect()
}

/// The documents of each kind of node of a case by which Talos itself speaks BGP, before and after the installation.
pub fn documents(case: &Path) -> Vec<(String, [Vec<Value>; 2])> {
    let (cluster, plan) = super::planned_case(case, "ichor.yaml");
    let native = |node: &&NodePlan| node.routing.as_deref().unwrap().backend.value == Backend::Native;
    let both_stages = |node: &NodePlan| {
        let model = model(&cluster, &plan, node);
        let at = |stage| {
            let documents = native::documents(&model, node, stage);
            documents.unwrap_or_else(|issues| panic!("{}: {issues:#?}", case.display()))
        };
        (node.name.to_string(), [ConfigStage::Boot, ConfigStage::Final].map(at))
    };
    routed(&plan).filter(native).map(both_stages).collect()
}

/// The services of a backend in every case, by case and node.
pub fn services_of_backend(backend: Backend) -> Vec<(String, Service)> {
    let mut selected = Vec::new();
    for case in cases() {
        let (_, plan) = super::planned_case(&case, "ichor.yaml");
        let name = case.file_name().unwrap().to_str().unwrap().to_owned();
        for (node, service) in services(&case) {
            let decided = plan.node(&node).unwrap().routing.as_deref().unwrap();
            if decided.backend.value == backend {
                selected.push((format!("{name}-{node}"), service));
            }
        }
    }
    selected
}

/// The configuration that the daemons of a backend read in every case, by case and node.
pub fn confs(backend: Backend) -> Vec<(String, String)> {
    let conf = |(name, service): (String, Service)| (name, service.files[0].text.clone());
    services_of_backend(backend).into_iter().map(conf).collect()
}
