//! Subnets of pods and services that share addresses. Talos takes them; some services then cannot be reached.

use ipnet::IpNet;

use super::DocumentIssues;
use super::field::Field;

/// Warns of service subnets that overlap a pod subnet. Invalid prefixes are reported elsewhere.
pub(crate) fn advise(pods: &Field<'_>, services: &Field<'_>, issues: &mut DocumentIssues) {
    let pods: Vec<_> = pods.items().filter_map(|field| prefix(&field)).collect();
    for field in services.items() {
        let Some(service) = prefix(&field) else { continue };
        if let Some(pod) = pods.iter().find(|pod| overlap(pod, &service)) {
            issues.advice(&field, format!("{service} overlaps the pods' {pod}: want addresses of their own"));
        }
    }
}

fn prefix(field: &Field<'_>) -> Option<IpNet> {
    field.text().parse().ok()
}

fn overlap(one: &IpNet, other: &IpNet) -> bool {
    one.contains(&other.addr()) || other.contains(&one.addr())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn services_have_addresses_of_their_own() {
        let judged = |services: &str| {
            let parts = [
                ("cluster.network.podSubnets", json!(["fd00:10::/56", "10.244.0.0/16"])),
                ("cluster.network.serviceSubnets", json!([services])),
            ];
            control_plane("1.13", &parts)
        };

        assert!(judged("10.96.0.0/12").is_empty() && judged("fd00:11::/112").is_empty());
        for overlapping in ["10.244.128.0/20", "10.0.0.0/8", "fd00:10::/112"] {
            assert_eq!(judged(overlapping), ["advice cluster.network.serviceSubnets[0]"], "{overlapping}");
        }
    }
}
