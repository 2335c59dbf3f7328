//! A program that is run for its output.

use std::io;
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};

/// How long a program may take to read a file or to print its version, which is long on an emulated processor.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Runs a program, and returns its output and exit status. It is killed when this is cancelled.
pub(in crate::daemon) async fn capture(command: Command) -> io::Result<ProgramOutput> {
    within(TIMEOUT, command).await
}

async fn within(timeout: Duration, command: Command) -> io::Result<ProgramOutput> {
    // Callers name the program.
    ProgramRun::new(command, timeout).run_async().await.map_err(|error| match error {
        ProgramError::TimedOut { .. } => {
            io::Error::new(io::ErrorKind::TimedOut, format!("no response within {timeout:?}"))
        }
        error => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[tokio::test]
    async fn the_output_and_the_exit_status_are_returned() {
        let output = capture(shell("cat; echo yes; echo no >&2; exit 3")).await.unwrap();

        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"yes\n"[..], &b"no\n"[..]));
        assert_eq!(output.status.code(), Some(3));
    }

    #[tokio::test]
    async fn a_missing_program_is_an_error() {
        let error = capture(Command::new("/nowhere/bgpd")).await.unwrap_err();

        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let alive = folder.path().join("alive");
        let script = format!("sleep 0.5; touch {}", alive.display());

        let error = within(Duration::from_millis(50), shell(&script)).await.unwrap_err();

        assert_eq!(error.to_string(), "no response within 50ms");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!alive.exists());
    }
}
