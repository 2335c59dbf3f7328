//! Every file of a cluster.

use std::path::Path;

use ichor_core::cluster::section::Backend;
use ichor_core::cluster::value::Secret;
use ichor_core::plan::{NodePlan, Plan};
use ichor_core::prove::crowd;
use ichor_core::render::artifact::Artifact;
use ichor_core::render::fabric::containerlab;
use ichor_core::render::machine::{RenderError, Renderer};
use ichor_core::render::{base, carrier, fabric, hypervisor, manifests};
use ichor_core::routing::{ModelError, Network};
use ichor_core::talos::emit::emit_all;
use ichor_core::talos::secrets::Bundle;

use super::Args;
use crate::configuration::each;
use crate::daemon::Judge;
use crate::project::Project;
use crate::vault::Vault;

/// All files of the nodes and of what is around them, or everything that is wrong. What is to be told either way is added to
/// `notes`.
pub(super) fn render(
    project: &Project,
    nodes: &[&NodePlan],
    bundle: &Bundle,
    args: &Args,
    vault: &Vault<'_>,
    notes: &mut Vec<String>,
) -> anyhow::Result<Result<Vec<Artifact>, Vec<RenderError>>> {
    let (mut artifacts, mut errors) =
        match of_nodes(project, nodes, bundle, args.identity.as_deref(), vault, notes)? {
            Ok(made) => (made, Vec::new()),
            Err(found) => (Vec::new(), found),
        };
    if args.only.is_empty() {
        match images(&project.plan, notes) {
            Ok(made) => artifacts.extend(made),
            Err(error) => errors.push(error),
        }
        match around(project, vault, notes) {
            Ok(mut made) => artifacts.append(&mut made),
            Err(mut found) => errors.append(&mut found),
        }
    }
    Ok(if errors.is_empty() { Ok(artifacts) } else { Err(errors) })
}

/// All files of some nodes, or everything that is wrong with them.
fn of_nodes(
    project: &Project,
    nodes: &[&NodePlan],
    bundle: &Bundle,
    identity: Option<&Path>,
    vault: &Vault<'_>,
    notes: &mut Vec<String>,
) -> anyhow::Result<Result<Vec<Artifact>, Vec<RenderError>>> {
    let judge = Judge::new(|text| vault.hide(text));
    let make = |renderer: &Renderer<'_>, node: &NodePlan| files(renderer, &judge, node);
    let made = each(project, nodes, (bundle, identity), vault, make)?;
    notes.extend(judge.notes());
    Ok(made.map(|made| made.into_iter().flatten().collect()))
}

/// The list of the images that have to be made for the nodes, where there are any.
fn images(plan: &Plan, notes: &mut Vec<String>) -> Result<Option<Artifact>, RenderError> {
    let wanted = base::bases(plan).map_err(|(node, error)| RenderError::of(node, &error))?;
    if wanted.is_empty() {
        return Ok(None);
    }
    notes.push(match wanted.as_slice() {
        [one] => format!("the nodes boot {}: `ichor image build` makes it", one.base.stem()),
        all => format!(
            "the nodes boot {} base images, listed in {}: `ichor image build` makes them",
            all.len(),
            base::LIST
        ),
    });
    Ok(Some(Artifact::public(base::LIST, base::list(&wanted))))
}

/// What is around the nodes: the other end of their sessions, what Kubernetes is told, and what makes their machines.
fn around(
    project: &Project,
    vault: &Vault<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<Artifact>, Vec<RenderError>> {
    let (cluster, plan) = (&project.cluster, &project.plan);
    let network = Network::of(cluster, plan).map_err(|errors| {
        let told = |error: &ModelError| RenderError { at: error.node.clone(), reason: error.to_string() };
        errors.iter().map(told).collect::<Vec<_>>()
    })?;
    notes.extend(lab_note(plan, &network));
    let (mut made, mut errors) = (Vec::new(), Vec::new());
    let fetch = |reference: &Secret| vault.open(reference);
    let around =
        [fabric::render(plan, &network, &fetch), manifests::render(plan, &network), hypervisor::render(plan)];
    for rendered in around {
        match rendered {
            Ok(mut files) => made.append(&mut files),
            Err(mut found) => errors.append(&mut found),
        }
    }
    if errors.is_empty() { Ok(made) } else { Err(errors) }
}

/// Who is not in the topology of containerlab, which runs FRR alone.
fn lab_note(plan: &Plan, network: &Network) -> Option<String> {
    let absent = containerlab::absent(plan, network);
    if fabric::is_empty(network) || absent.is_empty() {
        None
    } else if absent.len() == network.nodes.len() + network.routers.len() {
        Some("fabric/containerlab.clab.yml is empty: FRR runs nowhere in this fabric".to_owned())
    } else {
        let who = crowd(absent.iter().copied());
        Some(format!("not in fabric/containerlab.clab.yml, because FRR does not run there: {who}"))
    }
}

/// The template in the place of a daemon's own configuration, where a node has one.
fn template(node: &NodePlan) -> Option<(Backend, &str)> {
    let routing = node.routing.as_deref()?;
    routing.template.as_ref().map(|path| (routing.backend.value, path.value.as_str()))
}

/// The files of one node.
fn files(
    renderer: &Renderer<'_>,
    judge: &Judge<'_>,
    node: &NodePlan,
) -> Result<Vec<Artifact>, Vec<RenderError>> {
    let at = |name: &str| format!("nodes/{}/{name}", node.name);
    let machine = renderer.machine(node)?;
    let boot = renderer.boot(node)?;
    let boot = emit_all(&boot.documents);
    let machine = emit_all(&machine.documents);
    carrier::check_size(node, &machine).map_err(|error| vec![error])?;
    let mut made = vec![Artifact::private(at("machine.yaml"), machine)];
    if !boot.is_empty() {
        made.push(Artifact::private(at("boot.yaml"), boot.clone()));
    }
    let service = renderer.service(node)?;
    if let (Some(service), Some((backend, template))) = (&service, template(node)) {
        let refused = |reason| vec![RenderError { at: node.path("routing.template"), reason }];
        judge.ask(backend, template, service).map_err(refused)?;
    }
    for file in service.into_iter().flat_map(|service| service.files) {
        let artifact = if file.private { Artifact::private } else { Artifact::public };
        made.push(artifact(at(file.name), file.text));
    }
    made.extend(carrier::render(node, &boot).map_err(|error| vec![error])?);
    Ok(made)
}
