//! Registries of container images.

use super::{certificate, required};
use crate::go::{pem, url};
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// Judges a mirror.
pub(crate) fn mirror(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("name"), issues);
    for field in document.get("endpoints").items().map(|endpoint| endpoint.get("url")) {
        if required(&field, issues) {
            let scheme = url::parse(field.text()).unwrap_or_default().scheme;
            if !["http", "https"].contains(&scheme.as_str()) {
                issues.error(&field, "want a URL that begins with http:// or https://");
            }
        }
    }
}

/// Judges credentials.
pub(crate) fn auth(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("name"), issues);
    let ways = ["username", "identityToken", "auth"].map(|key| document.get(key));
    if ways.iter().filter(|field| !field.is_empty()).count() > 1 {
        issues.error(
            document,
            "more than one authentication method: keep one of username, identityToken and auth",
        );
    }
}

/// Judges how a registry is trusted.
pub(crate) fn tls(document: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    required(&document.get("name"), issues);
    let authority = document.get("ca");
    let is_authority =
        |block: &pem::Block<'_>| block.label == "CERTIFICATE" && !block.headers && block.holds_certificate();
    if !authority.is_empty() && !pem::blocks(authority.text()).iter().any(is_authority) {
        issues.error(&authority, "this is not a certificate in PEM");
    }
    let identity = document.get("clientIdentity");
    if !identity.is_set() {
        return;
    }
    if setting.at_least(14) {
        certificate::pair(&identity, false, issues);
        return;
    }
    let (certificate, key) = (identity.get("cert"), identity.get("key"));
    if !pem::blocks(certificate.text()).first().is_some_and(|block| block.holds_certificate()) {
        issues.error(&certificate, "this is not a certificate in PEM");
    }
    if !pem::blocks(key.text()).first().is_some_and(|block| block.holds_pkcs8()) {
        issues.error(&key, "this is not a private key of the form PKCS #8 in PEM");
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_by};

    #[test]
    fn a_mirror_is_reached_over_http() {
        check(
            "RegistryMirrorConfig",
            &[
                ("name: docker.io\nendpoints: [{url: https://a}, {url: http://a/b}]", &[]),
                ("endpoints: [{}, {url: ftp://a}]", &["!name", "!endpoints[0].url", "!endpoints[1].url"]),
            ],
        );
    }

    #[test]
    fn a_registry_has_one_authentication_method() {
        check(
            "RegistryAuthConfig",
            &[
                ("name: a\nusername: b\npassword: c", &[]),
                ("name: a", &[]),
                ("username: b\nidentityToken: c", &["!name", "!"]),
                ("name: a\nauth: b\nusername: c", &["!"]),
            ],
        );
    }

    #[test]
    fn a_registry_is_trusted_by_certificates() {
        let block = |label: &str, body: &str| {
            format!("\"-----BEGIN {label}-----\\n{body}\\n-----END {label}-----\\n\"")
        };
        let certificate = block("CERTIFICATE", "MAYwADAAAwA=");
        let (pkcs8, odd) = (block("PRIVATE KEY", "MAcCAQAwAAQA"), block("ODD KEY", "aGVsbG8="));
        let identity = |key: &str| format!("name: a\nclientIdentity: {{cert: {certificate}, key: {key}}}");

        for talos in ["v1.12.4", "v1.14.0"] {
            check_by(
                talos,
                "RegistryTLSConfig",
                &[
                    (&identity(&pkcs8), &[]),
                    (&format!("name: a\nca: {certificate}"), &[]),
                    (&format!("ca: {odd}"), &["!name", "!ca"]),
                    ("name: a\nclientIdentity: {}", &["!clientIdentity.cert", "!clientIdentity.key"]),
                ],
            );
        }
        check_by("v1.13.9", "RegistryTLSConfig", &[(&identity(&odd), &["!clientIdentity.key"])]);
        check_by("v1.14.0", "RegistryTLSConfig", &[(&identity(&odd), &[])]);
    }
}
