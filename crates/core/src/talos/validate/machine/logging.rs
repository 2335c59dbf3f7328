//! Where logs are sent to.

use crate::talos::go::url;
use crate::talos::validate::Flaws;
use crate::talos::validate::field::Field;

/// Judges `machine.logging`.
pub fn validate(logging: &Field<'_>, flaws: &mut Flaws) {
    for destination in logging.get("destinations").items() {
        let (endpoint, format) = (destination.get("endpoint"), destination.get("format"));
        match url::parse(endpoint.text()) {
            Ok(url) if !url.host.is_empty() && ["tcp", "udp"].contains(&url.scheme.as_str()) => {}
            _ => flaws.error(
                &endpoint,
                "logs are sent to a URL such as tcp://10.0.0.20:5170 or udp://10.0.0.20:5170",
            ),
        }
        if format.text() != "json_lines" {
            flaws.error(&format, format!("{:?} is no format of logs: use json_lines", format.text()));
        }
    }
}
