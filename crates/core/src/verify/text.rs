//! The report as text.

use std::fmt::Write as _;

use super::{CheckOutcome, CheckResult, NodeChecks, RootCause, VerifyReport};
use crate::table;

const HEADING: [&str; 5] = ["NODE", "ROLE", "ADDRESS", "PASSED", "ROOT CAUSE"];
/// The name of the cluster in the list of nodes.
const CLUSTER: &str = "(cluster)";

impl VerifyReport {
    /// Formats a row per node and one for the cluster, the details of every root cause, and unknown results.
    pub fn to_text(&self) -> String {
        let mut rows: Vec<_> = self.nodes.iter().map(row).collect();
        rows.push(cells(CLUSTER, "", String::new(), &self.checks));
        let mut text = table::text(&HEADING, &rows);
        for (node, outcome) in self.outcomes() {
            if let CheckResult::Failed { evidence, remedy } = &outcome.verdict {
                let name = node.unwrap_or(CLUSTER);
                let _ = write!(
                    text,
                    "\n\n{name}: {}\n  evidence: {}\n  remedy: {remedy}",
                    outcome.check,
                    indent(evidence)
                );
                let skipped =
                    self.skipped_by(&RootCause { check: outcome.check, node: node.map(str::to_owned) });
                if !skipped.is_empty() {
                    let _ = write!(text, "\n  skipped: {skipped}");
                }
            }
        }
        let mut gap = "\n";
        for (node, outcome) in self.outcomes() {
            if let CheckResult::Unknown { why } = &outcome.verdict {
                let _ = write!(
                    text,
                    "{gap}\n{}: {} unknown: {}",
                    node.unwrap_or(CLUSTER),
                    outcome.check,
                    indent(why)
                );
                gap = "";
            }
        }
        text
    }

    fn outcomes(&self) -> impl Iterator<Item = (Option<&str>, &CheckOutcome)> {
        let of_nodes = self
            .nodes
            .iter()
            .flat_map(|node| node.checks.iter().map(|outcome| (Some(node.name.as_str()), outcome)));
        of_nodes.chain(self.checks.iter().map(|outcome| (None, outcome)))
    }

    /// The checks that a root cause skips, with the node's name for those of other nodes.
    fn skipped_by(&self, cause: &RootCause) -> String {
        let skipped = self.outcomes().filter(
            |(_, outcome)| matches!(&outcome.verdict, CheckResult::Skipped { because } if because == cause),
        );
        let named = skipped.map(|(node, outcome)| match node {
            Some(node) if cause.node.as_deref() != Some(node) => format!("{} of {node}", outcome.check),
            _ => outcome.check.to_owned(),
        });
        named.collect::<Vec<_>>().join(", ")
    }
}

fn row(node: &NodeChecks) -> Vec<String> {
    let at = node.at.map_or_else(String::new, |at| at.to_string());
    cells(&node.name, node.role, at, &node.checks)
}

fn cells(name: &str, role: &str, at: String, checks: &[CheckOutcome]) -> Vec<String> {
    let passed =
        checks.iter().filter(|outcome| matches!(outcome.verdict, CheckResult::Passed { .. })).count();
    let first = checks.iter().find_map(|outcome| match &outcome.verdict {
        CheckResult::Failed { .. } => Some(outcome.check.to_owned()),
        CheckResult::Skipped { because } => Some(
            because
                .node
                .as_ref()
                .map_or(because.check.to_owned(), |node| format!("{} of {node}", because.check)),
        ),
        CheckResult::Passed { .. } | CheckResult::Unknown { .. } => None,
    });
    let cells = [name.to_owned(), role.to_owned(), at, format!("{passed} of {}", checks.len())];
    cells.into_iter().chain([first.unwrap_or_default()]).collect()
}

/// Indents further lines.
fn indent(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join("\n    ")
}
