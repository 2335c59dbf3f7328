//! What `extension check` answers, for a person and for a program.

use std::io::{self, Write};

use anstyle::Style;
use ichor_talos::extension::{Remark, Verdict};
use ichor_values::TalosVersion;
use serde_json::{Value, json};

use crate::style;

/// What was given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// An unpacked extension.
    Folder,
    /// The image of one.
    Image,
    /// A service definition.
    Service,
}

/// What was asked, and what Talos says of it.
pub(super) struct Answer {
    pub given: String,
    pub form: Form,
    pub talos: TalosVersion,
    pub verdict: Verdict,
}

impl Answer {
    /// Prints every remark, and at the end what Talos does.
    pub(super) fn tell(&self, out: &mut dyn Write) -> io::Result<()> {
        let Verdict { problems, warnings, more_problems, more_warnings } = &self.verdict;
        for (remarks, more, style, word) in [
            (problems, more_problems, style::ERROR, "error"),
            (warnings, more_warnings, style::WARNING, "warning"),
        ] {
            for remark in remarks {
                self.tell_one(out, remark, style, word)?;
            }
            if *more > 0 {
                writeln!(
                    out,
                    "{}: {style}{word}:{style:#} {more} more are not shown",
                    printable(&self.given)
                )?;
            }
        }
        let (style, does) =
            if self.verdict.is_valid() { (style::GOOD, "takes it") } else { (style::ERROR, "refuses it") };
        style::say(&format!("{}: Talos {} {style}{does}{style:#}", printable(&self.given), self.talos));
        Ok(())
    }

    fn tell_one(&self, out: &mut dyn Write, remark: &Remark, style: Style, word: &str) -> io::Result<()> {
        let file = match self.form {
            Form::Folder => format!("{}/{}", self.given.trim_end_matches('/'), remark.file),
            Form::Image | Form::Service => remark.file.clone(),
        };
        let line = if remark.line == 0 { String::new() } else { format!(":{}", remark.line) };
        let (file, said) = (printable(&file), printable(&remark.issue.headline()));
        writeln!(out, "{file}{line}: {style}{word}:{style:#} {said}")?;
        writeln!(out, "  fix: {}", printable(remark.fix()))
    }

    /// The same for a program.
    pub(super) fn json(&self) -> Value {
        let Verdict { problems, warnings, more_problems, more_warnings } = &self.verdict;
        json!({
            "checked": self.given,
            "as": if self.form == Form::Service { "service" } else { "extension" },
            "talos": self.talos.to_string(),
            "valid": self.verdict.is_valid(),
            "problems": problems.iter().map(value).collect::<Vec<_>>(),
            "warnings": warnings.iter().map(value).collect::<Vec<_>>(),
            "more_problems": more_problems,
            "more_warnings": more_warnings,
        })
    }
}

fn value(remark: &Remark) -> Value {
    json!({
        "file": remark.file,
        "line": remark.line,
        "path": remark.issue.subject,
        "message": remark.issue.message,
        "fix": remark.fix(),
    })
}

/// Names come from others: none of them may move the cursor.
fn printable(text: &str) -> String {
    let spelled = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(spelled).collect()
}
