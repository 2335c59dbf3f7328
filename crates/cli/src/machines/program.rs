//! Programs that speak to hypervisors and controllers.

use std::io;
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};

use super::Kind;

/// How long a call may take that only asks or sets something off.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);

/// A program that did not do what it was to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    #[error("{program} is not installed here: {remedy}")]
    Absent { program: &'static str, remedy: &'static str },
    #[error("cannot run {program}")]
    Run { program: &'static str, source: io::Error },
    #[error("`{call}` did not end within {seconds} s")]
    Slow { call: String, seconds: u64 },
    #[error("`{call}`: {said}")]
    Failed { call: String, said: String },
}

impl ToolError {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Absent { .. } | Self::Run { .. } => Kind::Ours,
            Self::Slow { .. } => Kind::Unreachable,
            Self::Failed { .. } => Kind::Refused,
        }
    }
}

/// A program to be run.
pub(super) struct Tool {
    /// Its name.
    pub name: &'static str,
    /// How to get it.
    pub remedy: &'static str,
}

impl Tool {
    /// Runs it with `input` and gives what it says. `call` is what is shown of it: its arguments are no secrets.
    pub(super) fn run(
        &self,
        call: &str,
        mut command: Command,
        input: Option<&[u8]>,
        patience: Duration,
    ) -> Result<String, ToolError> {
        command.env("LC_ALL", "C");
        let run = ProgramRun::new(command, patience);
        let run = input.into_iter().fold(run, ProgramRun::input);
        let output = run.run().and_then(ProgramOutput::succeeded).map_err(|error| match error {
            ProgramError::Missing { .. } => ToolError::Absent { program: self.name, remedy: self.remedy },
            ProgramError::TimedOut { timeout, .. } => {
                ToolError::Slow { call: call.to_owned(), seconds: timeout.as_secs() }
            }
            ProgramError::Failed(output) => ToolError::Failed { call: call.to_owned(), said: said(&output) },
            error => ToolError::Run { program: self.name, source: error.into() },
        })?;
        Ok(output.stdout_text().into_owned())
    }
}

/// What a program that failed says, without what a terminal would take for commands.
fn said(output: &ProgramOutput) -> String {
    let (err, out) = (output.stderr_text(), output.stdout_text());
    let lines: Vec<_> =
        err.lines().chain(out.lines()).map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = if lines.is_empty() { output.status.to_string() } else { lines.join("; ") };
    said.chars().filter(|letter| !letter.is_control()).take(1000).collect()
}
