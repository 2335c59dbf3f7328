//! Cluster discovery.

use super::required;
use crate::go::{base64, url};
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Validates the identity of a cluster.
pub fn identity(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("clusterID"), issues);
    let secret = document.get("clusterSecret");
    if required(&secret, issues) && !base64::decode(secret.text()).is_ok_and(|secret| secret.len() == 32) {
        issues.error(&secret, "want 32 bytes in base64");
    }
}

/// Judges a service that members ask.
pub fn service(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("name"), issues);
    let endpoint = document.get("endpoint");
    if required(&endpoint, issues) {
        let url = url::parse(endpoint.text()).unwrap_or_default();
        if !["http", "https", "grpc"].contains(&url.scheme.as_str()) || url.hostname().is_empty() {
            issues.error(&endpoint, "want a URL with a host, such as https://discovery.talos.dev/");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_cluster_has_an_id_and_a_secret() {
        check(
            "DiscoveryIdentityConfig",
            &[
                ("clusterID: a\nclusterSecret: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", &[]),
                ("clusterID: a\nclusterSecret: AAAA", &["!clusterSecret"]),
                ("", &["!clusterID", "!clusterSecret"]),
            ],
        );
    }

    #[test]
    fn a_service_is_a_url() {
        check(
            "DiscoveryServiceConfig",
            &[
                ("name: a\nendpoint: https://discovery.talos.dev/", &[]),
                ("name: a\nendpoint: tcp://a", &["!endpoint"]),
                ("name: a\nendpoint: discovery.talos.dev", &["!endpoint"]),
                ("name: a\nendpoint: https://", &["!endpoint"]),
                ("", &["!name", "!endpoint"]),
            ],
        );
    }
}
