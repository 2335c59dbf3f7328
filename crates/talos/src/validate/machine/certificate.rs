//! Invalid certificate authorities. Talos accepts any bytes; the node then fails to start its services.

use crate::go::{base64, pem};
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Checks every certificate of the document.
pub(crate) fn advise(document: &Field<'_>, issues: &mut DocumentIssues) {
    let (machine, cluster) = (document.get("machine"), document.get("cluster"));
    let single =
        [machine.get("ca"), cluster.get("ca"), cluster.get("aggregatorCA"), cluster.at(["etcd", "ca"])];
    let accepted = machine.get("acceptedCAs").items().chain(cluster.get("acceptedCAs").items());
    let registries = machine.at(["registries", "config"]).entries().map(|(_, entry)| entry.at(["tls", "ca"]));
    for crt in single.into_iter().chain(accepted).map(|ca| ca.get("crt")).chain(registries) {
        if !crt.is_empty() && !is_certificate(crt.text()) {
            issues.advice(
                &crt,
                "not a certificate: want the base64 of a PEM block that begins with BEGIN CERTIFICATE",
            );
        }
    }
}

fn is_certificate(text: &str) -> bool {
    let bytes = base64::decode(text).unwrap_or_default();
    let blocks = str::from_utf8(&bytes).map(pem::blocks).unwrap_or_default();
    blocks.first().is_some_and(|block| block.label == "CERTIFICATE" && block.holds_certificate())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::{CERTIFICATE, control_plane};

    #[test]
    fn a_ca_has_to_be_a_certificate() {
        let parts = [("cluster.ca", json!({"crt": "bm90aGluZw==", "key": "a2V5"}))];

        assert_eq!(control_plane("1.13", &parts), ["advice cluster.ca.crt"]);
        assert!(
            control_plane("1.13", &[("cluster.ca", json!({"crt": CERTIFICATE, "key": "a2V5"}))]).is_empty()
        );
    }

    #[test]
    fn registry_authorities_are_checked() {
        let parts = [("machine.registries.config", json!({"r.example": {"tls": {"ca": "bm90aGluZw=="}}}))];

        assert_eq!(control_plane("1.13", &parts), ["advice machine.registries.config.r.example.tls.ca"]);
    }
}
