//! A report for people.

use std::fmt::Write as _;

use super::{CheckOutcome, CheckResult, NodeChecks, RootCause, VerifyReport};
use crate::table;

const HEADING: [&str; 5] = ["NODE", "ROLE", "ADDRESS", "PASSED", "ROOT CAUSE"];
/// What the whole cluster is called among nodes.
const WHOLE: &str = "(cluster)";

impl VerifyReport {
    /// A row for each node and for the cluster, every cause in full, and what could not be seen.
    pub fn text(&self) -> String {
        let mut rows: Vec<_> = self.nodes.iter().map(row).collect();
        rows.push(cells(WHOLE, "", String::new(), &self.checks));
        let mut text = table::text(&HEADING, &rows);
        for (node, outcome) in self.outcomes() {
            if let CheckResult::Broken { evidence, remedy } = &outcome.verdict {
                let name = node.unwrap_or(WHOLE);
                let _ = write!(
                    text,
                    "\n\n{name}: {}\n  evidence: {}\n  remedy: {remedy}",
                    outcome.check,
                    indented(evidence)
                );
                let hidden =
                    self.hidden_by(&RootCause { check: outcome.check, node: node.map(str::to_owned) });
                if !hidden.is_empty() {
                    let _ = write!(text, "\n  skipped: {hidden}");
                }
            }
        }
        let mut gap = "\n";
        for (node, outcome) in self.outcomes() {
            if let CheckResult::Unknown { why } = &outcome.verdict {
                let _ = write!(
                    text,
                    "{gap}\n{}: {} unknown: {}",
                    node.unwrap_or(WHOLE),
                    outcome.check,
                    indented(why)
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

    /// The checks that a cause keeps from being looked at, those of other nodes with their names.
    fn hidden_by(&self, cause: &RootCause) -> String {
        let hidden = self.outcomes().filter(
            |(_, outcome)| matches!(&outcome.verdict, CheckResult::NotLookedAt { because } if because == cause),
        );
        let named = hidden.map(|(node, outcome)| match node {
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
    let holds = checks.iter().filter(|outcome| matches!(outcome.verdict, CheckResult::Holds { .. })).count();
    let first = checks.iter().find_map(|outcome| match &outcome.verdict {
        CheckResult::Broken { .. } => Some(outcome.check.to_owned()),
        CheckResult::NotLookedAt { because } => Some(
            because
                .node
                .as_ref()
                .map_or(because.check.to_owned(), |node| format!("{} of {node}", because.check)),
        ),
        CheckResult::Holds { .. } | CheckResult::Unknown { .. } => None,
    });
    let cells = [name.to_owned(), role.to_owned(), at, format!("{holds} of {}", checks.len())];
    cells.into_iter().chain([first.unwrap_or_default()]).collect()
}

/// Further lines stand under the first.
fn indented(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join("\n    ")
}
