//! `explain`: the problem a rule finds, the failure it leads to and the fix.

use std::io::Write;
use std::process::ExitCode;

use anyhow::bail;
use ichor_core::rules;
use ichor_values::Explanation;
use ichor_values::nearest;
use serde_json::json;

use crate::argument::OutputFormat;
use crate::{style, table};

/// Explain a rule of `ichor check`: problem, failure and fix
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Rule to explain, such as asn-public [default: list all rules]
    rule: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match &args.rule {
        Some(id) => {
            let all = all();
            let Some(rule) = all.iter().find(|rule| rule.id == id) else {
                let near = nearest(id, all.iter().map(|rule| rule.id));
                bail!(
                    "unknown rule `{id}`{}",
                    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
                );
            };
            explain(rule, args.format.json, out)?;
        }
        None => list(args.format.json, out)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn all() -> Vec<Explanation> {
    rules::explanations().into_iter().flat_map(|(_, rules)| rules).collect()
}

fn explain(rule: &Explanation, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if as_json {
        writeln!(out, "{:#}", object(rule))?;
        return Ok(());
    }
    let colour = style::severity(rule.severity);
    writeln!(out, "{colour}{}[{}]{}: {}\n", rule.severity, rule.id, colour.render_reset(), rule.summary)?;
    writeln!(out, "{}\n", rule.failure)?;
    writeln!(out, "fix: {}", rule.fix)?;
    Ok(())
}

fn object(rule: &Explanation) -> serde_json::Value {
    json!({
        "rule": rule.id,
        "severity": rule.severity.to_string(),
        "summary": rule.summary,
        "failure": rule.failure,
        "help": rule.fix,
    })
}

fn list(as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if as_json {
        let all: Vec<_> = all().iter().map(object).collect();
        writeln!(out, "{:#}", serde_json::Value::Array(all))?;
        return Ok(());
    }
    let rows: Vec<_> = all()
        .iter()
        .map(|rule| vec![rule.id.to_owned(), rule.severity.to_string(), rule.summary.to_owned()])
        .collect();
    Ok(table::print(out, &["RULE", "SEVERITY", "SUMMARY"], &rows)?)
}
