//! The overlay's extension: Tailscale, or Headscale with a server of one's own.

use serde_json::json;

use super::{ConfigDraft, Ground};
use crate::plan::NodePlan;
use ichor_values::Issue;

/// Adds its configuration. A key that mints others stays here: the minted one is given out with the machine.
pub fn add(draft: &mut ConfigDraft, ground: Ground<'_>, node: &NodePlan, errors: &mut Vec<Issue>) {
    let Some(tailscale) = &node.tailscale else { return };
    let mut environment = vec![format!("TS_HOSTNAME={}", node.name), "TS_AUTH_ONCE=true".to_owned()];
    if let Some(key) = tailscale.key.as_ref().filter(|_| !tailscale.mint.value) {
        match (ground.secret)(&key.value) {
            Ok(key) => environment.push(format!("TS_AUTHKEY={key}")),
            Err(error) => errors.push(Issue::error(node.path("overlay.tailscale.key"), error.to_string())),
        }
    }
    let mut arguments: Vec<String> =
        tailscale.server.as_ref().map(|url| format!("--login-server={}", url.value)).into_iter().collect();
    let tags: Vec<&str> =
        tailscale.tags.iter().flat_map(|tags| tags.value.values()).map(|tag| tag.as_str()).collect();
    if !tags.is_empty() {
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
