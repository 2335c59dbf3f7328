//! Findings that the cluster file silences.

use super::{Finding, Findings, Rule, RuleContext, RuleGroup, Severity};
use crate::cluster::section::Silence;
use crate::model::Cluster;
use ichor_values::nearest;

/// The rules by subject.
pub(super) const GROUPS: &[RuleGroup] = &[("Silencing", &[UNUSED])];

const UNUSED: Rule = Rule {
    id: "silence-unused",
    severity: Severity::Warning,
    summary: "a silenced finding no longer occurs",
    failure: "The entry remains and hides a new mistake in the same place.",
    fix: "remove the entry from `silence`, or correct its `rule` or `at`",
    check: |_: &RuleContext<'_>, _: &mut Findings| {},
};

/// Marks silenced findings, and reports entries that silence nothing.
pub(super) fn apply(cluster: &Cluster, findings: &mut Vec<Finding>) {
    let Some(list) = cluster.file.silence.get() else { return };
    let mut unused = Vec::new();
    for (nth, silence) in list.0.iter().enumerate() {
        let why = silence.value.why.get().map(ToString::to_string).unwrap_or_default();
        let mut used = false;
        for finding in findings.iter_mut().filter(|finding| covers(&silence.value, finding)) {
            finding.silenced = Some(why.clone());
            used = true;
        }
        let id = silence.value.rule.get().map(ToString::to_string).unwrap_or_default();
        // Clashes between clusters appear only when their files are checked together.
        if !used && !super::clash::RULES.iter().any(|rule| rule.id == id) {
            let message = match super::find_rule(&id) {
                Some(_) => format!("`{id}` has no finding here"),
                None => match nearest(&id, super::all().map(|rule| rule.id)) {
                    Some(near) => format!("unknown rule `{id}`; did you mean `{near}`?"),
                    None => format!("unknown rule `{id}`"),
                },
            };
            unused.push(Finding::new(&UNUSED, format!("silence[{nth}]"), silence.place, message));
        }
    }
    findings.extend(unused);
}

/// Marks a finding if the file silences it.
pub(super) fn mark_finding(cluster: &Cluster, finding: &mut Finding) {
    let silence = cluster.file.silence.items().find(|silence| covers(&silence.value, finding));
    if let Some(silence) = silence {
        finding.silenced = Some(silence.value.why.get().map(ToString::to_string).unwrap_or_default());
    }
}

fn covers(silence: &Silence, finding: &Finding) -> bool {
    let same = silence.rule.get().is_some_and(|rule| rule.as_str() == finding.rule.id);
    let below = silence.at.get().is_none_or(|at| {
        let rest = finding.issue.subject.strip_prefix(at.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    });
    same && below
}
