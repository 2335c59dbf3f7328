//! Short-running programs: run with a timeout, with captured and bounded output.
//!
//! A [`ProgramRun`] is a command with its options; [`run`](ProgramRun::run) blocks, and [`run_async`](ProgramRun::run_async) does the same in a runtime.
//! Every end of the program is a [`ProgramOutput`]; [`require_success`](ProgramOutput::require_success) makes an error of all but success.

use std::borrow::Cow;
use std::fmt;
use std::fs;
use std::io;
use std::process::{self, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin};
use tokio::runtime;
use tokio::time::timeout;

/// The default limit of standard output.
const LARGEST: usize = 64 << 20;

/// How much of the end of standard error is kept.
const KEPT: usize = 64 << 10;

/// The chunk size.
const PIECE: usize = 8 << 10;

/// Children of a program may keep its streams open after its end. A short grace period is enough: the program's own output is in
/// the pipe by then.
const GRACE: Duration = Duration::from_millis(100);

/// How many of its last lines an error shows.
const LINES: usize = 5;

/// A program did not run, did not end, or did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The program does not exist.
    #[error("{program} is not installed")]
    Missing {
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// It could not be started.
    #[error("cannot run {program}")]
    Run {
        /// The program.
        program: String,
        /// Why not.
        source: io::Error,
    },
    /// It exceeded its timeout and was killed with its children.
    #[error("{program} did not end within {timeout:?}")]
    TimedOut {
        /// The program.
        program: String,
        /// The time it had.
        timeout: Duration,
    },
    /// It wrote more to standard output than is read, and was killed.
    #[error("{program} writes more than {limit} bytes")]
    TooMuch {
        /// The program.
        program: String,
        /// The output limit.
        limit: usize,
    },
    /// It ended, and not with 0.
    #[error("{} failed: {}", .0.program, .0.last_lines())]
    Failed(ProgramOutput),
}

impl From<ProgramError> for io::Error {
    /// Converts to the system's error if there is one, for callers that only have system errors.
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::Missing { source, .. } | ProgramError::Run { source, .. } => source,
            ProgramError::TimedOut { .. } => Self::new(io::ErrorKind::TimedOut, error),
            ProgramError::TooMuch { .. } | ProgramError::Failed(_) => Self::other(error),
        }
    }
}

/// How a program ended, and its output.
pub struct ProgramOutput {
    /// The program.
    pub program: String,
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error, or the end of it.
    pub stderr: Vec<u8>,
}

impl fmt::Debug for ProgramOutput {
    /// Without the output, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramOutput")
            .field("program", &self.program)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl ProgramOutput {
    /// The output of a program that ended with 0; any other end is an error.
    pub fn require_success(self) -> Result<Self, ProgramError> {
        if self.status.success() { Ok(self) } else { Err(ProgramError::Failed(self)) }
    }

    /// Its standard output as text.
    pub fn stdout_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    /// Its standard error as text.
    pub fn stderr_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }

    /// The last lines of standard error, for people; the exit status if it is empty.
    fn last_lines(&self) -> String {
        let text = self.stderr_text();
        let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("; ");
        let last: String = last.chars().filter(|letter| !letter.is_control()).collect();
        if last.is_empty() { self.status.to_string() } else { last }
    }
}

/// The standard input of a program.
enum StandardInput {
    Nothing,
    Bytes(Vec<u8>),
    Ours,
}

/// A run of a program, with its timeout.
///
/// It stays in the process group of this one: Ctrl-C at a terminal ends it too, and it may ask the user there for a passphrase.
#[must_use = "nothing happens until it is run"]
pub struct ProgramRun {
    command: Command,
    program: String,
    timeout: Duration,
    input: StandardInput,
    limit: usize,
    has_stdout: bool,
    has_stderr: bool,
    has_own_group: bool,
}

impl ProgramRun {
    /// A run of `command`, whose streams are not set, for `timeout` at most. It reads nothing from standard input.
    pub fn new(command: Command, timeout: Duration) -> Self {
        let program = command.get_program().to_string_lossy().into_owned();
        Self {
            command,
            program,
            timeout,
            input: StandardInput::Nothing,
            limit: LARGEST,
            has_stdout: true,
            has_stderr: true,
            has_own_group: false,
        }
    }

