//! Manifests that a control plane applies.

use std::collections::BTreeSet;

use crate::go::endpoint;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges `cluster.inlineManifests` and `cluster.externalCloudProvider`.
pub(crate) fn validate(cluster: &Field<'_>, issues: &mut DocumentIssues) {
    let mut seen = BTreeSet::new();
    for name in cluster.get("inlineManifests").items().map(|manifest| manifest.get("name")) {
        if name.text().trim().is_empty() {
            issues.error(&name, "a manifest needs a name");
        }
        if !seen.insert(name.text()) {
            issues.error(&name, format!("{:?} is the name of a manifest before it", name.text()));
        }
    }
    cloud_provider(&cluster.get("externalCloudProvider"), issues);
}

fn cloud_provider(provider: &Field<'_>, issues: &mut DocumentIssues) {
    let manifests = provider.get("manifests");
    if !provider.get("enabled").flag() && !manifests.is_empty() {
        issues.error(
            &manifests,
            "manifests of a cloud provider that is off: set `enabled` to true, or remove them",
        );
        return;
    }
    for url in manifests.items() {
        if let Err(reason) = endpoint::check(url.text()) {
            issues.error(&url, format!("{:?} is not a URL of a manifest: {reason}", url.text()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn manifests_have_names_of_their_own() {
        let manifests = json!([{"name": "a"}, {"name": " "}, {"name": "a"}]);

        let want = ["error cluster.inlineManifests[1].name", "error cluster.inlineManifests[2].name"];
        assert_eq!(control_plane("1.12", &[("cluster.inlineManifests", manifests)]), want);
    }

    #[test]
    fn a_cloud_provider_that_is_off_has_no_manifests() {
        let provider = |enabled: bool| json!({"enabled": enabled, "manifests": ["https://a/b", "/b"]});
        let judge = |enabled| control_plane("1.12", &[("cluster.externalCloudProvider", provider(enabled))]);

        assert_eq!(judge(false), ["error cluster.externalCloudProvider.manifests"]);
        assert_eq!(judge(true), ["error cluster.externalCloudProvider.manifests[1]"]);
    }
}
