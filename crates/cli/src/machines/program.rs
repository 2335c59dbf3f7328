//! External programs that control hypervisors and BMCs.

use std::io;
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};

use super::FailureKind;

/// Time limit for a call that queries or starts something.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);

/// A failed run of an external program.
#[derive(Debug, thiserror::Error)]
pub(super) enum ToolError {
    #[error("{program} is not installed on this machine; {install_hint}")]
    Absent { program: &'static str, install_hint: &'static str },
    #[error("cannot run {program}")]
    Run { program: &'static str, source: io::Error },
    #[error("`{call}` timed out after {seconds} s")]
    Slow { call: String, seconds: u64 },
    #[error("`{call}`: {output}")]
    Failed { call: String, output: String },
}

impl ToolError {
    pub(super) fn kind(&self) -> FailureKind {
        match self {
            Self::Absent { .. } | Self::Run { .. } => FailureKind::Local,
            Self::Slow { .. } => FailureKind::Unreachable,
            Self::Failed { .. } => FailureKind::Rejected,
        }
    }
}

/// An external program.
pub(super) struct ExternalTool {
    /// Name of the executable.
    pub name: &'static str,
    /// How to install it, as an imperative.
    pub install_hint: &'static str,
}

impl ExternalTool {
    /// Runs the program with `input` and returns its output. `call` is shown in errors and contains no secrets.
    pub(super) fn run(
        &self,
        call: &str,
        mut command: Command,
        input: Option<&[u8]>,
        timeout: Duration,
    ) -> Result<String, ToolError> {
        command.env("LC_ALL", "C");
        let run = ProgramRun::new(command, timeout);
        let run = input.into_iter().fold(run, ProgramRun::input);
        let output = run.run().and_then(ProgramOutput::require_success).map_err(|error| match error {
            ProgramError::Missing { .. } => {
                ToolError::Absent { program: self.name, install_hint: self.install_hint }
            }
            ProgramError::TimedOut { timeout, .. } => {
                ToolError::Slow { call: call.to_owned(), seconds: timeout.as_secs() }
            }
            ProgramError::Failed(output) => {
                ToolError::Failed { call: call.to_owned(), output: failure_text(&output) }
            }
            error => ToolError::Run { program: self.name, source: error.into() },
        })?;
        Ok(output.stdout_text().into_owned())
    }
}

/// Output of a failed program, without control characters.
fn failure_text(output: &ProgramOutput) -> String {
    let (err, out) = (output.stderr_text(), output.stdout_text());
    let lines: Vec<_> =
        err.lines().chain(out.lines()).map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = if lines.is_empty() { output.status.to_string() } else { lines.join("; ") };
    text.chars().filter(|letter| !letter.is_control()).take(1000).collect()
}
