//! Every file of a cluster.

use ichor_core::cluster::section::Backend;
use ichor_core::cluster::value::Secret;
use ichor_core::plan::NodePlan;
use ichor_core::render::artifact::Artifact;
use ichor_core::render::machine::{Ground, RenderError, Renderer};
use ichor_core::render::{carrier, fabric, manifests};
use ichor_core::routing::{ModelError, Network};
use ichor_core::talos::emit::emit_all;
use ichor_core::talos::secrets::Bundle;

use super::Args;
use super::secrets::{Vault, patch_texts};
use crate::daemon::Judge;
use crate::progress::Progress;
use crate::project::Project;
use crate::work::shared_out;

/// All files of the nodes and of what is around them, or everything that is wrong. Why templates were not judged by their
/// daemon is added to `unjudged`.
pub(super) fn render(
    project: &Project,
    nodes: &[&NodePlan],
    bundle: &Bundle,
    args: &Args,
    vault: &Vault<'_>,
    unjudged: &mut Vec<String>,
) -> anyhow::Result<Result<Vec<Artifact>, Vec<RenderError>>> {
    let attachments = project.attachments();
    let patches = patch_texts(project, args.identity.as_deref());
    let ground = Ground {
        cluster: &project.cluster,
        plan: &project.plan,
        bundle,
        attachments,
        patches: &patches,
        secret: &|reference| vault.open(reference),
    };
    let renderer = match Renderer::new(ground) {
        Ok(renderer) => renderer,
        Err(errors) => return Ok(Err(errors)),
    };
    let judge = Judge::new(|text| vault.hide(text));
    let progress = Progress::count("rendering", nodes.len());
    let results = shared_out(nodes, &progress, |node| files(&renderer, &judge, node))?;
    drop(progress);
    unjudged.extend(judge.notes());
    let (mut artifacts, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(mut made) => artifacts.append(&mut made),
            Err(mut found) => errors.append(&mut found),
        }
    }
    if args.only.is_empty() {
        match around(project, vault) {
            Ok(mut made) => artifacts.append(&mut made),
            Err(mut found) => errors.append(&mut found),
        }
    }
    Ok(if errors.is_empty() { Ok(artifacts) } else { Err(errors) })
}

/// What is around the nodes: the other end of their sessions, and what Kubernetes is told.
fn around(project: &Project, vault: &Vault<'_>) -> Result<Vec<Artifact>, Vec<RenderError>> {
    let (cluster, plan) = (&project.cluster, &project.plan);
    let network = Network::of(cluster, plan).map_err(|errors| {
        let told = |error: &ModelError| RenderError { at: error.node.clone(), reason: error.to_string() };
        errors.iter().map(told).collect::<Vec<_>>()
    })?;
    let (mut made, mut errors) = (Vec::new(), Vec::new());
    let fetch = |reference: &Secret| vault.open(reference);
    for rendered in [fabric::render(plan, &network, &fetch), manifests::render(cluster, plan, &network)] {
        match rendered {
            Ok(mut files) => made.append(&mut files),
            Err(mut found) => errors.append(&mut found),
        }
    }
    if errors.is_empty() { Ok(made) } else { Err(errors) }
}

/// The template in the place of a daemon's own configuration, where a node has one.
fn template(node: &NodePlan) -> Option<(Backend, &str)> {
    let backend = node.routing.as_deref()?.backend.value;
    let mut templates = node.settings.routing.get()?.template.entries();
    templates.find(|(of, _)| **of == backend).map(|(_, path)| (backend, path.value.as_str()))
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
    let mut made = vec![Artifact::private(at("machine.yaml"), emit_all(&machine.documents))];
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
