//! `manifest.yaml`: the name of the extension, and the releases it is for.

use serde_json::json;

use super::ExtensionRequest;
use super::recipe::DaemonRecipe;
use ichor_talos::release;
use ichor_values::go_yaml::emit::emit;

/// The text of the manifest.
pub(super) fn text(order: &ExtensionRequest<'_>, recipe: &DaemonRecipe, version: &str) -> String {
    let (oldest, _) = release::known_releases();
    emit(&json!({
        "version": "v1alpha1",
        "metadata": {
            "name": order.name,
            "version": version,
            "author": "ichor",
            "description": format!("BGP on the node: {} and ichor-agent", recipe.product),
            "compatibility": {"talos": {"version": format!(">= v1.{oldest}.0")}},
        },
    }))
}
