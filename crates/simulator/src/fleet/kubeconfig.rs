//! The kubeconfig of an administrator, as Talos writes it.

use serde_json::json;

use super::node_config::NodeConfig;
use ichor_talos::secrets::{Pair, Pem};
use ichor_values::go_yaml::emit::emit;

/// The text of a kubeconfig for the cluster of a configuration.
pub fn kubeconfig(intent: &NodeConfig, authority: &Pem, admin: &Pair) -> String {
    let (cluster, user) = (&intent.cluster, format!("admin@{}", intent.cluster));
    emit(&json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": cluster,
            "cluster": {"server": intent.endpoint, "certificate-authority-data": authority.base64()},
        }],
        "users": [{
            "name": user,
            "user": {"client-certificate-data": admin.crt.base64(), "client-key-data": admin.key.base64()},
        }],
        "contexts": [{"name": user, "context": {"cluster": cluster, "namespace": "default", "user": user}}],
        "current-context": user,
    }))
}
