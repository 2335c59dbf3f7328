//! Features of Talos that a configuration switches on or off.

use super::Role;
use crate::talos::validate::field::Field;
use crate::talos::validate::{Flaws, Mode, Setting};

/// Judges `machine.features`.
pub fn validate(features: &Field<'_>, role: Role, setting: Setting<'_>, flaws: &mut Flaws) {
    host_dns(&features.get("hostDNS"), setting, flaws);
    api_access(features, role, setting, flaws);
    let order = features.get("nodeAddressSortAlgorithm");
    if !["", "v1", "v2"].contains(&order.text().to_lowercase().as_str()) {
        flaws.error(&order, format!("{:?} is no way to sort addresses: use v1 or v2", order.text()));
    }
}

fn host_dns(host_dns: &Field<'_>, setting: Setting<'_>, flaws: &mut Flaws) {
    let (enabled, forwarded) = (host_dns.get("enabled"), host_dns.get("forwardKubeDNSToHost"));
    // From 1.14 on a document can say it too: that is judged with all of them together.
    if setting.mode == Mode::Container && !setting.at_least(14) {
        for field in [&enabled, &forwarded] {
            if !field.flag() {
                flaws.error(field, "a container resolves names through the host: set it to true");
            }
        }
    }
    if setting.at_least(13) && forwarded.flag() && !enabled.flag() {
        flaws.error(&forwarded, "there is nothing to forward to: set `hostDNS.enabled` to true");
    }
}

fn api_access(features: &Field<'_>, role: Role, setting: Setting<'_>, flaws: &mut Flaws) {
    let access = features.get("kubernetesTalosAPIAccess");
    if !access.get("enabled").flag() {
        return;
    }
    if !setting.at_least(12) && !features.get("rbac").flag() {
        flaws.error(
            &features.get("rbac"),
            "access to the Talos API from Kubernetes needs RBAC: set it to true",
        );
    }
    if !role.is_control_plane() {
        flaws.error(&access, "only control planes give access to the Talos API from Kubernetes");
    }
    let known = roles(setting);
    for role in access.get("allowedRoles").items().filter(|role| !known.contains(&role.text())) {
        flaws.error(&role, format!("{:?} is no role: use one of {}", role.text(), known.join(", ")));
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
