//! Components of the Kubernetes control plane as the old form sets them up.

use super::Role;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting, image};

/// The authorizers of the API server.
const AUTHORIZERS: [&str; 3] = ["Node", "RBAC", "Webhook"];

/// Judges `cluster.apiServer`, `cluster.controllerManager` and `cluster.scheduler`.
pub(crate) fn validate(cluster: &Field<'_>, role: Role, setting: Setting<'_>, issues: &mut DocumentIssues) {
    authorizers(&cluster.get("apiServer"), issues);
    for component in ["apiServer", "controllerManager", "scheduler"].map(|name| cluster.get(name)) {
        for resources in ["requests", "limits"].map(|kind| component.at(["resources", kind])) {
            for (key, field) in resources.entries().filter(|(key, _)| !["cpu", "memory"].contains(key)) {
                issues.error(&field, format!("{key:?} cannot be asked for: use cpu and memory"));
            }
        }
        if role.is_control_plane() {
            image::advise(&component.get("image"), setting, issues);
        }
    }
}

fn authorizers(server: &Field<'_>, issues: &mut DocumentIssues) {
    let authorizers = server.get("authorizationConfig");
    if authorizers.is_set() {
        for (key, field) in server.get("extraArgs").entries() {
            if key == "authorization-mode" || key.starts_with("authorization-webhook-") {
                issues.error(&field, "`authorizationConfig` sets it already: remove one of the two");
            }
        }
    }
    for authorizer in authorizers.items() {
        let (kind, name) = (authorizer.get("type"), authorizer.get("name"));
        if name.is_empty() {
            issues.error(&name, "an authorizer needs a name");
        }
        if !AUTHORIZERS.contains(&kind.text()) {
            issues.error(
                &kind,
                format!("{:?} authorizes nothing: use one of {}", kind.text(), AUTHORIZERS.join(", ")),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn a_component_asks_for_cpu_and_memory() {
        let resources = json!({"resources": {"requests": {"cpu": "1", "disk": "1"}, "limits": {"gpu": 1}}});

        let want = [
            "error cluster.scheduler.resources.requests.disk",
            "error cluster.scheduler.resources.limits.gpu",
        ];
        assert_eq!(control_plane("1.12", &[("cluster.scheduler", resources)]), want);
    }

    #[test]
    fn authorizers_are_named_once() {
        let server = json!({"authorizationConfig": [{"type": "Node", "name": "node"}, {"type": "Other"}, null],
            "extraArgs": {"authorization-mode": "Node", "authorization-webhook-version": "v1", "v": "2"}});

        let at = "error cluster.apiServer.";
        let want = [
            "extraArgs.authorization-mode",
            "extraArgs.authorization-webhook-version",
            "authorizationConfig[1].name",
            "authorizationConfig[1].type",
            "authorizationConfig[2].name",
            "authorizationConfig[2].type",
        ];
        assert_eq!(
            control_plane("1.12", &[("cluster.apiServer", server)]),
            want.map(|path| format!("{at}{path}"))
        );
    }
}
