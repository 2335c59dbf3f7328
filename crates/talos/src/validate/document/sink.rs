//! Destinations of a machine's reports: events, kernel log, SideroLink.

use super::required;
use crate::go::{hostport, url};
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges the receiver of events.
pub fn events(document: &Field<'_>, issues: &mut DocumentIssues) {
    let endpoint = document.get("endpoint");
    if hostport::split(endpoint.text()).is_none() {
        issues
            .error(&endpoint, format!("{:?} is not a host and port, such as 10.0.0.1:8080", endpoint.text()));
    }
}

/// Judges a receiver of the kernel log.
pub(crate) fn kernel_log(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("name"), issues);
    let field = document.get("url");
    if let Some(url) = receiver(&field, ["tcp", "udp"], issues)
        && url.port().is_empty()
    {
        issues.error(&field, "the URL needs a port");
    }
}

/// Judges the API of SideroLink.
pub(crate) fn siderolink(document: &Field<'_>, issues: &mut DocumentIssues) {
    receiver(&document.get("apiUrl"), ["https", "grpc"], issues);
}

fn receiver(field: &Field<'_>, schemes: [&str; 2], issues: &mut DocumentIssues) -> Option<url::Url> {
    if !required(field, issues) {
        return None;
    }
    let url = url::parse(field.text()).unwrap_or_default();
    if !schemes.contains(&url.scheme.as_str()) {
        issues.error(field, format!("want a URL that begins with {}://", schemes.join(":// or ")));
    }
    if !["", "/"].contains(&url.path.as_str()) {
        issues.error(field, format!("the URL has a path, {}: leave it out", url.path));
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn events_go_to_a_host_and_port() {
        check(
            "EventSinkConfig",
            &[("endpoint: '[fd00::1]:8080'", &[]), ("endpoint: a", &["!endpoint"]), ("", &["!endpoint"])],
        );
    }

    #[test]
    fn the_kernel_log_goes_to_a_port() {
        check(
            "KmsgLogConfig",
            &[
                ("name: a\nurl: tcp://10.0.0.1:1/", &[]),
                ("name: a\nurl: https://10.0.0.1:1", &["!url"]),
                ("name: a\nurl: udp://10.0.0.1:1/x", &["!url"]),
                ("name: a\nurl: udp://10.0.0.1", &["!url"]),
                ("", &["!name", "!url"]),
            ],
        );
    }

    #[test]
    fn siderolink_has_a_host() {
        check(
            "SideroLinkConfig",
            &[
                ("apiUrl: grpc://a:1?x=y", &[]),
                ("apiUrl: http://a", &["!apiUrl"]),
                ("apiUrl: https://a/x", &["!apiUrl"]),
                ("uniqueToken: a", &["!apiUrl"]),
            ],
        );
    }
}
