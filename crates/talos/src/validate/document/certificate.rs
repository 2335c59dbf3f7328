//! Certificates and keys in documents, as PEM text.

use super::required;
use crate::go::pem;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges a certificate with its key; `load` is whether Talos looks inside.
pub fn pair(pair: &Field<'_>, load: bool, issues: &mut DocumentIssues) {
    let (certificate, key) = (pair.get("cert"), pair.get("key"));
    if required(&certificate, issues) {
        certificates(&certificate, issues);
        if load && !pem::blocks(certificate.text()).first().is_none_or(|block| block.holds_certificate()) {
            issues.error(&certificate, "this is not a certificate");
        }
    }
    if required(&key, issues) {
        private_key(&key, load, issues);
    }
}

/// Judges a text that holds certificates and no other blocks.
pub(crate) fn certificates(field: &Field<'_>, issues: &mut DocumentIssues) {
    let blocks = pem::blocks(field.text());
    if blocks.is_empty() {
        issues.error(field, "this is not a certificate in PEM");
    } else if let Some(other) = blocks.iter().find(|block| block.label != "CERTIFICATE") {
        issues.error(field, format!("this has a block {:?} among its certificates", other.label));
    }
}

/// Judges a private key.
pub(crate) fn private_key(field: &Field<'_>, load: bool, issues: &mut DocumentIssues) {
    match pem::blocks(field.text()).first() {
        None => issues.error(field, "this is not a key in PEM"),
        Some(block) if load && !block.holds_key() => {
            issues.error(field, format!("this is not a private key: its block is called {:?}", block.label));
        }
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_pair_is_a_certificate_and_its_key() {
        let block = |label: &str, body: &str| {
            format!("\"-----BEGIN {label}-----\\n{body}\\n-----END {label}-----\\n\"")
        };
        let certificate = block("CERTIFICATE", "MAYwADAAAwA=");
        let key = block("PRIVATE KEY", "MAcCAQAwAAQA");
        let of = |certificate: &str, key: &str| format!("issuingCA: {{cert: {certificate}, key: {key}}}");

        check(
            "KubeAPIServerCAConfig",
            &[
                (&of(&certificate, &key), &[]),
                ("", &[]),
                ("issuingCA: {}", &["!issuingCA.cert", "!issuingCA.key"]),
                (&of("a", "b"), &["!issuingCA.cert", "!issuingCA.key"]),
                (&of(&key, &certificate), &["!issuingCA.cert", "!issuingCA.cert", "!issuingCA.key"]),
                (
                    &of(&block("CERTIFICATE", "aGVsbG8="), &block("PRIVATE KEY", "aGVsbG8=")),
                    &["!issuingCA.cert", "!issuingCA.key"],
                ),
                (&format!("acceptedCAs: [{certificate}, a, {key}]"), &["!acceptedCAs[1]", "!acceptedCAs[2]"]),
            ],
        );
        check(
            "KubeAggregatorCAConfig",
            &[(&of(&certificate, &key), &[]), ("acceptedCAs: [a]", &["!issuingCA", "!acceptedCAs[0]"])],
        );
    }
}
