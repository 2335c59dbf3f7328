//! Routes and rules that belong to no link.

use super::required;
use crate::go::netip;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Priorities that are taken: the kernel's own three, and KubeSpan's.
const RESERVED: [u32; 4] = [0, 32500, 32766, 32767];

/// Judges a route to nowhere.
pub(crate) fn blackhole(document: &Field<'_>, issues: &mut DocumentIssues) {
    let name = document.get("name");
    if required(&name, issues) && !netip::is_prefix(name.text()) {
        issues.error(&name, format!("{:?} is not a prefix: the name is the prefix to drop", name.text()));
    }
}

/// Judges a rule that chooses a table.
pub fn rule(document: &Field<'_>, issues: &mut DocumentIssues) {
    let name = document.get("name");
    let digits = !name.is_empty() && name.text().bytes().all(|b| b.is_ascii_digit());
    match name.text().parse::<u32>().ok().filter(|_| digits) {
        Some(priority) if !RESERVED.contains(&priority) => {}
        Some(priority) => {
            issues.error(&name, format!("priority {priority} is taken: use another between 1 and 32765"));
        }
        None => {
            issues
                .error(&name, format!("{:?} is not a number: the name is the rule's priority", name.text()));
        }
    }
    let table = document.get("table");
    let by_table = ["", "unspec", "unicast"].contains(&document.get("action").text());
    if by_table
        && (!table.is_set() || table.text() == "unspec" || table.value().is_some_and(|value| *value == 0))
    {
        issues.error(&table, "set the table to look up, or use an action other than unicast");
    }
    if document.get("fwMask").number() != 0 && document.get("fwMark").number() == 0 {
        issues.error(&document.get("fwMark"), "a mask needs a mark");
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_blackhole_is_a_prefix() {
        check(
            "BlackholeRouteConfig",
            &[("name: 10.0.0.0/8", &[]), ("name: 10.0.0.1", &["!name"]), ("metric: 1", &["!name"])],
        );
    }

    #[test]
    fn a_routing_rule_has_a_free_priority_and_an_effect() {
        check(
            "RoutingRuleConfig",
            &[
                ("name: '1000'\ntable: 123", &[]),
                ("name: '1000'\naction: blackhole", &[]),
                ("name: '1000'\ntable: main\nfwMark: 1\nfwMask: 2", &[]),
                ("name: '0'\ntable: main", &["!name"]),
                ("name: '32500'\ntable: main", &["!name"]),
                ("name: '-1'\ntable: main", &["!name"]),
                ("name: '+1'\ntable: main", &["!name"]),
                ("name: x\naction: unicast\nfwMask: 1", &["!name", "!table", "!fwMark"]),
            ],
        );
    }
}
