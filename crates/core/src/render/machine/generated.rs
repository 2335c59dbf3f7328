//! The generated configuration, as from `talosctl gen config`.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::RenderInputs;
use crate::cluster::section::Role;
use crate::plan::CniPlan;
use ichor_talos::generate;
use ichor_talos::generate::{Cni, Contract, Endpoint, Input, Registry};
use ichor_talos::secrets::Bundle;
use ichor_values::Issue;

/// Generates the documents of a role, without duplicate names in the API server's certificate.
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

/// The inputs of the generator.
pub fn input(inputs: RenderInputs<'_>, contract: Contract) -> Result<Input, Issue> {
    let plan = &inputs.plan.cluster;
    let mut input = Input::new(plan.name.as_str(), endpoint(inputs)?, contract);
    input.kubernetes = plan.kubernetes.as_ref().map(|version| version.value.clone());
    input.sans = sans(inputs);
    input.pod_subnets.clone_from(&plan.pods.value);
    input.service_subnets.clone_from(&plan.services.value);
    input.cni = if matches!(plan.cni.value, CniPlan::Flannel(_)) { Cni::Flannel } else { Cni::None };
    input.discovery = plan.discovery.service.value;
    input.kubespan = plan.discovery.kubespan.value.then_some(true);
    input.kubeprism_port = Some(plan.kubeprism.value);
    input.registries = registries(inputs);
    Ok(input)
}

/// The endpoint of the Kubernetes API. If its address is known only after a node joins the overlay, the first control plane's
/// is used instead.
fn endpoint(inputs: RenderInputs<'_>) -> Result<Endpoint, Issue> {
    let planned = inputs.plan.cluster.endpoint.as_ref().map(|endpoint| &endpoint.value);
    let url = match planned.filter(|endpoint| endpoint.overlay_node().is_none()) {
        Some(endpoint) => endpoint.to_string(),
        None => {
            let address = inputs.plan.control_planes().find_map(|node| node.main_address());
            let address = address.ok_or_else(|| {
                Issue::error("cluster.endpoint", "unknown; set it, for example to https://10.101.0.10:6443")
            })?;
            let host = if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
            format!("https://{host}:6443")
        }
    };
    Endpoint::parse(&url).map_err(|error| Issue::error("cluster.endpoint", error.to_string()))
}

/// Additional names in the API server's certificate: those of the file, VIP, anycast addresses and the endpoint.
pub fn sans(inputs: RenderInputs<'_>) -> Vec<String> {
    let plan = &inputs.plan.cluster;
    let mut sans: Vec<String> =
        plan.sans.iter().flat_map(|sans| sans.value.values()).map(ToString::to_string).collect();
    sans.extend(plan.vip.iter().map(|vip| vip.value.to_string()));
    sans.extend(plan.anycast.iter().map(|anycast| anycast.value.addr().to_string()));
    sans.extend(plan.endpoint.iter().filter_map(|endpoint| endpoint.value.host().map(str::to_owned)));
    let mut seen = HashSet::new();
    sans.retain(|san| seen.insert(san.clone()));
    sans
}

fn registries(inputs: RenderInputs<'_>) -> BTreeMap<String, Registry> {
    let mirrors = inputs.plan.cluster.registries.mirrors.iter().flat_map(|mirrors| mirrors.value.iter());
    mirrors
        .map(|(host, urls)| {
            let mirrors = urls.value.values().map(ToString::to_string).collect();
            (host.to_string(), Registry { mirrors, ..Registry::default() })
        })
        .collect()
}
