//! DHCP on a link.

use super::required;
use crate::validate::Flaws;
use crate::validate::field::Field;

/// Judges one, of either protocol.
pub fn validate(document: &Field<'_>, flaws: &mut Flaws) {
    required(&document.get("name"), flaws);
    let raw = document.get("duidRaw");
    let by_duid = document.get("clientIdentifier").text() == "duid";
    match (by_duid, raw.is_empty()) {
        (true, true) => flaws.error(&raw, "clientIdentifier is duid: say which"),
        (false, false) => flaws.error(&raw, "this counts only with `clientIdentifier: duid`"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_duid_is_said_when_it_is_used() {
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
