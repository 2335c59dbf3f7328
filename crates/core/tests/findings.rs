//! Every folder under `findings/` is a cluster with mistakes: `ichor.yaml` in, `findings.txt` out.
//!
//! `UPDATE_GOLDEN=1 cargo test --test findings` rewrites `findings.txt`; the diff is reviewed. Only findings of
//! [`SUBJECTS`] count: what other rules say about these clusters is theirs.
#![expect(clippy::disallowed_methods, reason = "the cases are files")]

mod common;

use std::fs;
use std::path::Path;

use ichor_core::rules::attachment::Attachments;
use ichor_core::rules::{self, Context};
use ichor_core::{model, plan};

const SUBJECTS: [&str; 13] = [
    "Links",
    "DHCP",
    "Installation",
    "Boot",
    "Images",
    "Schematics",
    "Patches",
    "What patches bring",
    "Secrets",
    "Overlay",
    "Pod network",
    "MTU",
    "Draining",
];

/// What the rules of [`SUBJECTS`] say about a case, a line for each finding.
fn findings(case: &Path) -> String {
    let loaded = common::load_case(case, "ichor.yaml");
    let cluster = model::validate(loaded.file, loaded.problems)
        .unwrap_or_else(|problems| panic!("{}: {problems:#?}", case.display()));
    let plan = plan::plan(&cluster);
    let attachments = Attachments::gather(&cluster, |path| {
        fs::read_to_string(case.join(path)).map_err(|_| "not there".to_owned())
    });
    let context = Context { cluster: &cluster, plan: &plan, attachments: &attachments };
    let ours = |rule: &rules::Rule| {
        let groups = rules::GROUPS.iter().filter(|(subject, _)| SUBJECTS.contains(subject));
        groups.flat_map(|(_, rules)| rules.iter()).any(|known| known.id == rule.id)
    };
    let lines = rules::check(&context).into_iter().filter(|finding| ours(finding.rule)).map(|finding| {
        let (rule, place) = (finding.rule, finding.place);
        let head = format!("{}[{}] {}:{}", rule.severity, rule.id, place.line, place.column);
        format!("{head} {}: {}\n", finding.path, finding.message)
    });
    lines.collect()
}

#[test]
fn every_cluster_has_exactly_its_findings() {
    for case in common::cases("findings") {
        let expected = case.join("findings.txt");
        let got = findings(&case);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&expected, &got).unwrap();
        }

        let want = fs::read_to_string(&expected).unwrap_or_default();

        assert_eq!(got, want, "{}", case.display());
    }
}
