//! Routes of an interface of the old form.

use crate::go::netip;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges `routes` of an interface.
pub(crate) fn validate(routes: &Field<'_>, issues: &mut DocumentIssues) {
    for route in routes.items() {
        let (network, gateway, source) = (route.get("network"), route.get("gateway"), route.get("source"));
        if network.is_empty() && gateway.is_empty() {
            issues.error(&route, "a route needs `network` or `gateway`");
        }
        if !network.is_empty() && !netip::is_cidr(network.text()) {
            issues.error(
                &network,
                format!("{:?} is not a prefix: want one such as 10.0.0.0/8", network.text()),
            );
        }
        for field in [gateway, source] {
            if !field.is_empty() && !netip::is_ip(field.text()) {
                issues.error(
                    &field,
                    format!("{:?} is not an address: want one such as 10.0.0.1", field.text()),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn a_route_leads_somewhere() {
        let routes = json!([{"gateway": "10.0.0.1"}, {"network": "10.0.0.0/8", "source": "x"}, {}, null,
            {"network": "10.0.0.0", "gateway": "10.0.0.1/8"}]);
        let parts = [("machine.network.interfaces", json!([{"interface": "eth0", "routes": routes}]))];

        let at = "error machine.network.interfaces[0].routes";
        let want =
            ["[1].source", "[2]", "[3]", "[4].network", "[4].gateway"].map(|path| format!("{at}{path}"));
        assert_eq!(control_plane("1.12", &parts), want);
    }
}
