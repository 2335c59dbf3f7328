//! DHCP on a link.

use super::required;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges one, of either protocol.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("name"), issues);
    let raw = document.get("duidRaw");
    let by_duid = document.get("clientIdentifier").text() == "duid";
    match (by_duid, raw.is_empty()) {
        (true, true) => issues.error(&raw, "clientIdentifier is duid: set duidRaw"),
        (false, false) => issues.error(&raw, "this counts only with `clientIdentifier: duid`"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_duid_client_id_requires_a_duid() {
        for kind in ["DHCPv4Config", "DHCPv6Config"] {
            check(
                kind,
                &[
                    ("name: a", &[]),
                    ("name: a\nclientIdentifier: mac", &[]),
                    ("name: a\nclientIdentifier: duid\nduidRaw: '00:01'", &[]),
                    ("name: a\nclientIdentifier: duid", &["!duidRaw"]),
                    ("name: a\nduidRaw: '00:01'", &["!duidRaw"]),
                    ("routeMetric: 1", &["!name"]),
                ],
            );
        }
    }
}
