//! Invalid trusted roots. Talos accepts any text for them.

use super::of_kind;
use crate::config::Config;
use crate::go::pem;
use crate::validate::DocumentIssues;

/// Checks every `TrustedRootsConfig` document.
pub(crate) fn advise(config: &Config, issues: &mut DocumentIssues) {
    for (nth, document) in of_kind(config, "TrustedRootsConfig") {
        issues.document = nth;
        let certificates = document.get("certificates");
        let blocks = pem::blocks(certificates.text());
        if blocks.is_empty()
            || !blocks.iter().all(|block| block.label == "CERTIFICATE" && block.holds_certificate())
        {
            issues
                .advice(&certificates, "not certificates: want PEM blocks that begin with BEGIN CERTIFICATE");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::Mode;
    use crate::validate::trial::judge;

    #[test]
    fn roots_are_certificates() {
        let pem = |label: &str| format!("-----BEGIN {label}-----\nMAYwADAAAwA=\n-----END {label}-----\n");
        let advice = |certificates: &str| {
            judge(
                "1.12",
                Mode::Metal,
                &[json!({"kind": "TrustedRootsConfig", "name": "a", "certificates": certificates})],
            )
        };

        assert!(advice(&format!("# ours\n{}{}", pem("CERTIFICATE"), pem("CERTIFICATE"))).is_empty());
        for wrong in ["trust me", &pem("PUBLIC KEY"), &(pem("CERTIFICATE") + &pem("RSA PRIVATE KEY"))] {
            assert_eq!(advice(wrong), ["advice certificates"], "{wrong}");
        }
    }
}
