//! KubeSpan.

use crate::go::netip;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// The smallest MTU an IPv6 link can have.
const SMALLEST_MTU: i64 = 1280;

/// Judges it.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    let mtu = document.get("mtu");
    if mtu.is_set() && mtu.number() < SMALLEST_MTU {
        issues.error(&mtu, format!("{} is too small: want at least {SMALLEST_MTU}", mtu.number()));
    }
    for filter in document.at(["filters", "endpoints"]).items() {
        if !netip::is_subnet_or_address(filter.text().strip_prefix('!').unwrap_or(filter.text())) {
            issues.error(
                &filter,
                format!("{:?} is not an address or prefix, with or without `!`", filter.text()),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn filters_are_prefixes() {
        check(
            "KubeSpanConfig",
            &[
                ("mtu: 1280\nfilters: {endpoints: ['0.0.0.0/0', '!10.0.0.0/8', 'fd00::1']}", &[]),
                (
                    "mtu: 1279\nfilters: {endpoints: [a, '!!10.0.0.0/8']}",
                    &["!mtu", "!filters.endpoints[0]", "!filters.endpoints[1]"],
                ),
            ],
        );
    }
}
