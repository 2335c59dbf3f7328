//! Configurations of nodes that no file but the cluster's goes into.

use ichor_core::model::Cluster;
use ichor_core::plan::Plan;
use ichor_core::plan::attachment::Attachments;
use ichor_core::render::machine::{Ground, PatchTexts, RenderError, Renderer};
use ichor_talos::secrets::Bundle;

const SECRETS: &str = include_str!("../../talos/tests/data/clusters/single-v1.12/secrets.yaml");

/// What `make` makes of a cluster's nodes, or everything that is wrong with them.
pub fn rendered<T>(
    cluster: &Cluster,
    plan: &Plan,
    make: impl FnOnce(&Renderer<'_>) -> Result<T, Vec<RenderError>>,
) -> Result<T, String> {
    let attachments = Attachments::gather(cluster, "ichor.yaml", &mut super::Alone(Vec::new()));
    let ground = Ground {
        cluster,
        plan,
        bundle: &Bundle::read(SECRETS).unwrap(),
        attachments: &attachments,
        cilium: Ok(super::CILIUM),
        patches: &PatchTexts::new(),
        secret: &|_| Ok("a-secret-of-the-file".to_owned()),
    };
    let made = Renderer::new(ground).and_then(|renderer| make(&renderer));
    made.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}
