//! The inspection report as text.

use std::io::{self, Write};

use ichor_image::inspect::{BootOutcome, ConfigSource, ConfigSourceResult, Inspection, MediaProblem};
use ichor_values::TalosVersion;

use crate::{style, table};

/// Longest printed line of a configuration.
const MAX_LINE: usize = 90;

pub(super) fn print(out: &mut dyn Write, inspection: &Inspection, talos: &TalosVersion) -> io::Result<()> {
    let bold = style::BOLD;
    let platform = match inspection.platform.as_str() {
        "" if inspection.is_part => "not in these media",
        "" => "none",
        platform => platform,
    };
    if let Some(release) = &inspection.release {
        writeln!(out, "{bold}{:<10}{bold:#} {}, by {}", "talos", release.version, release.by)?;
    }
    for (name, value) in [
        ("platform", platform.to_owned()),
        ("hostname", inspection.hostname().unwrap_or_else(|| "not in these media".to_owned())),
        ("outcome", outcome(inspection.outcome()).to_owned()),
    ] {
        writeln!(out, "{bold}{name:<10}{bold:#} {value}")?;
    }
    if let Some(arguments) = &inspection.arguments {
        writeln!(out, "{bold}{:<10}{bold:#} {}", "arguments", arguments.join(" "))?;
    }
    rows(out, &["FILE", "BYTES", "TYPE"], &file_rows(inspection))?;
    rows(out, &["LINK", "ADDRESS", "SOURCE"], &addressing(inspection))?;
    rows(out, &["", "CONFIG SOURCE", "RESULT"], &sources(inspection))?;
    if let Some(config) = inspection.effective_text(talos) {
        let is_sure = inspection.outcome() != BootOutcome::Depends;
        let sure = if is_sure { "" } else { " (incomplete)" };
        writeln!(out, "\n{bold}Active configuration{sure}, secrets removed:{bold:#}\n")?;
        for line in config.lines() {
            writeln!(out, "    {}", truncated(line))?;
        }
    }
    for mistake in &inspection.mistakes {
        let MediaProblem { rule, issue } = mistake;
        let (colour, note) = (style::severity(issue.severity), style::NOTE);
        writeln!(out, "\n{colour}{}[{}]:{colour:#} {}", issue.severity, rule.id, issue.headline())?;
        writeln!(out, "{note}hint:{note:#} {}", rule.fix)?;
    }
    Ok(())
}

/// Truncates a long line, such as a certificate.
fn truncated(line: &str) -> String {
    let mut letters = line.chars();
    let start: String = letters.by_ref().take(MAX_LINE).collect();
    if letters.next().is_none() { start } else { start + "…" }
}

fn rows(out: &mut dyn Write, heading: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    table::print(out, heading, rows)
}

fn file_rows(inspection: &Inspection) -> Vec<Vec<String>> {
    let bytes = |length: u64| if length == 0 { String::new() } else { length.to_string() };
    let found = inspection.found.iter();
    found.map(|found| vec![found.name.clone(), bytes(found.length), found.taken_for.clone()]).collect()
}

fn addressing(inspection: &Inspection) -> Vec<Vec<String>> {
    let found = inspection.addressing.iter();
    found.map(|found| vec![found.link.clone(), found.address.clone(), found.by.word().to_owned()]).collect()
}

/// The configuration sources in order, with a mark at the active one.
fn sources(inspection: &Inspection) -> Vec<Vec<String>> {
    let taken = inspection.effective_source();
    let mut is_tried = true;
    let mut rows = Vec::new();
    for (nth, source) in inspection.sources.iter().enumerate() {
        let mark = if taken == Some(nth) { "→" } else { "" };
        let result = if is_tried { result(source) } else { "not tried".to_owned() };
        rows.push(vec![mark.to_owned(), source.name.clone(), result]);
        is_tried &= !source.verdict.ends_the_search();
    }
    rows
}

fn result(source: &ConfigSource) -> String {
    let kinds = source.verdict.kinds().unwrap_or_default().join(", ");
    match &source.verdict {
        ConfigSourceResult::Nothing => "no configuration".to_owned(),
        ConfigSourceResult::Partial(_) => {
            format!("partial configuration ({kinds}); later sources are tried too")
        }
        ConfigSourceResult::Complete(_) => format!("complete configuration ({kinds})"),
        ConfigSourceResult::Refused(_) => "rejected by Talos".to_owned(),
        ConfigSourceResult::Elsewhere(place) => format!("from {place}"),
        ConfigSourceResult::Unread(why) => format!("unknown: {why}"),
    }
}

fn outcome(outcome: BootOutcome) -> &'static str {
    match outcome {
        BootOutcome::Boots => "boots with a complete configuration",
        BootOutcome::Maintenance => "waits for a configuration in maintenance mode",
        BootOutcome::Loops => "reboots in a loop and never reaches maintenance mode",
        BootOutcome::Depends => "depends on a configuration that is elsewhere or was not read",
    }
}
