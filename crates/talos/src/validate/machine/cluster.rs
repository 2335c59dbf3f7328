//! The cluster as the old form describes it.

use super::{Role, cni, component, discovery, etcd, manifest};
use crate::go::endpoint;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// Judges `cluster`.
pub(crate) fn validate(cluster: &Field<'_>, role: Role, setting: Setting<'_>, issues: &mut DocumentIssues) {
    if !cluster.is_set() {
        issues.error(cluster, "the document has no `cluster`, which Talos requires");
        return;
    }
    control_plane(&cluster.get("controlPlane"), setting, issues);
    service_account(cluster, setting, issues);
    let domain = cluster.at(["network", "dnsDomain"]);
    if !domain.is_empty() && !is_dns_name(domain.text()) {
        issues
            .error(&domain, format!("{:?} is not a DNS name: want one such as cluster.local", domain.text()));
    }
    cni::validate(&cluster.at(["network", "cni"]), role, setting, issues);
    manifest::validate(cluster, issues);
    etcd::validate(&cluster.get("etcd"), role, issues);
    discovery::validate(cluster, issues);
    component::validate(cluster, role, setting, issues);
}

fn control_plane(control_plane: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    // From 1.14 on a KubeClusterConfig document can say it.
    if !control_plane.is_set() && setting.at_least(14) {
        return;
    }
    let field = control_plane.get("endpoint");
    if !field.is_set() {
        issues.error(
            &field,
            "the endpoint of the control plane is required: a URL such as https://10.0.0.10:6443",
        );
    } else if let Err(reason) = endpoint::check(field.text()) {
        issues.error(&field, format!("{:?} is not an endpoint: {reason}", field.text()));
    }
}

/// From 1.14 on `controlPlane` may be missing, but the issuer of service accounts follows from its endpoint.
fn service_account(cluster: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let account = cluster.get("serviceAccount");
    if setting.at_least(14) && account.is_set() && !cluster.at(["controlPlane", "endpoint"]).is_set() {
        let want = "the endpoint of the cluster must be in the same document: set `controlPlane.endpoint`, or use a \
                    KubeServiceAccountConfig document";
        issues.error(&account, want);
    }
}

/// Whether Talos takes it for a DNS name: underscores may be anywhere, and one may end it.
fn is_dns_name(name: &str) -> bool {
    let labels = |name: &str| name.split('.').all(is_label);
    name.len() - name.matches('.').count() <= 255
        && (labels(name) || name.strip_suffix(['.', '_']).is_some_and(labels))
}

fn is_label(label: &str) -> bool {
    let inside = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=63).contains(&label.len()) && label.bytes().all(inside) && !label.starts_with('-')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::validate::trial::control_plane;

    #[test]
    fn a_service_account_without_an_endpoint_is_rejected() {
        let parts =
            [("cluster.controlPlane", json!(null)), ("cluster.serviceAccount", json!({"key": "a2V5"}))];

        assert_eq!(control_plane("1.14", &parts), ["error cluster.serviceAccount"]);
        assert!(
            control_plane("1.14", &parts[..1]).is_empty() && control_plane("1.14", &parts[1..]).is_empty()
        );
    }

    #[test]
    fn dns_names_are_checked_as_talos_checks_them() {
        for right in ["cluster.local", "cluster.local.", "_a.b_", "a-", "x"] {
            assert!(is_dns_name(right), "{right}");
        }
        for wrong in ["", ".", "a..b", "-a", "a b", "under_score..local", "a.b.."] {
            assert!(!is_dns_name(wrong), "{wrong}");
        }
        assert!(is_dns_name(&format!("{}_", "a".repeat(63))) && !is_dns_name(&"a".repeat(64)));
    }
}
