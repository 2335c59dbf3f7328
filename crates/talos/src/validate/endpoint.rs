//! The endpoint of the Kubernetes API, beyond Talos' own rules.

use super::DocumentIssues;
use super::field::Field;

/// Checks its scheme: Talos accepts any, and no server responds without TLS.
pub(crate) fn advise(endpoint: &Field<'_>, issues: &mut DocumentIssues) {
    let scheme = endpoint.text().split_once("://").map(|(scheme, _)| scheme);
    if scheme.is_some_and(|scheme| !scheme.eq_ignore_ascii_case("https")) {
        issues.advice(
            endpoint,
            "the Kubernetes API supports only https: want a URL such as https://10.0.0.10:6443",
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::worker;

    #[test]
    fn an_endpoint_is_https() {
        let judged = |url: &str| worker("1.13", &[("cluster.controlPlane.endpoint", json!(url))]);

        assert!(judged("https://10.0.0.1:6443").is_empty() && judged("HTTPS://10.0.0.1:6443").is_empty());
        assert_eq!(judged("http://10.0.0.1:6443"), ["advice cluster.controlPlane.endpoint"]);
    }
}
