//! Features of Talos that a configuration switches on or off.

use super::Role;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Mode, Setting};

/// Judges `machine.features`.
pub(crate) fn validate(features: &Field<'_>, role: Role, setting: Setting<'_>, issues: &mut DocumentIssues) {
    host_dns(&features.get("hostDNS"), setting, issues);
    api_access(features, role, setting, issues);
    let order = features.get("nodeAddressSortAlgorithm");
    if !["", "v1", "v2"].contains(&order.text().to_lowercase().as_str()) {
        issues.error(&order, format!("{:?} is not an address sort algorithm: use v1 or v2", order.text()));
    }
}

fn host_dns(host_dns: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let (enabled, forwarded) = (host_dns.get("enabled"), host_dns.get("forwardKubeDNSToHost"));
    // From 1.14 on a document can say it too: that is judged with all of them together.
    if setting.mode == Mode::Container && !setting.at_least(14) {
        for field in [&enabled, &forwarded] {
            if !field.flag() {
                issues.error(field, "a container resolves names through the host: set it to true");
            }
        }
    }
    if setting.at_least(13) && forwarded.flag() && !enabled.flag() {
        issues.error(&forwarded, "there is nothing to forward to: set `hostDNS.enabled` to true");
    }
}

fn api_access(features: &Field<'_>, role: Role, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let access = features.get("kubernetesTalosAPIAccess");
    if !access.get("enabled").flag() {
        return;
    }
    if !setting.at_least(12) && !features.get("rbac").flag() {
        issues.error(
            &features.get("rbac"),
            "access to the Talos API from Kubernetes needs RBAC: set it to true",
        );
    }
    if !role.is_control_plane() {
        issues.error(&access, "only control planes give access to the Talos API from Kubernetes");
    }
    let known = roles(setting);
    for role in access.get("allowedRoles").items().filter(|role| !known.contains(&role.text())) {
        issues.error(&role, format!("{:?} is not a role: use one of {}", role.text(), known.join(", ")));
    }
}

/// The roles of the Talos API.
fn roles(setting: Setting<'_>) -> Vec<&'static str> {
    let mut roles = vec!["os:admin", "os:operator", "os:reader", "os:etcd:backup", "os:impersonator"];
    if setting.at_least(13) {
        roles.extend(["os:image:verifier", "os:meta:writer"]);
    }
    roles
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::{control_plane, worker};

    #[test]
    fn host_dns_that_is_off_is_not_forwarded_to() {
        let off = [("machine.features.hostDNS.enabled", json!(false))];

        assert!(control_plane("1.12", &off).is_empty());
        assert_eq!(control_plane("1.13", &off), ["error machine.features.hostDNS.forwardKubeDNSToHost"]);
    }

    #[test]
    fn access_to_the_api_needs_a_control_plane_and_known_roles() {
        let access = json!({"enabled": true, "allowedRoles": ["os:reader", "os:meta:writer", "os:nobody"]});
        let parts = [("machine.features.kubernetesTalosAPIAccess", access)];
        let roles = "error machine.features.kubernetesTalosAPIAccess.allowedRoles";

        let want = ["error machine.features.rbac".to_owned(), format!("{roles}[1]"), format!("{roles}[2]")];
        assert_eq!(control_plane("1.11", &parts), want);
        assert_eq!(control_plane("1.13", &parts), [format!("{roles}[2]")]);
        let want = ["error machine.features.kubernetesTalosAPIAccess".to_owned(), format!("{roles}[2]")];
        assert_eq!(worker("1.14", &parts), want);
    }

    #[test]
    fn addresses_are_sorted_in_one_of_two_ways() {
        let by =
            |word: &str| control_plane("1.12", &[("machine.features.nodeAddressSortAlgorithm", json!(word))]);

        assert!(by("v1").is_empty() && by("V2").is_empty());
        assert_eq!(by("v3"), ["error machine.features.nodeAddressSortAlgorithm"]);
    }
}
