//! Every folder under `findings/` is a cluster with mistakes: `ichor.yaml` in, everything the rules find out.
//!
//! `UPDATE_GOLDEN=1 cargo nextest run -p ichor-core findings::` rewrites `findings.txt`; the diff is reviewed. What one rule says
//! of a few lines is in `said.rs`.

use ichor_core::rules::Finding;

fn line(finding: &Finding) -> String {
    let Finding { rule, path, place, message, .. } = finding;
    format!("{}[{}] {}:{} {path}: {message}\n", rule.severity, rule.id, place.line, place.column)
}

#[test]
fn every_cluster_has_exactly_its_findings() {
    for case in ichor_testbed::cases("findings") {
        let found: String = ichor_testbed::findings_of_case(&case, "ichor.yaml").iter().map(line).collect();

        ichor_testbed::assert_same(&case.join("findings.txt"), &found);
    }
}
