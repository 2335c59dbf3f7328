//! etcd.

use super::Role;
use crate::go::netip;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges `cluster.etcd`.
pub(crate) fn validate(etcd: &Field<'_>, role: Role, issues: &mut DocumentIssues) {
    if !etcd.is_set() {
        return;
    }
    if !role.is_control_plane() {
        issues.error(etcd, "only control planes run etcd: remove it here");
        return;
    }
    if !etcd.get("ca").is_set() {
        issues.error(&etcd.get("ca"), "etcd needs its CA");
    }
    let (subnet, advertised) = (etcd.get("subnet"), etcd.get("advertisedSubnets"));
    if !subnet.is_empty() && !advertised.is_empty() {
        issues.error(
            &subnet,
            "`subnet` and `advertisedSubnets` are not used together: move it to `advertisedSubnets`",
        );
    }
    let subnet = Some(subnet).filter(|subnet| !subnet.is_empty());
    for subnet in advertised.items().chain(etcd.get("listenSubnets").items()).chain(subnet) {
        if !netip::is_subnet_or_address(subnet.text().strip_prefix('!').unwrap_or(subnet.text())) {
            issues.error(&subnet, format!("{:?} is not a prefix or an address", subnet.text()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::{control_plane, worker};

    #[test]
    fn etcd_is_for_control_planes() {
        let etcd =
            json!({"subnet": "10.0.0.0/8", "advertisedSubnets": ["!10.0.0.1", "10"], "listenSubnets": ["x"]});
        let parts = [("cluster.etcd", etcd)];

        assert_eq!(worker("1.12", &parts), ["error cluster.etcd"]);
        let want = ["ca", "subnet", "advertisedSubnets[1]", "listenSubnets[0]"]
            .map(|key| format!("error cluster.etcd.{key}"));
        assert_eq!(control_plane("1.12", &parts), want);
    }
}
