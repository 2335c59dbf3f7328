//! Renders every file of a cluster.

use ichor_bgp::render::SecretError;
use ichor_core::plan::NodePlan;
use ichor_core::render::tree::{BuildTree, NodeTree, Renderer};
use ichor_talos::secrets::{Bundle, Pair};
use ichor_values::{Backend, Issue, Secret};

use super::Args;
use crate::cluster_secrets::{SecretCache, patch_texts};
use crate::configuration::{render_in_parallel, render_inputs};
use crate::project::Project;
use crate::template_check::TemplateChecker;

/// Renders the files of the cluster, or only those of `nodes` with --only; returns every error.
pub(super) fn render(
    project: &Project,
    nodes: &[&NodePlan],
    (bundle, admin): (&Bundle, &Pair),
    args: &Args,
    vault: &SecretCache<'_>,
) -> Result<BuildTree, Vec<Issue>> {
    let patches = patch_texts(project, args.identity.path());
    let secret = |reference: &Secret| vault.open(reference).map_err(SecretError::new);
    let inputs = render_inputs(project, bundle, &patches, &secret);
    let judge = TemplateChecker::new(|text| vault.hide(text));
    let made = render_in_parallel(inputs, nodes, |renderer, node| render_node(renderer, &judge, node));
    let tree =
        if args.only.is_empty() { BuildTree::new(inputs, admin, made) } else { BuildTree::from_nodes(made) };
    tree.map(|mut tree| {
        tree.notes.splice(0..0, judge.skipped_checks());
        tree
    })
}

/// Renders the files of a node, and validates the output of its template with the BGP daemon.
fn render_node(
    renderer: &Renderer<'_>,
    judge: &TemplateChecker<'_>,
    node: &NodePlan,
) -> Result<NodeTree, Vec<Issue>> {
    let mut made = renderer.node(node)?;
    if let (Some(service), Some((backend, template))) = (made.service.take(), template(node)) {
        judge
            .check(backend, template, &service)
            .map_err(|error| vec![Issue::error(node.path("routing.template"), error.to_string())])?;
    }
    Ok(made)
}

/// The template of a node that replaces the generated daemon configuration.
fn template(node: &NodePlan) -> Option<(Backend, &str)> {
    let routing = node.routing.as_deref()?;
    routing.template.as_ref().map(|path| (routing.backend.value, path.value.as_str()))
}
