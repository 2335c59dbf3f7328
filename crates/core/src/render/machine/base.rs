//! What Talos' own generator is told of a cluster.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::Ground;
use crate::cluster::section::Role;
use crate::plan::CniPlan;
use ichor_talos::generate;
use ichor_talos::generate::{Cni, Contract, Endpoint, Input, Registry};
use ichor_talos::secrets::Bundle;
use ichor_values::Issue;

/// The documents of a role. Where Talos adds the endpoint to the names of the API server, it is there once.
pub(crate) fn generate(input: &Input, bundle: &Bundle, role: Role) -> Vec<Value> {
    let mut documents = match role {
        Role::Controlplane => generate::control_plane(input, bundle),
        Role::Worker => generate::worker(input, bundle),
    };
    let sans = documents.first_mut().and_then(|machine| machine.pointer_mut("/cluster/apiServer/certSANs"));
    if let Some(Value::Array(sans)) = sans {
        let mut seen = HashSet::new();
        sans.retain(|san| seen.insert(san.to_string()));
    }
    documents
}

/// What the generator is told.
pub fn input(ground: Ground<'_>, contract: Contract) -> Result<Input, Issue> {
    let plan = &ground.plan.cluster;
    let mut input = Input::new(plan.name.as_str(), endpoint(ground)?, contract);
    input.kubernetes = plan.kubernetes.as_ref().map(|version| version.value.clone());
    input.sans = sans(ground);
    input.pod_subnets.clone_from(&plan.pods.value);
    input.service_subnets.clone_from(&plan.services.value);
    input.cni = if matches!(plan.cni.value, CniPlan::Flannel(_)) { Cni::Flannel } else { Cni::None };
    input.discovery = plan.discovery.service.value;
    input.kubespan = plan.discovery.kubespan.value.then_some(true);
    input.kubeprism_port = Some(plan.kubeprism.value);
    input.registries = registries(ground);
    Ok(input)
}

/// Where the Kubernetes API is reached. An address that only the overlay will give is not known yet: until then, the first
/// control plane's.
fn endpoint(ground: Ground<'_>) -> Result<Endpoint, Issue> {
    let planned = ground.plan.cluster.endpoint.as_ref().map(|endpoint| &endpoint.value);
    let url = match planned.filter(|endpoint| endpoint.overlay_node().is_none()) {
        Some(endpoint) => endpoint.to_string(),
        None => {
            let address = ground.plan.control_planes().find_map(|node| node.main_address());
            let address = address.ok_or_else(|| {
                Issue::error("cluster.endpoint", "it is not known: write it, as in https://10.101.0.10:6443")
            })?;
            let host = if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
            format!("https://{host}:6443")
        }
    };
    Endpoint::parse(&url).map_err(|error| Issue::error("cluster.endpoint", error.to_string()))
}

/// Names the API is asked by, beside those Talos knows: written ones, and addresses that move or that many have.
pub fn sans(ground: Ground<'_>) -> Vec<String> {
    let plan = &ground.plan.cluster;
    let mut sans: Vec<String> =
        plan.sans.iter().flat_map(|sans| sans.value.values()).map(ToString::to_string).collect();
    sans.extend(plan.vip.iter().map(|vip| vip.value.to_string()));
    sans.extend(plan.anycast.iter().map(|anycast| anycast.value.addr().to_string()));
    sans.extend(plan.endpoint.iter().filter_map(|endpoint| endpoint.value.host().map(str::to_owned)));
    let mut seen = HashSet::new();
    sans.retain(|san| seen.insert(san.clone()));
    sans
}

fn registries(ground: Ground<'_>) -> BTreeMap<String, Registry> {
    let mirrors = ground.plan.cluster.registries.mirrors.iter().flat_map(|mirrors| mirrors.value.iter());
    mirrors
        .map(|(host, urls)| {
            let mirrors = urls.value.values().map(ToString::to_string).collect();
            (host.to_string(), Registry { mirrors, ..Registry::default() })
        })
        .collect()
}
