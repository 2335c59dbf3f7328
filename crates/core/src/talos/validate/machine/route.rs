//! Routes of an interface of the old form.

use crate::talos::go::netip;
use crate::talos::validate::Flaws;
use crate::talos::validate::field::Field;

/// Judges `routes` of an interface.
pub fn validate(routes: &Field<'_>, flaws: &mut Flaws) {
    for route in routes.items() {
        let (network, gateway, source) = (route.get("network"), route.get("gateway"), route.get("source"));
        if network.is_empty() && gateway.is_empty() {
            flaws.error(&route, "a route needs `network` or `gateway`");
        }
        if !network.is_empty() && !netip::is_cidr(network.text()) {
            flaws.error(
                &network,
                format!("{:?} is not a prefix: want one such as 10.0.0.0/8", network.text()),
            );
        }
        for field in [gateway, source] {
            if !field.is_empty() && !netip::is_ip(field.text()) {
                flaws.error(
                    &field,
                    format!("{:?} is not an address: want one such as 10.0.0.1", field.text()),
                );
            }
        }
    }
}
