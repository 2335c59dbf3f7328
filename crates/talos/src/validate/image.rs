//! Images of Kubernetes' components, and the release in their tags.

use super::field::Field;
use super::{DocumentIssues, Setting};
use crate::release;
use ichor_values::KubernetesVersion;

/// Reports an image whose Kubernetes release a node would reject: it checks the tag, `talosctl validate` does not.
pub(crate) fn advise(image: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    if image.is_empty() {
        return;
    }
    let tag = image.text().rsplit_once(":v").map(|(_, tag)| tag.split('@').next().unwrap_or(tag));
    let version = tag.and_then(version);
    let Some(version) = version else {
        let message =
            format!("{:?} has no Kubernetes version as its tag: want one such as :v1.34.1", image.text());
        issues.advice(image, message);
        return;
    };
    if release::accepts_kubernetes(setting.talos, &version) == Some(false) {
        let (oldest, newest) = release::kubernetes_window(setting.talos).unwrap_or_default();
        let talos = setting.talos;
        issues.advice(
            image,
            format!("a node refuses Kubernetes {version}: Talos {talos} takes 1.{oldest} to 1.{newest}"),
        );
    }
}

/// A version, as Talos reads it from a tag: the patch number may be missing.
fn version(tag: &str) -> Option<KubernetesVersion> {
    KubernetesVersion::parse(tag).or_else(|_| KubernetesVersion::parse(&format!("{tag}.0"))).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn a_node_takes_some_kubernetes_releases() {
        let image = |tag: &str| {
            control_plane("1.13", &[("machine.kubelet.image", json!(format!("k.example:5000/kubelet{tag}")))])
        };

        assert!(
            image(":v1.36.0-fat").is_empty()
                && image(":v1.36").is_empty()
                && image(":v1.31.2@sha256:00").is_empty()
        );
        for odd in [":v1.30.0", ":v1.37.0", ":latest", "@sha256:00", ""] {
            assert_eq!(image(odd), ["advice machine.kubelet.image"], "{odd}");
        }
    }
}
