//! Problems of documents in combination.

mod conflict;
mod containers;
mod reference;
mod trust;
mod whole;

use super::field::Field;
use super::{DocumentIssues, Setting, image};
use crate::config::Config;

/// Documents of components that are of a release of Kubernetes. A node judges the release, `talosctl` does not.
const COMPONENTS: [&str; 5] = [
    "KubeletConfig",
    "KubeAPIServerConfig",
    "KubeControllerManagerConfig",
    "KubeSchedulerConfig",
    "KubeProxyConfig",
];

/// Validates a complete configuration.
pub(crate) fn validate(config: &Config, setting: Setting<'_>, issues: &mut DocumentIssues) {
    conflict::validate(config, setting, issues);
    if setting.at_least(14) {
        whole::validate(config, setting, issues);
        containers::validate(config, issues);
    }
    reference::advise(config, issues);
    trust::advise(config, issues);
    for kind in COMPONENTS {
        for (nth, document) in of_kind(config, kind) {
            issues.document = nth;
            image::advise(&document.get("image"), setting, issues);
        }
    }
}

/// The documents of a kind, each with its number.
fn of_kind<'c>(config: &'c Config, kind: &str) -> impl Iterator<Item = (usize, Field<'c>)> {
    let documents = config.documents.iter().enumerate();
    documents
        .filter(move |(_, document)| document.kind.is_some_and(|found| found.name == kind))
        .map(|(nth, document)| (nth, Field::root(&document.value)))
}

/// The document with `machine` and `cluster`, with its number.
fn machine(config: &Config) -> Option<(usize, Field<'_>)> {
    let nth = config.documents.iter().position(|document| document.kind.is_none())?;
    Some((nth, Field::root(&config.documents[nth].value)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::Mode;
    use crate::validate::trial::judge;

    #[test]
    fn component_images_need_a_supported_release() {
        let image = |tag: &str| json!({"kind": "KubeletConfig", "image": format!("ghcr.io/siderolabs/kubelet:{tag}")});
        let advice = |tag: &str| {
            let found = judge("1.14", Mode::Metal, &[image(tag)]);
            found.into_iter().filter(|line| line.starts_with("advice")).collect::<Vec<_>>()
        };

        assert_eq!(advice("v1.31.0"), ["advice image"]);
        assert!(advice("v1.37.0-rc.0").is_empty());
    }
}
