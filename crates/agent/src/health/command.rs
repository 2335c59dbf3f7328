//! Health checks by a command.

use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramError, ProgramRun};

use super::ProbeError;

/// How much of a program's error output is shown.
const SHOWN: usize = 200;

pub(super) async fn run_command(words: &[String], within: Duration) -> Result<(), ProbeError> {
    let [program, arguments @ ..] = words else { return Err(ProbeError::Empty) };
    let mut command = Command::new(program);
    command.args(arguments);
    // All of its descendants are killed with it, so that hanging checks do not pile up.
    let run = ProgramRun::new(command, within).without_stdout().own_group();
    match run.run_async().await {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(ProbeError::Ended {
            program: program.clone(),
            end: output.status.to_string(),
            message: first_line(&output.stderr[..output.stderr.len().min(SHOWN)]),
        }),
        Err(ProgramError::TimedOut { .. }) => Err(ProbeError::Late { of: program.clone(), within }),
        Err(error) => Err(ProbeError::Start { program: program.clone(), source: error.into() }),
    }
}

fn first_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line: String =
        text.lines().next().unwrap_or_default().chars().filter(|it| !it.is_control()).collect();
    if line.is_empty() { line } else { format!(": {line}") }
}
