//! The CNI, in the old form.

use super::Role;
use crate::go::endpoint;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// Validates `cluster.network.cni`. It is ignored on workers: control planes install the CNI.
pub(crate) fn validate(cni: &Field<'_>, role: Role, setting: Setting<'_>, issues: &mut DocumentIssues) {
    if !cni.is_set() || !role.is_control_plane() {
        return;
    }
    let urls = cni.get("urls");
    match cni.get("name").text() {
        name @ ("flannel" | "none") => {
            if !urls.is_empty() {
                issues.error(&urls, format!("{name} takes no URLs: they are for custom"));
            }
        }
        "custom" => custom(&urls, issues),
        name => issues.error(&cni.get("name"), format!("{name:?} is not a CNI: use flannel, custom or none")),
    }
    if ["custom", "none"].contains(&cni.get("name").text()) {
        not_flannel(&cni.get("flannel"), setting, issues);
    }
}

fn custom(urls: &Field<'_>, issues: &mut DocumentIssues) {
    if urls.is_empty() {
        issues.warning(urls, "a custom CNI is made of manifests: give their URLs, or use none");
    }
    for url in urls.items() {
        if let Err(reason) = endpoint::check(url.text()) {
            issues.error(&url, format!("{:?} is not a URL of a manifest: {reason}", url.text()));
        }
    }
}

fn not_flannel(flannel: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let policies = flannel.get("kubeNetworkPoliciesEnabled");
    if !flannel.get("extraArgs").is_empty() {
        issues.error(&flannel.get("extraArgs"), "arguments of flannel without flannel: remove them");
    }
    if setting.at_least(13) && policies.flag() {
        issues.error(&policies, "network policies of flannel without flannel: remove it");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::{control_plane, worker};

    #[test]
    fn a_cni_is_one_of_three() {
        let cni = |cni: serde_json::Value| control_plane("1.13", &[("cluster.network.cni", cni)]);

        assert!(cni(json!({"name": "flannel", "flannel": {"extraArgs": ["--iface=eth0"]}})).is_empty());
        assert_eq!(cni(json!({})), ["error cluster.network.cni.name"]);
        assert_eq!(cni(json!({"name": "none", "urls": ["https://a/b"]})), ["error cluster.network.cni.urls"]);
        assert_eq!(cni(json!({"name": "custom"})), ["warning cluster.network.cni.urls"]);
        assert_eq!(cni(json!({"name": "custom", "urls": ["/b"]})), ["error cluster.network.cni.urls[0]"]);
        assert!(worker("1.13", &[("cluster.network.cni", json!({"name": "cilium"}))]).is_empty());
    }

    #[test]
    fn flannel_settings_need_flannel() {
        let flannel = json!({"extraArgs": ["--iface=eth0"], "kubeNetworkPoliciesEnabled": true});
        let parts = [("cluster.network.cni", json!({"name": "none", "flannel": flannel}))];

        let args = "error cluster.network.cni.flannel.extraArgs";
        let policies = "error cluster.network.cni.flannel.kubeNetworkPoliciesEnabled";
        assert_eq!(control_plane("1.12", &parts), [args]);
        assert_eq!(control_plane("1.13", &parts), [args, policies]);
    }
}
