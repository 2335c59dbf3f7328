//! Every file of a cluster.

use ichor_bgp::render::SecretError;
use ichor_core::plan::NodePlan;
use ichor_core::render::tree::{NodeTree, Renderer, Tree};
use ichor_talos::secrets::{Bundle, Pair};
use ichor_values::{Backend, Issue, Secret};

use super::Args;
use crate::configuration::{inputs, spread};
use crate::daemon::Judge;
use crate::project::Project;
use crate::vault::{Vault, patch_texts};

/// The files of the cluster, or of `nodes` alone where the command line names some; or everything that is wrong.
pub(super) fn render(
    project: &Project,
    nodes: &[&NodePlan],
    (bundle, admin): (&Bundle, &Pair),
    args: &Args,
    vault: &Vault<'_>,
) -> Result<Tree, Vec<Issue>> {
    let patches = patch_texts(project, args.identity.path());
    let secret = |reference: &Secret| vault.open(reference).map_err(SecretError::new);
    let inputs = inputs(project, bundle, &patches, &secret);
    let judge = Judge::new(|text| vault.hide(text));
    let made = spread(inputs, nodes, |renderer, node| judged(renderer, &judge, node));
    let tree = if args.only.is_empty() { Tree::whole(inputs, admin, made) } else { Tree::of_nodes(made) };
    tree.map(|mut tree| {
        tree.notes.splice(0..0, judge.notes());
        tree
    })
}

/// The files of a node, after its daemon has read what a template gave.
fn judged(renderer: &Renderer<'_>, judge: &Judge<'_>, node: &NodePlan) -> Result<NodeTree, Vec<Issue>> {
    let mut made = renderer.node(node)?;
    if let (Some(service), Some((backend, template))) = (made.service.take(), template(node)) {
        judge
            .ask(backend, template, &service)
            .map_err(|error| vec![Issue::error(node.path("routing.template"), error.to_string())])?;
    }
    Ok(made)
}

/// The template in the place of a daemon's own configuration, where a node has one.
fn template(node: &NodePlan) -> Option<(Backend, &str)> {
    let routing = node.routing.as_deref()?;
    routing.template.as_ref().map(|path| (routing.backend.value, path.value.as_str()))
}
