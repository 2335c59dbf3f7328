//! Components of the Kubernetes control plane as the old form sets them up.

use super::Role;
use crate::cluster::value::KubernetesVersion;
use crate::talos::release;
use crate::talos::validate::field::Field;
use crate::talos::validate::{Flaws, Setting};

/// What authorizes requests to the API server.
const AUTHORIZERS: [&str; 3] = ["Node", "RBAC", "Webhook"];

/// Judges `cluster.apiServer`, `cluster.controllerManager` and `cluster.scheduler`.
pub fn validate(cluster: &Field<'_>, role: Role, setting: Setting<'_>, flaws: &mut Flaws) {
    authorizers(&cluster.get("apiServer"), flaws);
    for component in ["apiServer", "controllerManager", "scheduler"].map(|name| cluster.get(name)) {
        for resources in ["requests", "limits"].map(|kind| component.at(["resources", kind])) {
            for (key, field) in resources.entries().filter(|(key, _)| !["cpu", "memory"].contains(key)) {
                flaws.error(&field, format!("{key:?} cannot be asked for: use cpu and memory"));
            }
        }
        if role.is_control_plane() {
            advise_image(&component.get("image"), setting, flaws);
        }
    }
}

fn authorizers(server: &Field<'_>, flaws: &mut Flaws) {
    let authorizers = server.get("authorizationConfig");
    if authorizers.is_set() {
        for (key, field) in server.get("extraArgs").entries() {
            if key == "authorization-mode" || key.starts_with("authorization-webhook-") {
                flaws.error(&field, "`authorizationConfig` says it already: remove one of the two");
            }
        }
    }
    for authorizer in authorizers.items() {
        let (kind, name) = (authorizer.get("type"), authorizer.get("name"));
        if name.is_empty() {
            flaws.error(&name, "an authorizer needs a name");
        }
        if !AUTHORIZERS.contains(&kind.text()) {
            flaws.error(
                &kind,
                format!("{:?} authorizes nothing: use one of {}", kind.text(), AUTHORIZERS.join(", ")),
            );
        }
    }
}

/// Says when a node would refuse the Kubernetes release of an image: it looks at the tag, `talosctl validate` does not.
pub fn advise_image(image: &Field<'_>, setting: Setting<'_>, flaws: &mut Flaws) {
    if image.is_empty() {
        return;
    }
    let tag = image.text().rsplit_once(":v").map(|(_, tag)| tag.split('@').next().unwrap_or(tag));
    let version = tag.and_then(|tag| KubernetesVersion::parse(tag).ok());
    let Some(version) = version else {
        let message =
            format!("{:?} has no Kubernetes version as its tag: want one such as :v1.34.1", image.text());
        flaws.advice(image, message);
        return;
    };
    if release::accepts_kubernetes(setting.talos, &version) == Some(false) {
        let (oldest, newest) = release::kubernetes_window(setting.talos).unwrap_or_default();
        let talos = setting.talos;
        flaws.advice(
            image,
            format!("a node refuses Kubernetes {version}: Talos {talos} takes 1.{oldest} to 1.{newest}"),
        );
    }
}
