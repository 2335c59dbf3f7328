//! Every folder under `findings/` is a cluster with mistakes: `ichor.yaml` in, all findings of the rules out.
//!
//! `UPDATE_GOLDEN=1 cargo nextest run -p ichor-core findings::` rewrites `findings.txt`; the diff is reviewed. Messages of
//! single rules about a few lines are tested in `rule_messages.rs`.

use ichor_core::rules::Finding;

fn line(finding: &Finding) -> String {
    let Finding { rule, issue, place, .. } = finding;
    format!("{}[{}] {}:{} {}\n", issue.severity, rule.id, place.line, place.column, issue.headline())
}

#[test]
fn every_cluster_has_exactly_its_findings() {
    for case in ichor_testbed::cases("findings") {
        let found: String = ichor_testbed::findings_of_case(&case, "ichor.yaml").iter().map(line).collect();

        ichor_testbed::assert_same(&case.join("findings.txt"), &found);
    }
}
