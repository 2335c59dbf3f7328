//! The destinations of logs.

use crate::go::url;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges `machine.logging`.
pub(crate) fn validate(logging: &Field<'_>, issues: &mut DocumentIssues) {
    for destination in logging.get("destinations").items() {
        let (endpoint, format) = (destination.get("endpoint"), destination.get("format"));
        match url::parse(endpoint.text()) {
            Ok(url) if !url.host.is_empty() && ["tcp", "udp"].contains(&url.scheme.as_str()) => {}
            _ => issues.error(
                &endpoint,
                "logs are sent to a URL such as tcp://10.0.0.20:5170 or udp://10.0.0.20:5170",
            ),
        }
        if format.text() != "json_lines" {
            issues.error(&format, format!("{:?} is not a log format: use json_lines", format.text()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn logs_go_to_a_host_as_json() {
        let to = |endpoint: &str, format: &str| {
            let destinations = json!([{"endpoint": endpoint, "format": format}]);
            control_plane("1.12", &[("machine.logging.destinations", destinations)])
        };

        assert!(to("udp://10.0.0.20:5170/", "json_lines").is_empty());
        for wrong in ["", "https://10.0.0.20", "tcp:///x"] {
            assert_eq!(to(wrong, "json_lines"), ["error machine.logging.destinations[0].endpoint"]);
        }
        assert_eq!(to("tcp://a:1", "text"), ["error machine.logging.destinations[0].format"]);
    }
}
