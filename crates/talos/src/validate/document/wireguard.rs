//! WireGuard links.

use super::{link, not_negative, required};
use crate::go::base64;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges one.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    let private = document.get("privateKey");
    if required(&private, issues) {
        key(&private, issues);
    }
    let port = document.get("listenPort");
    if !(0..=65535).contains(&port.number()) {
        issues.error(&port, "a port is between 0 and 65535");
    }
    for peer in document.get("peers").items() {
        let public = peer.get("publicKey");
        if required(&public, issues) {
            key(&public, issues);
        }
        let shared = peer.get("presharedKey");
        if !shared.is_empty() {
            key(&shared, issues);
        }
        not_negative(&peer.get("persistentKeepaliveInterval"), issues);
    }
    link::named(document, issues);
}

fn key(field: &Field<'_>, issues: &mut DocumentIssues) {
    if !base64::decode(field.text()).is_ok_and(|key| key.len() == 32) {
        issues.error(field, "this is not a WireGuard key: want 32 bytes in base64");
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn keys_are_32_bytes() {
        const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        let peers = format!(
            "name: w\nprivateKey: {KEY}\npeers: [{{publicKey: {KEY}, presharedKey: {KEY}, persistentKeepaliveInterval: 25s}}]"
        );
        let wrong = format!(
            "name: w\nprivateKey: AAAA\nlistenPort: 65536\npeers: [{{}}, {{publicKey: x, presharedKey: x}}, \
             {{publicKey: {KEY}, persistentKeepaliveInterval: -1s}}]"
        );

        check(
            "WireguardConfig",
            &[
                (&peers, &[]),
                ("mtu: 1", &["!privateKey", "!name"]),
                (
                    &wrong,
                    &[
                        "!privateKey",
                        "!listenPort",
                        "!peers[0].publicKey",
                        "!peers[1].publicKey",
                        "!peers[1].presharedKey",
                        "!peers[2].persistentKeepaliveInterval",
                    ],
                ),
            ],
        );
    }
}
