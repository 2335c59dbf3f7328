//! Programs that speak to hypervisors and controllers.

use std::io::{self, Read, Write as _};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Kind;

/// How long a call may take that only asks or sets something off.
pub(super) const PATIENCE: Duration = Duration::from_mins(2);

/// A program that did not do what it was to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProgramError {
    #[error("{program} is not installed here: {remedy}")]
    Absent { program: &'static str, remedy: &'static str },
    #[error("cannot run {program}")]
    Run { program: &'static str, source: io::Error },
    #[error("`{call}` did not end within {seconds} s")]
    Slow { call: String, seconds: u64 },
    #[error("`{call}`: {said}")]
    Failed { call: String, said: String },
}

impl ProgramError {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Absent { .. } | Self::Run { .. } => Kind::Ours,
            Self::Slow { .. } => Kind::Unreachable,
            Self::Failed { .. } => Kind::Refused,
        }
    }
}

/// A program to be run.
pub(super) struct Program {
    /// Its name.
    pub name: &'static str,
    /// How to get it.
    pub remedy: &'static str,
}

impl Program {
    /// Runs it with `input` and gives what it says. `call` is what is shown of it: its arguments are no secrets.
    pub(super) fn run(
        &self,
        call: &str,
        mut command: Command,
        input: Option<&[u8]>,
        patience: Duration,
    ) -> Result<String, ProgramError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => ProgramError::Absent { program: self.name, remedy: self.remedy },
            _ => ProgramError::Run { program: self.name, source },
        };
        command.env("LC_ALL", "C").stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = command.spawn().map_err(failed)?;
        let out = gather(child.stdout.take());
        let err = gather(child.stderr.take());
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            // One that does not read to the end says itself why.
            let _ = stdin.write_all(input);
        }
        let start = Instant::now();
        let status = loop {
            match child.try_wait().map_err(failed)? {
                Some(status) => break status,
                None if start.elapsed() > patience => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(ProgramError::Slow { call: call.to_owned(), seconds: patience.as_secs() });
                }
                None => thread::sleep(Duration::from_millis(5)),
            }
        };
        let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
        answer(call, status, out, &err)
    }
}

/// Reads a stream to its end, beside everything else.
fn gather(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn answer(call: &str, status: ExitStatus, out: String, err: &str) -> Result<String, ProgramError> {
    if status.success() {
        return Ok(out);
    }
    let lines: Vec<_> =
        err.lines().chain(out.lines()).map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = if lines.is_empty() { status.to_string() } else { lines.join("; ") };
    let said = said.chars().filter(|letter| !letter.is_control()).take(1000).collect();
    Err(ProgramError::Failed { call: call.to_owned(), said })
}
