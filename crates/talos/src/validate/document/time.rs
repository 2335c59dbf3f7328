//! Time synchronisation.

use super::not_negative;
use crate::go::netip;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges it.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    not_negative(&document.get("bootTimeout"), issues);
    let (ntp, ptp) = (document.get("ntp"), document.get("ptp"));
    if ntp.is_set() && ptp.is_set() {
        issues.error(&ptp, "the time comes from ntp or from ptp: remove one of the two");
    }
    if ntp.get("useNTS").flag() {
        for server in ntp.get("servers").items().filter(|server| netip::is_ip(server.text())) {
            issues.error(
                &server,
                format!("NTS needs the names of servers, and {} is an address", server.text()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn time_has_one_source() {
        check(
            "TimeSyncConfig",
            &[
                ("bootTimeout: 1m0s\nntp: {servers: [10.0.0.1]}", &[]),
                (
                    "ntp: {servers: [time.example.com, 10.0.0.1, 'fd00::1'], useNTS: true}",
                    &["!ntp.servers[1]", "!ntp.servers[2]"],
                ),
                ("bootTimeout: -1s\nntp: {}\nptp: {devices: [/dev/ptp0]}", &["!bootTimeout", "!ptp"]),
            ],
        );
    }
}
