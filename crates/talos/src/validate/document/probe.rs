//! Probes of the network.

use super::{not_negative, required};
use crate::go::url;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges a probe that opens a connection.
pub(crate) fn tcp(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("endpoint"), issues);
    common(document, issues);
}

/// Validates an HTTP probe.
pub(crate) fn http(document: &Field<'_>, issues: &mut DocumentIssues) {
    let page = document.get("url");
    if required(&page, issues) {
        let found = url::parse(page.text()).unwrap_or_default();
        if !["http", "https"].contains(&found.scheme.as_str()) || found.hostname().is_empty() {
            issues.error(&page, "want a URL with a host, such as https://example.com/");
        }
    }
    common(document, issues);
}

fn common(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("name"), issues);
    not_negative(&document.get("timeout"), issues);
    not_negative(&document.get("interval"), issues);
    let threshold = document.get("failureThreshold");
    if threshold.number() < 0 {
        issues.error(&threshold, format!("{} is negative", threshold.number()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_probe_has_a_name_and_a_place() {
        check(
            "TCPProbeConfig",
            &[
                ("name: a\nendpoint: a:1\ninterval: 1s", &[]),
                (
                    "timeout: -1s\ninterval: -1s\nfailureThreshold: -1",
                    &["!endpoint", "!name", "!timeout", "!interval", "!failureThreshold"],
                ),
            ],
        );
        check(
            "HTTPProbeConfig",
            &[
                ("name: a\nurl: https://a:1/x", &[]),
                ("name: a\nurl: ftp://a", &["!url"]),
                ("name: a\nurl: http:a", &["!url"]),
                ("name: a\nurl: http:///x", &["!url"]),
                ("timeout: -1s", &["!url", "!name", "!timeout"]),
            ],
        );
    }
}