    /// Gives it these bytes on standard input.
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = StandardInput::Bytes(bytes.into());
        self
    }

    /// Lets it read the standard input of this process.
    pub fn inherit_input(mut self) -> Self {
        self.input = StandardInput::Ours;
        self
    }

    /// Ends it when it writes more than this to standard output.
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Keeps nothing of standard output, however much that is.
    pub fn without_stdout(mut self) -> Self {
        self.has_stdout = false;
        self
    }

    /// Keeps nothing of standard error: for programs that may write a secret to it.
    pub fn without_stderr(mut self) -> Self {
        self.has_stderr = false;
        self
    }

    /// Gives it a process group of its own, which ends with it when it is killed: for programs without a user at a terminal.
    pub fn own_group(mut self) -> Self {
        self.has_own_group = true;
        self
    }

    /// Runs it, and waits until it has ended.
    pub fn run(self) -> Result<ProgramOutput, ProgramError> {
        let program = self.program.clone();
        let failed = |source| ProgramError::Run { program, source };
        let work = || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
            Ok(runtime.block_on(self.run_async()))
        };
        // A thread of its own: that of the caller may belong to a runtime, and then cannot wait for another one.
        let ended = thread::scope(|scope| {
            let thread = thread::Builder::new().spawn_scoped(scope, work)?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ended.map_err(failed)?
    }

    /// Runs it; dropping the future kills it with its children.
    pub async fn run_async(self) -> Result<ProgramOutput, ProgramError> {
        let Self { command, program, timeout: patience, input, limit, has_stdout, has_stderr, has_own_group } =
            self;
        let mut command = tokio::process::Command::from(command);
        command.stdin(match input {
            StandardInput::Nothing => Stdio::null(),
            StandardInput::Bytes(_) => Stdio::piped(),
            StandardInput::Ours => Stdio::inherit(),
        });
        let pipe = |is_kept| if is_kept { Stdio::piped() } else { Stdio::null() };
        command.stdout(pipe(has_stdout)).stderr(pipe(has_stderr));
        command.kill_on_drop(true);
        if has_own_group {
            command.process_group(0);
        }
        let mut child = command.spawn().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ProgramError::Missing { program: program.clone(), source },
            _ => ProgramError::Run { program: program.clone(), source },
        })?;
        let mut family = ProcessTree { first: pid_of(&child), has_own_group };
        let bytes = if let StandardInput::Bytes(bytes) = input { bytes } else { Vec::new() };
        let ended = timeout(patience, communicate(&mut child, &bytes, limit)).await;
        if let Ok(Ok(Some((status, stdout, stderr)))) = ended {
            family.first = None;
            return Ok(ProgramOutput { program, status, stdout, stderr });
        }
        drop(family);
        let reaped = child.wait().await;
        Err(match ended {
            Err(_) => ProgramError::TimedOut { program, timeout: patience },
            Ok(Ok(_)) => ProgramError::TooMuch { program, limit },
            Ok(Err(source)) => ProgramError::Run { program, source: reaped.err().unwrap_or(source) },
        })
    }
}

/// A program and all it started: killed when this is dropped, unless it has ended.
struct ProcessTree {
    first: Option<Pid>,
    has_own_group: bool,
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        let Some(first) = self.first else { return };
        let descendants = descendants(first);
        if self.has_own_group {
            // Orphans of an ended process are not descendants.
            let _ = killpg(first, Signal::SIGKILL);
        }
        for pid in [first].into_iter().chain(descendants) {
            // It may have ended just now.
            let _ = kill(pid, Signal::SIGKILL);
        }
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    child.id().and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw)
}

/// The processes that a process started, and those that they started.
fn descendants(first: Pid) -> Vec<Pid> {
    // In a PID namespace that still has the /proc of another one, the numbers there are of other processes.
    let own = fs::read_link("/proc/self").ok();
    if own.and_then(|own| own.to_str()?.parse().ok()) != Some(process::id()) {
        return Vec::new();
    }
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pairs = entries.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // PID (NAME) STATE PARENT …, and a name may have any letter.
        let parent: i32 = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        Some((Pid::from_raw(parent), Pid::from_raw(pid)))
    });
    let pairs: Vec<_> = pairs.collect();
    let mut found = vec![first];
    let mut nth = 0;
    while let Some(&parent) = found.get(nth) {
        found.extend(pairs.iter().filter(|pair| pair.0 == parent).map(|pair| pair.1));
        nth += 1;
    }
    found.split_off(1)
}

type ProcessResult = (ExitStatus, Vec<u8>, Vec<u8>);

/// Writes the program's input and reads its output until it ends; none if it writes more than `limit`.
async fn communicate(child: &mut Child, input: &[u8], limit: usize) -> io::Result<Option<ProcessResult>> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut out, mut err, mut is_too_much) = (Vec::new(), Vec::new(), false);
    let status = {
        let talk = async {
            tokio::join!(write_stdin(stdin, input), keep_end(stderr, &mut err), async {
                if let Some(stdout) = stdout {
                    let _ = stdout.take(limit as u64 + 1).read_to_end(&mut out).await;
                    is_too_much = out.len() > limit;
                }
                if is_too_much { Err(()) } else { Ok(()) }
            })
            .2
        };
        tokio::pin!(talk);
        // Its children may keep its streams open: only its own end counts.
        tokio::select! {
            biased;
            talked = &mut talk => match talked {
                Ok(()) => Some(child.wait().await?),
                Err(()) => None,
            },
            status = child.wait() => {
                let _ = timeout(GRACE, talk).await;
                Some(status?)
            }
        }
    };
    Ok(status.filter(|_| !is_too_much).map(|status| (status, out, err)))
}

async fn write_stdin(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        // A program that does not read its input to the end reports why itself.
        let _ = stdin.write_all(input).await;
    }
}

/// Reads to the end, so that the program is never held up, and keeps the end.
async fn keep_end(stream: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut stream) = stream else { return };
    loop {
        kept.reserve(PIECE);
        if !matches!(stream.read_buf(kept).await, Ok(1..)) {
            return;
        }
        kept.drain(..kept.len().saturating_sub(KEPT));
    }
}

#[cfg(test)]
mod tests;
