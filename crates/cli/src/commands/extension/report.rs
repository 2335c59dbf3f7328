//! The report of `extension check`, as text and JSON.

use std::io::{self, Write};

use anstyle::Style;
use ichor_talos::extension::{Remark, Verdict};
use ichor_values::TalosVersion;
use serde_json::{Value, json};

use crate::style;

/// The form of the input.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InputForm {
    /// An unpacked extension.
    Folder,
    /// An extension image.
    Image,
    /// A service definition.
    Service,
}

/// The input and the result of the check.
pub(super) struct CheckReport {
    pub given: String,
    pub form: InputForm,
    pub talos: TalosVersion,
    pub verdict: Verdict,
}

impl CheckReport {
    /// Prints every problem and warning, and whether Talos accepts the input.
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Verdict { problems, warnings, more_problems, more_warnings } = &self.verdict;
        for (remarks, more, style, word) in [
            (problems, more_problems, style::ERROR, "error"),
            (warnings, more_warnings, style::WARNING, "warning"),
        ] {
            for remark in remarks {
                self.print_issue(out, remark, style, word)?;
            }
            if *more > 0 {
                writeln!(out, "{}: {style}{word}:{style:#} {more} more not shown", printable(&self.given))?;
            }
        }
        let (style, does) =
            if self.verdict.is_valid() { (style::GOOD, "accepts it") } else { (style::ERROR, "rejects it") };
        style::say(&format!("{}: Talos {} {style}{does}{style:#}", printable(&self.given), self.talos));
        Ok(())
    }

    fn print_issue(&self, out: &mut dyn Write, remark: &Remark, style: Style, word: &str) -> io::Result<()> {
        let file = match self.form {
            InputForm::Folder => format!("{}/{}", self.given.trim_end_matches('/'), remark.file),
            InputForm::Image | InputForm::Service => remark.file.clone(),
        };
        let line = if remark.line == 0 { String::new() } else { format!(":{}", remark.line) };
        let (file, text) = (printable(&file), printable(&remark.issue.headline()));
        writeln!(out, "{file}{line}: {style}{word}:{style:#} {text}")?;
        writeln!(out, "  fix: {}", printable(remark.fix()))
    }

    /// The report as JSON.
    pub(super) fn json(&self) -> Value {
        let Verdict { problems, warnings, more_problems, more_warnings } = &self.verdict;
        json!({
            "path": self.given,
            "kind": if self.form == InputForm::Service { "service" } else { "extension" },
            "talos_version": self.talos.to_string(),
            "valid": self.verdict.is_valid(),
            "problems": problems.iter().map(value).collect::<Vec<_>>(),
            "warnings": warnings.iter().map(value).collect::<Vec<_>>(),
            "problems_omitted": more_problems,
            "warnings_omitted": more_warnings,
        })
    }
}

fn value(remark: &Remark) -> Value {
    json!({
        "severity": remark.issue.severity.to_string(),
        "subject": Some(&remark.issue.subject).filter(|subject| !subject.is_empty()),
        "file": remark.file,
        "line": Some(remark.line).filter(|line| *line > 0),
        "message": remark.issue.message,
        "help": remark.issue.help,
    })
}

/// Escapes control characters: names come from untrusted input.
fn printable(text: &str) -> String {
    let spelled = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(spelled).collect()
}
