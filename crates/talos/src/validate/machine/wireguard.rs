//! WireGuard links of the old form.

use crate::go::{base64, hostport, netip};
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges `wireguard` of an interface.
pub(crate) fn validate(wireguard: &Field<'_>, issues: &mut DocumentIssues) {
    key(&wireguard.get("privateKey"), issues);
    for peer in wireguard.get("peers").items() {
        key(&peer.get("publicKey"), issues);
        let endpoint = peer.get("endpoint");
        if !endpoint.is_empty() && !hostport::has_port(endpoint.text()) {
            issues.error(
                &endpoint,
                format!("{:?} is not an endpoint: want one such as 192.0.2.1:51820", endpoint.text()),
            );
        }
        for prefix in peer.get("allowedIPs").items().filter(|prefix| !netip::is_cidr(prefix.text())) {
            issues
                .error(&prefix, format!("{:?} is not a prefix: want one such as 10.0.0.0/8", prefix.text()));
        }
    }
}

/// Keys are not repeated: one of them is secret.
fn key(field: &Field<'_>, issues: &mut DocumentIssues) {
    let length = base64::decode(field.text()).map(|bytes| bytes.len()).ok();
    if length != Some(32) {
        issues.error(field, "not a WireGuard key: want 32 bytes as base64");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn keys_endpoints_and_prefixes_are_checked() {
        let key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        let peers = json!([{"publicKey": key, "endpoint": "192.0.2.1:51820", "allowedIPs": ["10.0.0.0/8"]},
            {"publicKey": "AAAA", "endpoint": "192.0.2.1", "allowedIPs": ["10.0.0.0"]}]);
        let wireguard = json!({"privateKey": "", "peers": peers});
        let parts = [("machine.network.interfaces", json!([{"interface": "wg0", "wireguard": wireguard}]))];

        let at = "error machine.network.interfaces[0].wireguard";
        let want = ["privateKey", "peers[1].publicKey", "peers[1].endpoint", "peers[1].allowedIPs[0]"];
        assert_eq!(control_plane("1.12", &parts), want.map(|path| format!("{at}.{path}")));
    }
}
