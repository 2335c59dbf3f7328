//! A node, as Kubernetes sees it.

use crate::go::netip;
use crate::label::{self, LabelError};
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges it.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    for subnet in document.at(["nodeIP", "validSubnets"]).items() {
        if !netip::is_subnet_or_address(subnet.text().strip_prefix('!').unwrap_or(subnet.text())) {
            issues.error(
                &subnet,
                format!("{:?} is not an address or prefix, with or without `!`", subnet.text()),
            );
        }
    }
    for (name, field) in document.get("labels").entries() {
        tell(&field, label::name(name).and(label::value(field.text())), issues);
    }
    let annotations = document.get("annotations");
    for (name, field) in annotations.entries() {
        tell(&field, label::annotation(name), issues);
    }
    let size: usize = annotations.entries().map(|(name, field)| name.len() + field.text().len()).sum();
    if size > label::MOST_ANNOTATIONS {
        issues.error(&annotations, format!("they have more than {} bytes together", label::MOST_ANNOTATIONS));
    }
    for (name, field) in document.get("taints").entries() {
        tell(&field, label::name(name).and(label::taint(field.text())), issues);
    }
}

fn tell(field: &Field<'_>, judged: Result<(), LabelError>, issues: &mut DocumentIssues) {
    if let Err(error) = judged {
        issues.error(field, error.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::check;

    #[test]
    fn a_node_is_labelled_as_kubernetes_wants() {
        let big = format!("annotations: {{a: {}}}", "a".repeat(256 << 10));
        check(
            "KubeNodeConfig",
            &[
                (
                    "nodeIP: {validSubnets: [10.0.0.0/8, '!10.0.0.1']}\nlabels: {a/b: c}\ntaints: {a: 'b:NoSchedule'}",
                    &[],
                ),
                ("nodeIP: {validSubnets: [x]}", &["!nodeIP.validSubnets[0]"]),
                ("labels: {a_: b, c: d_}", &["!labels.a_", "!labels.c"]),
                (
                    "annotations: {a_: b, talos.dev/owned-labels: c}",
                    &["!annotations.a_", "!annotations.talos.dev/owned-labels"],
                ),
                ("taints: {a: b}", &["!taints.a"]),
                (&big, &["!annotations"]),
            ],
        );
    }
}
