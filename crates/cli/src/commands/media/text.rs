//! An inspection for a person.

use std::io::{self, Write};

use ichor_image::inspect::{Inspection, Mistake, Outcome, Source, Verdict};
use ichor_values::TalosVersion;

use crate::{style, table};

/// Longer lines of a configuration are cut.
const LONGEST_LINE: usize = 90;

pub(super) fn tell(out: &mut dyn Write, inspection: &Inspection, talos: &TalosVersion) -> io::Result<()> {
    let bold = style::BOLD;
    let platform = match inspection.platform.as_str() {
        "" if inspection.is_part => "not from here",
        "" => "none",
        platform => platform,
    };
    if let Some(release) = &inspection.release {
        writeln!(out, "{bold}{:<10}{bold:#} {}, by {}", "talos", release.version, release.by)?;
    }
    for (name, value) in [
        ("platform", platform.to_owned()),
        ("hostname", inspection.hostname().unwrap_or_else(|| "not from here".to_owned())),
        ("outcome", outcome(inspection.outcome()).to_owned()),
    ] {
        writeln!(out, "{bold}{name:<10}{bold:#} {value}")?;
    }
    if let Some(arguments) = &inspection.arguments {
        writeln!(out, "{bold}{:<10}{bold:#} {}", "arguments", arguments.join(" "))?;
    }
    rows(out, &["FOUND", "BYTES", "WHAT IT IS"], &found(inspection))?;
    rows(out, &["LINK", "ADDRESS", "BY"], &addressing(inspection))?;
    rows(out, &["", "CONFIGURATION OF", "WHAT COMES OF IT"], &sources(inspection))?;
    if let Some(config) = inspection.shown(talos) {
        let is_sure = inspection.outcome() != Outcome::Depends;
        let sure = if is_sure { "" } else { ", as far as it is known" };
        writeln!(out, "\n{bold}The configuration in force{sure}, without its secrets:{bold:#}\n")?;
        for line in config.lines() {
            writeln!(out, "    {}", cut(line))?;
        }
    }
    for mistake in &inspection.mistakes {
        let Mistake { rule, issue } = mistake;
        let (colour, note) = (style::severity(issue.severity), style::NOTE);
        writeln!(out, "\n{colour}{}[{}]:{colour:#} {}", issue.severity, rule.id, issue.headline())?;
        writeln!(out, "{note}hint:{note:#} {}", rule.fix)?;
    }
    Ok(())
}

/// A line of a configuration, without the rest of certificates and the like.
fn cut(line: &str) -> String {
    let mut letters = line.chars();
    let start: String = letters.by_ref().take(LONGEST_LINE).collect();
    if letters.next().is_none() { start } else { start + "…" }
}

fn rows(out: &mut dyn Write, heading: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    table::print(out, heading, rows)
}

fn found(inspection: &Inspection) -> Vec<Vec<String>> {
    let bytes = |length: u64| if length == 0 { String::new() } else { length.to_string() };
    let found = inspection.found.iter();
    found.map(|found| vec![found.name.clone(), bytes(found.length), found.taken_for.clone()]).collect()
}

fn addressing(inspection: &Inspection) -> Vec<Vec<String>> {
    let found = inspection.addressing.iter();
    found.map(|found| vec![found.link.clone(), found.address.clone(), found.by.word().to_owned()]).collect()
}

/// The sources in their order, the one that is taken marked.
fn sources(inspection: &Inspection) -> Vec<Vec<String>> {
    let taken = inspection.taken();
    let mut is_asked = true;
    let mut rows = Vec::new();
    for (nth, source) in inspection.sources.iter().enumerate() {
        let mark = if taken == Some(nth) { "→" } else { "" };
        let told = if is_asked { told(source) } else { "not asked any more".to_owned() };
        rows.push(vec![mark.to_owned(), source.name.clone(), told]);
        is_asked &= !source.verdict.ends_the_search();
    }
    rows
}

fn told(source: &Source) -> String {
    let kinds = source.verdict.kinds().unwrap_or_default().join(", ");
    match &source.verdict {
        Verdict::Nothing => "nothing".to_owned(),
        Verdict::Partial(_) => format!("a part of one ({kinds}), until another has something"),
        Verdict::Complete(_) => format!("a whole one ({kinds})"),
        Verdict::Refused(_) => "one that Talos does not take".to_owned(),
        Verdict::Elsewhere(place) => format!("from {place}"),
        Verdict::Unread(why) => format!("not known: {why}"),
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Boots => "boots with a whole configuration",
        Outcome::Maintenance => "waits for a configuration in maintenance mode",
        Outcome::Loops => "starts again and again, and does not reach maintenance mode",
        Outcome::Depends => "depends on what is elsewhere, or not read",
    }
}
