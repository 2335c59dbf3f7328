//! A verdict in a table, line by line while it comes, and as JSON.

use std::io::Write;

use ichor_core::lab::report::{outage, subject, time};
use ichor_core::lab::verdict::{Cut, Row, Verdict};
use serde_json::{Value, json};

use crate::style::{self, BOLD, DIM, ERROR, GOOD, NOTE};
use crate::table;

/// Says what came of one step.
pub(super) fn step(nth: usize, of: usize, row: &Row, verdict: &Verdict) {
    let (colour, answer) = judged(row);
    let what = match &row.without {
        Some(without) => format!("without the {} {}", without.kind, without.name),
        None => format!("whole fabric: {}", row.observed),
    };
    let lost = row.outage.as_ref().map(|_| {
        format!(
            ", outage {}, healing {}",
            outage(row.outage.as_ref(), verdict),
            outage(row.healing.as_ref(), verdict)
        )
    });
    style::say(&format!(
        "{DIM}{nth} of {of}{DIM:#}  {what}: {colour}{answer}{colour:#}{}",
        lost.unwrap_or_default()
    ));
}

fn judged(row: &Row) -> (anstyle::Style, &'static str) {
    if row.differences.is_empty() { (GOOD, "as foreseen") } else { (ERROR, "differs") }
}

/// Prints the table and every difference.
pub(super) fn print(verdict: &Verdict, out: &mut dyn Write) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = verdict
        .rows
        .iter()
        .map(|row| {
            vec![
                subject(row).to_owned(),
                row.expected.replace("; ", "\n"),
                row.observed.replace("; ", "\n"),
                outage(row.outage.as_ref(), verdict),
                outage(row.healing.as_ref(), verdict),
                judged(row).1.to_owned(),
            ]
        })
        .collect();
    table::print(out, &["WITHOUT", "EXPECTED", "OBSERVED", "OUTAGE", "HEALING", "VERDICT"], &rows)?;
    for row in verdict.rows.iter().filter(|row| !row.differences.is_empty()) {
        writeln!(out, "\n{ERROR}differs{ERROR:#}  without {BOLD}{}{BOLD:#}", subject(row))?;
        for line in &row.differences {
            writeln!(out, "         {line}")?;
        }
    }
    let cut = if verdict.cut == Cut::Silent { "silently" } else { "with their carrier" };
    writeln!(
        out,
        "\n{} flows, a packet each {} of each: no shorter outage is seen. Cables were cut {cut}.",
        verdict.flows,
        time(verdict.resolution, false)
    )?;
    if verdict.emulated {
        writeln!(
            out,
            "{NOTE}note:{NOTE:#} times marked with ~ are of an emulated machine, and say nothing of a real one"
        )?;
    }
    Ok(())
}

/// The verdict for machines.
pub(super) fn object(verdict: &Verdict) -> Value {
    let mut whole = json!(verdict);
    whole["holds"] = json!(verdict.holds());
    whole
}
