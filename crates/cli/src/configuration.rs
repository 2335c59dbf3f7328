//! Machine configurations and boot media of a cluster, rendered in memory. `ichor build` writes the same to files.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ichor_bgp::render::SecretError;
use ichor_bgp::render::SecretFetcher;
use ichor_core::plan::NodePlan;
use ichor_core::render::artifact::ArtifactContents;
use ichor_core::render::tree::{PatchTexts, RenderInputs, Renderer};
use ichor_talos::secrets::Bundle;
use ichor_values::go_yaml::emit::emit_all;
use ichor_values::{Issue, Secret};

use crate::cluster_secrets::{SecretCache, patch_texts};
use crate::parallel::map_parallel;
use crate::progress::Progress;
use crate::project::Project;
use crate::{report, style};

/// Renders the configuration of each of `nodes`, in their order; contains secrets.
pub(crate) fn configurations(
    project: &Project,
    nodes: &[&NodePlan],
    bundle: &Bundle,
    identity: Option<&Path>,
) -> Result<Vec<String>, Vec<Issue>> {
    let vault = SecretCache::new(project.name());
    render_nodes(project, nodes, (bundle, identity), &vault, |renderer, node| {
        Ok(emit_all(&renderer.machine(node)?.documents))
    })
}

/// Renders configurations for a comparison; none without secrets, or with a warning if rendering fails.
pub(crate) fn configurations_to_compare(
    project: &Project,
    nodes: &[&NodePlan],
    bundle: Option<&Bundle>,
    identity: Option<&Path>,
) -> io::Result<Option<Vec<String>>> {
    let Some(bundle) = bundle else { return Ok(None) };
    match configurations(project, nodes, bundle, identity) {
        Ok(wanted) => Ok(Some(wanted)),
        Err(errors) => {
            report::unrendered(&mut anstream::stderr(), &errors)?;
            style::say("configurations are not compared; fix the errors first");
            Ok(None)
        }
    }
}

/// Boot media by path in the build folder.
pub(crate) type BootMediaFiles = HashMap<String, Arc<[u8]>>;

/// Renders the boot media with first-boot configurations.
pub(crate) fn boot_media(
    project: &Project,
    nodes: &[&NodePlan],
    bundle: &Bundle,
    identity: Option<&Path>,
) -> Result<BootMediaFiles, Vec<Issue>> {
    let vault = SecretCache::new(project.name());
    let rendered =
        render_nodes(project, nodes, (bundle, identity), &vault, |renderer, node| renderer.boot_media(node))?;
    let files = rendered.into_iter().flatten().map(|file| file.artifact);
    let images = files.filter_map(|artifact| match &artifact.contents {
        ArtifactContents::Image(image) => Some((artifact.path, Arc::from(image.bytes()))),
        ArtifactContents::Text(_) => None,
    });
    Ok(images.collect())
}

/// Runs `make` for each of `nodes`, in their order; collects all issues.
fn render_nodes<T: Send>(
    project: &Project,
    nodes: &[&NodePlan],
    (bundle, identity): (&Bundle, Option<&Path>),
    vault: &SecretCache<'_>,
    make: impl Fn(&Renderer<'_>, &NodePlan) -> Result<T, Vec<Issue>> + Sync,
) -> Result<Vec<T>, Vec<Issue>> {
    let patches = patch_texts(project, identity);
    let secret = |reference: &Secret| vault.open(reference).map_err(SecretError::new);
    let (mut results, mut errors) = (Vec::with_capacity(nodes.len()), Vec::new());
    for result in render_in_parallel(render_inputs(project, bundle, &patches, &secret), nodes, make) {
        match result {
            Ok(rendered) => results.push(rendered),
            Err(mut found) => errors.append(&mut found),
        }
    }
    if errors.is_empty() { Ok(results) } else { Err(errors) }
}

/// The inputs of rendering a project.
pub(crate) fn render_inputs<'a>(
    project: &'a Project,
    bundle: &'a Bundle,
    patches: &'a PatchTexts,
    secret: &'a SecretFetcher<'a>,
) -> RenderInputs<'a> {
    RenderInputs {
        cluster: &project.cluster,
        plan: &project.plan,
        bundle,
        attachments: project.attachments(),
        cilium: project.cilium().text(),
        patches,
        secret,
    }
}

/// Runs `make` for each of `nodes`, in their order and in parallel; a single failure if the shared part
/// cannot be rendered.
pub(crate) fn render_in_parallel<T: Send>(
    inputs: RenderInputs<'_>,
    nodes: &[&NodePlan],
    make: impl Fn(&Renderer<'_>, &NodePlan) -> Result<T, Vec<Issue>> + Sync,
) -> Vec<Result<T, Vec<Issue>>> {
    let renderer = match Renderer::new(inputs) {
        Ok(renderer) => renderer,
        Err(errors) => return vec![Err(errors)],
    };
    let progress = Progress::count("rendering", nodes.len());
    map_parallel(nodes, &progress, |node| make(&renderer, node))
}
