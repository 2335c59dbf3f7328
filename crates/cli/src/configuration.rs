//! What a cluster's machines read, in memory: their configurations, as `ichor build` writes them to `machine.yaml`, and the CDs
//! that carry the first of them.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ichor_bgp::render::Fetch;
use ichor_bgp::render::SecretError;
use ichor_core::plan::NodePlan;
use ichor_core::render::artifact::Contents;
use ichor_core::render::tree::{Inputs, PatchTexts, Renderer};
use ichor_talos::secrets::Bundle;
use ichor_values::go_yaml::emit::emit_all;
use ichor_values::{Issue, Secret};

use crate::progress::Progress;
use crate::project::Project;
use crate::vault::{Vault, patch_texts};
use crate::work::shared_out;
use crate::{report, style};

/// The configuration of each of `nodes` as text, in their order, or everything that is wrong; a secret.
pub(crate) fn configurations(
    project: &Project,
    nodes: &[&NodePlan],
    bundle: &Bundle,
    identity: Option<&Path>,
) -> Result<Vec<String>, Vec<Issue>> {
    let vault = Vault::new(project.name());
    each(project, nodes, (bundle, identity), &vault, |renderer, node| {
        Ok(emit_all(&renderer.machine(node)?.documents))
    })
}

/// The configurations to compare with; none where there are no secrets or, which is told, where they cannot be made.
pub(crate) fn comparable(
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
            style::say("configurations are not compared: first mend what is wrong");
            Ok(None)
        }
    }
}

/// CDs by their paths in the folder of a build.
pub(crate) type Carriers = HashMap<String, Arc<[u8]>>;

/// The CDs that carry first configurations.
pub(crate) fn carriers(
    project: &Project,
    nodes: &[&NodePlan],
    bundle: &Bundle,
    identity: Option<&Path>,
) -> Result<Carriers, Vec<Issue>> {
    let vault = Vault::new(project.name());
    let rendered = each(project, nodes, (bundle, identity), &vault, |renderer, node| renderer.carrier(node))?;
    let files = rendered.into_iter().flatten().map(|file| file.artifact);
    let images = files.filter_map(|artifact| match &artifact.contents {
        Contents::Image(image) => Some((artifact.path, Arc::from(image.bytes()))),
        Contents::Text(_) => None,
    });
    Ok(images.collect())
}

/// What `make` makes of each of `nodes`, in their order, or everything that is wrong.
fn each<T: Send>(
    project: &Project,
    nodes: &[&NodePlan],
    (bundle, identity): (&Bundle, Option<&Path>),
    vault: &Vault<'_>,
    make: impl Fn(&Renderer<'_>, &NodePlan) -> Result<T, Vec<Issue>> + Sync,
) -> Result<Vec<T>, Vec<Issue>> {
    let patches = patch_texts(project, identity);
    let secret = |reference: &Secret| vault.open(reference).map_err(SecretError::new);
    let (mut made, mut errors) = (Vec::with_capacity(nodes.len()), Vec::new());
    for result in spread(inputs(project, bundle, &patches, &secret), nodes, make) {
        match result {
            Ok(one) => made.push(one),
            Err(mut found) => errors.append(&mut found),
        }
    }
    if errors.is_empty() { Ok(made) } else { Err(errors) }
}

/// What the files of a project are rendered from.
pub(crate) fn inputs<'a>(
    project: &'a Project,
    bundle: &'a Bundle,
    patches: &'a PatchTexts,
    secret: &'a Fetch<'a>,
) -> Inputs<'a> {
    Inputs {
        cluster: &project.cluster,
        plan: &project.plan,
        bundle,
        attachments: project.attachments(),
        cilium: project.cilium().text(),
        patches,
        secret,
    }
}

/// What `make` makes of each of `nodes`, in their order and spread over the processors; one failure where what they share
/// cannot be made.
pub(crate) fn spread<T: Send>(
    inputs: Inputs<'_>,
    nodes: &[&NodePlan],
    make: impl Fn(&Renderer<'_>, &NodePlan) -> Result<T, Vec<Issue>> + Sync,
) -> Vec<Result<T, Vec<Issue>>> {
    let renderer = match Renderer::new(inputs) {
        Ok(renderer) => renderer,
        Err(errors) => return vec![Err(errors)],
    };
    let progress = Progress::count("rendering", nodes.len());
    shared_out(nodes, &progress, |node| make(&renderer, node))
}
