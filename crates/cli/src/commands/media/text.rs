//! An inspection for a person.

use std::io::{self, Write};

use ichor_core::inspect::{Inspection, Outcome, Source, Verdict};

use crate::style;

pub(super) fn tell(out: &mut dyn Write, inspection: &Inspection) -> io::Result<()> {
    let platform = if inspection.platform.is_empty() { "none" } else { &inspection.platform };
    writeln!(out, "platform   {platform}")?;
    for found in &inspection.found {
        writeln!(out, "found      {} ({} bytes): {}", found.name, found.length, found.taken_for)?;
    }
    for source in &inspection.sources {
        writeln!(out, "config     {}: {}", source.name, told(source))?;
    }
    writeln!(out, "hostname   {}", inspection.hostname().as_deref().unwrap_or("not from here"))?;
    for (link, address) in inspection.addresses() {
        writeln!(out, "address    {link} {address}")?;
    }
    for (link, operator) in inspection.dhcp() {
        writeln!(out, "address    {link} by {operator}")?;
    }
    writeln!(out, "outcome    {}", outcome(inspection.outcome()))?;
    for mistake in &inspection.mistakes {
        let (warning, note) = (style::WARNING, style::NOTE);
        writeln!(out, "{warning}mistake[{}]:{warning:#} {}", mistake.rule, mistake.message)?;
        writeln!(out, "{note}hint:{note:#} {}", mistake.fix)?;
    }
    Ok(())
}

fn told(source: &Source) -> String {
    let kinds = source.verdict.kinds().unwrap_or_default().join(", ");
    match &source.verdict {
        Verdict::Nothing => "nothing".to_owned(),
        Verdict::Partial(_) => {
            format!("a part of one ({kinds}), in force until another source has something")
        }
        Verdict::Complete(_) => format!("a whole one ({kinds})"),
        Verdict::Refused(_) => "one that Talos does not take".to_owned(),
        Verdict::Elsewhere(place) => format!("from {place}"),
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Boots => "boots with a whole configuration",
        Outcome::Maintenance => "waits for a configuration in maintenance mode",
        Outcome::Loops => "starts again and again, and does not reach maintenance mode",
        Outcome::Depends => "depends on what is fetched when it boots",
    }
}
