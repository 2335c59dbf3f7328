//! KubeSpan as the old form sets it up.

use crate::go::netip;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// The least MTU: IPv6 requires it of every link.
const LEAST_MTU: i64 = 1280;

/// Judges `machine.network.kubespan`.
pub(crate) fn validate(
    kubespan: &Field<'_>,
    cluster: &Field<'_>,
    setting: Setting<'_>,
    issues: &mut DocumentIssues,
) {
    if !kubespan.get("enabled").flag() {
        return;
    }
    let mtu = kubespan.get("mtu");
    if mtu.number() != 0 && mtu.number() < LEAST_MTU {
        issues.error(&mtu, format!("KubeSpan needs an MTU of at least {LEAST_MTU}"));
    }
    for filter in kubespan.at(["filters", "endpoints"]).items() {
        if !netip::is_subnet_or_address(filter.text().strip_prefix('!').unwrap_or(filter.text())) {
            issues.error(&filter, format!("{:?} is not a prefix or an address", filter.text()));
        }
    }
    for network in kubespan.at(["filters", "excludeAdvertisedNetworks"]).items() {
        if !netip::is_prefix(network.text()) {
            issues.error(
                &network,
                format!("{:?} is not a prefix: want one such as 10.0.0.0/8", network.text()),
            );
        }
    }
    // From 1.14 on documents can say it too: that is judged with all of them together.
    if !setting.at_least(14) {
        needs_discovery(cluster, issues);
    }
}

fn needs_discovery(cluster: &Field<'_>, issues: &mut DocumentIssues) {
    let enabled = cluster.at(["discovery", "enabled"]);
    if !enabled.flag() {
        issues.error(&enabled, "KubeSpan finds its peers by discovery: set it to true");
    }
    for field in [cluster.get("id"), cluster.get("secret")].iter().filter(|field| field.is_empty()) {
        issues.error(field, "KubeSpan finds its peers by discovery, which needs this");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn kubespan_needs_discovery() {
        let parts = [
            ("machine.network.kubespan", json!({"enabled": true, "mtu": 1279})),
            ("cluster.id", json!(null)),
            ("cluster.secret", json!(null)),
        ];

        let mtu = "error machine.network.kubespan.mtu";
        let want = [mtu, "error cluster.discovery.enabled", "error cluster.id", "error cluster.secret"];
        assert_eq!(control_plane("1.13", &parts), want);
        assert_eq!(control_plane("1.14", &parts), [mtu, "error cluster.discovery"]);
    }

    #[test]
    fn filters_are_prefixes() {
        let filters = json!({"endpoints": ["!10.0.0.0/8", "::1", "10"], "excludeAdvertisedNetworks": ["10.0.0.0/8", "10.0.0.1"]});
        let kubespan = json!({"enabled": true, "filters": filters});
        let parts = [("machine.network.kubespan", kubespan), ("cluster.discovery.enabled", json!(true))];

        let want = ["endpoints[2]", "excludeAdvertisedNetworks[1]"];
        let want = want.map(|path| format!("error machine.network.kubespan.filters.{path}"));
        assert_eq!(control_plane("1.13", &parts), want);
    }
}
