//! The overlay's extension: Tailscale, or Headscale with its own server.

use serde_json::json;

use super::{ConfigDraft, RenderInputs};
use crate::plan::NodePlan;
use ichor_values::Issue;

/// Adds its configuration, without a key that creates others: the created key is added when the machine is configured.
pub fn add(draft: &mut ConfigDraft, inputs: RenderInputs<'_>, node: &NodePlan, errors: &mut Vec<Issue>) {
    let Some(tailscale) = &node.tailscale else { return };
    let mut environment = vec![format!("TS_HOSTNAME={}", node.name), "TS_AUTH_ONCE=true".to_owned()];
    if let Some(key) = tailscale.key.as_ref().filter(|_| !tailscale.mint.value) {
        match (inputs.secret)(&key.value) {
            Ok(key) => environment.push(format!("TS_AUTHKEY={key}")),
            Err(error) => errors.push(Issue::error(node.path("overlay.tailscale.key"), error.to_string())),
        }
    }
    let mut arguments: Vec<String> =
        tailscale.server.as_ref().map(|url| format!("--login-server={}", url.value)).into_iter().collect();
    let tags: Vec<&str> =
        tailscale.tags.iter().flat_map(|tags| tags.value.values()).map(|tag| tag.as_str()).collect();
    // Headscale 0.28 and later reject the flag with every pre-auth key: there the key has the tags.
    if tailscale.server.is_none() && !tags.is_empty() {
        arguments.push(format!("--advertise-tags={}", tags.join(",")));
    }
    if !arguments.is_empty() {
        environment.push(format!("TS_EXTRA_ARGS={}", arguments.join(" ")));
    }
    let routes: Vec<_> = tailscale
        .routes
        .iter()
        .flat_map(|routes| routes.value.values())
        .map(|route| route.0.to_string())
        .collect();
    if !routes.is_empty() {
        environment.push(format!("TS_ROUTES={}", routes.join(",")));
    }
    draft.document("ExtensionServiceConfig", json!({"name": "tailscale", "environment": environment}));
}
