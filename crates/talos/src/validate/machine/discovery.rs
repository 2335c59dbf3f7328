//! Discovery of cluster members, as the old form sets it up.

use crate::go::url;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges `cluster.discovery`.
pub(crate) fn validate(cluster: &Field<'_>, issues: &mut DocumentIssues) {
    let discovery = cluster.get("discovery");
    let service = discovery.at(["registries", "service"]);
    if !discovery.get("enabled").flag() || service.get("disabled").flag() {
        return;
    }
    let endpoint = service.get("endpoint");
    if !endpoint.is_empty() {
        match url::parse_request_uri(endpoint.text()) {
            Err(reason) => issues.error(&endpoint, format!("{:?} is not a URL: {reason}", endpoint.text())),
            Ok(url) if !["", "/"].contains(&url.path.as_str()) => {
                issues.error(&endpoint, "the endpoint of the discovery service has no path: remove it");
            }
            Ok(_) => {}
        }
    }
    for field in [cluster.get("id"), cluster.get("secret")].iter().filter(|field| field.is_empty()) {
        issues.error(
            field,
            "the discovery service identifies the cluster by this: set it, or disable the service",
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn the_service_knows_a_cluster_by_its_identity() {
        let service =
            |endpoint: &str| json!({"enabled": true, "registries": {"service": {"endpoint": endpoint}}});
        let judge = |endpoint: &str| control_plane("1.12", &[("cluster.discovery", service(endpoint))]);

        assert!(judge("https://discovery.example/").is_empty() && judge("").is_empty());
        for wrong in ["https://discovery.example/v1", "foo"] {
            assert_eq!(judge(wrong), ["error cluster.discovery.registries.service.endpoint"]);
        }
        let parts = [("cluster.discovery", json!({"enabled": true})), ("cluster.secret", json!(null))];
        assert_eq!(control_plane("1.12", &parts), ["error cluster.secret"]);
    }
}
