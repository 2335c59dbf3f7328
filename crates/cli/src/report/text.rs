//! Problems and findings as text.

use std::collections::BTreeSet;
use std::io::{self, Write};

use ichor_core::rules::Finding;
use ichor_values::{FileIssue, Issue, Location, Sources};

use super::excerpt::excerpt;
use crate::style;

/// An issue as a line with its severity in colour.
pub(crate) fn line(issue: &Issue) -> String {
    let colour = style::severity(issue.severity);
    format!("{colour}{}:{colour:#} {issue}", issue.severity)
}

/// Prints every problem with its location.
pub(crate) fn problems(
    out: &mut dyn Write,
    name: &str,
    sources: &Sources,
    problems: &[FileIssue],
) -> io::Result<()> {
    if let [FileIssue { issue, unreadable: true, .. }] = problems
        && issue.subject.is_empty()
    {
        return writeln!(out, "{}", line(issue));
    }
    let count =
        if problems.len() == 1 { "1 problem".to_owned() } else { format!("{} problems", problems.len()) };
    writeln!(out, "{}error:{} {name} has {count}", style::ERROR, style::ERROR.render_reset())?;
    let hidden: Vec<Location> = problems.iter().filter_map(|problem| problem.hidden).collect();
    for problem in problems {
        writeln!(out)?;
        if problem.place == Location::default() {
            writeln!(out, "  {}", problem.issue.message)?;
        } else {
            writeln!(out, "  {}  {}", sources.locate(problem.place), problem.issue.subject)?;
            quote(out, sources, problem.place, &problem.issue.message, &hidden)?;
        }
        if let Some((place, note)) = &problem.also {
            writeln!(out, "     {}: {note}", sources.locate(*place))?;
        }
        if let Some(want) = &problem.issue.help {
            writeln!(out, "     {want}")?;
        }
    }
    Ok(())
}

fn quote(
    out: &mut dyn Write,
    sources: &Sources,
    place: Location,
    message: &str,
    hidden: &[Location],
) -> io::Result<()> {
    let Some(excerpt) = excerpt(sources, place, hidden) else {
        return writeln!(out, "     {message}");
    };
    let number = place.line.to_string();
    let (dim, reset) = (style::DIM, style::DIM.render_reset());
    writeln!(out, "     {dim}{number} |{reset} {}", excerpt.line)?;
    let (red, plain) = (style::ERROR, style::ERROR.render_reset());
    writeln!(out, "     {dim}{} |{reset} {red}{} {message}{plain}", " ".repeat(number.len()), excerpt.marks)
}

/// Prints every finding with its location, reason and fix; text at `hidden` locations is redacted.
pub(crate) fn findings(
    out: &mut dyn Write,
    sources: &Sources,
    findings: &[Finding],
    hidden: &[Location],
) -> io::Result<()> {
    for finding in findings.iter().filter(|finding| finding.silenced.is_none()) {
        let rule = finding.rule;
        let severity = finding.issue.severity;
        let colour = style::severity(severity);
        let reset = colour.render_reset();
        writeln!(out, "{colour}{severity}[{}]{reset}: {}", rule.id, finding.issue.headline())?;
        if finding.place != Location::default() {
            let (dim, plain) = (style::DIM, style::DIM.render_reset());
            writeln!(out, "  {}", sources.locate(finding.place))?;
            if let Some(excerpt) = excerpt(sources, finding.place, hidden) {
                let number = finding.place.line.to_string();
                writeln!(out, "     {dim}{number} |{plain} {}", excerpt.line)?;
                writeln!(
                    out,
                    "     {dim}{} |{plain} {colour}{}{reset}",
                    " ".repeat(number.len()),
                    excerpt.marks
                )?;
            }
        }
        writeln!(out, "hint: {}; for details run `ichor explain {}`", rule.fix, rule.id)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Prints rendering errors, each once with all nodes it applies to.
pub(crate) fn unrendered(out: &mut dyn Write, issues: &[Issue]) -> io::Result<()> {
    for (issue, subjects) in group_by_text(issues) {
        writeln!(out, "{}", line(&Issue { subject: subjects.join(", "), ..issue.clone() }))?;
    }
    Ok(())
}

/// Groups issues with the same text by their subjects.
fn group_by_text(issues: &[Issue]) -> Vec<(&Issue, Vec<&str>)> {
    let mut groups: Vec<(&Issue, Vec<&str>)> = Vec::new();
    let mut seen = BTreeSet::new();
    for issue in issues.iter().filter(|issue| seen.insert(*issue)) {
        let same = |known: &Issue| (&known.message, &known.help) == (&issue.message, &issue.help);
        match groups.iter_mut().find(|(known, _)| same(known)) {
            Some((_, subjects)) => subjects.push(&issue.subject),
            None => groups.push((issue, vec![&issue.subject])),
        }
    }
    groups
}
