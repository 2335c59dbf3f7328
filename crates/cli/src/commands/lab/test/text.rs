//! The test result: progress lines, a table and JSON.

use std::io::Write;

use ichor_core::lab::comparison::{Comparison, CutMode, FailureComparison};
use ichor_core::lab::report::{failure_name, format_outage, format_time};
use serde_json::{Value, json};

use crate::style::{self, BOLD, DIM, ERROR, GOOD, NOTE};
use crate::table;

/// Prints the result of one trial.
pub(super) fn print_step(nth: usize, of: usize, row: &FailureComparison, verdict: &Comparison) {
    let (colour, answer) = result(row);
    let what = match &row.without {
        Some(without) => format!("without the {} {}", without.kind, without.name),
        None => format!("intact fabric: {}", row.observed),
    };
    let lost = row.outage.as_ref().map(|_| {
        format!(
            ", outage {}, recovery {}",
            format_outage(row.outage.as_ref(), verdict),
            format_outage(row.healing.as_ref(), verdict)
        )
    });
    style::say(&format!(
        "{DIM}{nth} of {of}{DIM:#}  {what}: {colour}{answer}{colour:#}{}",
        lost.unwrap_or_default()
    ));
}

fn result(row: &FailureComparison) -> (anstyle::Style, &'static str) {
    if row.differences.is_empty() { (GOOD, "as predicted") } else { (ERROR, "differs") }
}

/// Prints the table and every difference.
pub(super) fn print(verdict: &Comparison, out: &mut dyn Write) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = verdict
        .rows
        .iter()
        .map(|row| {
            vec![
                failure_name(row).to_owned(),
                row.expected.replace("; ", "\n"),
                row.observed.replace("; ", "\n"),
                format_outage(row.outage.as_ref(), verdict),
                format_outage(row.healing.as_ref(), verdict),
                result(row).1.to_owned(),
            ]
        })
        .collect();
    table::print(out, &["FAILURE", "EXPECTED", "OBSERVED", "OUTAGE", "RECOVERY", "RESULT"], &rows)?;
    for row in verdict.rows.iter().filter(|row| !row.differences.is_empty()) {
        writeln!(out, "\n{ERROR}differs{ERROR:#}  without {BOLD}{}{BOLD:#}", failure_name(row))?;
        for line in &row.differences {
            writeln!(out, "         {line}")?;
        }
    }
    let cut = if verdict.cut == CutMode::Silent { "silently" } else { "with loss of carrier" };
    writeln!(
        out,
        "\n{} flows with a packet every {}, which is the resolution of outages. Cables were cut {cut}.",
        verdict.flows,
        format_time(verdict.resolution, false)
    )?;
    if verdict.emulated {
        writeln!(
            out,
            "{NOTE}note:{NOTE:#} times marked with ~ are of an emulated machine and not representative"
        )?;
    }
    Ok(())
}

/// The test result as JSON.
pub(super) fn object(verdict: &Comparison) -> Value {
    let mut document = json!(verdict);
    document["ok"] = json!(verdict.is_match());
    document
}
