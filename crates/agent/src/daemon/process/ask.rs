//! A program that is asked something: it answers and ends.

use std::io;
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramError, ProgramOutput, ProgramRun};

/// How long a program may take to read a file or to say its release; on an emulated processor that is long.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a program says, and how it ends. Who gives up waiting ends it.
pub(in crate::daemon) async fn ask(command: Command) -> io::Result<ProgramOutput> {
    within(PATIENCE, command).await
}

async fn within(patience: Duration, command: Command) -> io::Result<ProgramOutput> {
    // Callers say which program it is.
    ProgramRun::new(command, patience).run_async().await.map_err(|error| match error {
        ProgramError::TimedOut { .. } => {
            io::Error::new(io::ErrorKind::TimedOut, format!("no response within {patience:?}"))
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
    async fn what_it_says_and_how_it_ends_is_told() {
        let output = ask(shell("cat; echo yes; echo no >&2; exit 3")).await.unwrap();

        assert_eq!((&output.stdout[..], &output.stderr[..]), (&b"yes\n"[..], &b"no\n"[..]));
        assert_eq!(output.status.code(), Some(3));
    }

    #[tokio::test]
    async fn one_that_is_not_there_is_told() {
        let error = ask(Command::new("/nowhere/bgpd")).await.unwrap_err();

        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[tokio::test]
    async fn one_that_does_not_answer_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let alive = folder.path().join("alive");
        let script = format!("sleep 0.5; touch {}", alive.display());

        let error = within(Duration::from_millis(50), shell(&script)).await.unwrap_err();

        assert_eq!(error.to_string(), "no response within 50ms");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!alive.exists());
    }
}
