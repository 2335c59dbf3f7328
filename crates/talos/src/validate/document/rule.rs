//! Rules of the ingress firewall.

use serde_json::Value;

use super::required;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges one.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("name"), issues);
    let selected = document.at(["portSelector", "ports"]);
    if required(&selected, issues) {
        ports(&selected, issues);
    }
    for ingress in document.get("ingress").items() {
        required(&ingress.get("subnet"), issues);
    }
}

fn ports(ports: &Field<'_>, issues: &mut DocumentIssues) {
    let mut ranges: Vec<(i64, i64, Field<'_>)> =
        ports.items().map(|field| range(&field)).map(|(range, field)| (range.0, range.1, field)).collect();
    ranges.sort_by_key(|(low, ..)| *low);
    for (low, high, field) in ranges.iter().filter(|(low, high, _)| low > high) {
        issues.error(field, format!("{low} is above {high}: turn them around"));
    }
    for pair in ranges.windows(2).filter(|pair| pair[1].0 <= pair[0].1) {
        issues.error(
            &pair[1].2,
            format!("the ports {} are among others already", pair[1].2.value().unwrap_or(&Value::Null)),
        );
    }
}

/// The first and last port of `80` or `80-90`.
fn range<'v>(field: &Field<'v>) -> ((i64, i64), Field<'v>) {
    let number = |text: &str| text.parse().unwrap_or_default();
    let range = match field.text().split_once('-') {
        Some((low, high)) => (number(low), number(high)),
        None if field.text().is_empty() => (field.number(), field.number()),
        None => (number(field.text()), number(field.text())),
    };
    (range, field.clone())
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_rule_has_ports_that_do_not_overlap() {
        check(
            "NetworkRuleConfig",
            &[
                (
                    "name: a\nportSelector: {ports: [80, 1000-2000], protocol: tcp}\ningress: [{subnet: 10.0.0.0/8}]",
                    &[],
                ),
                ("name: a\nportSelector: {ports: [1-2, 3, 2]}", &["!portSelector.ports[2]"]),
                ("name: a\nportSelector: {ports: [3, 3]}", &["!portSelector.ports[1]"]),
                ("name: a\nportSelector: {ports: [20-10]}", &["!portSelector.ports[0]"]),
                (
                    "portSelector: {protocol: tcp}\ningress: [{except: 10.0.0.0/8}]",
                    &["!name", "!portSelector.ports", "!ingress[0].subnet"],
                ),
            ],
        );
    }
}
