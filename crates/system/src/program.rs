//! Programs that answer and end: run with a timeout, with what they write captured and bounded.
//!
//! A [`ProgramRun`] is what to run and how; [`run`](ProgramRun::run) blocks, and [`run_async`](ProgramRun::run_async) does the same in a runtime.
//! Every end of the program is a [`ProgramOutput`]; [`succeeded`](ProgramOutput::succeeded) makes an error of all but success.

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

/// How much a program may write to standard output, unless its run says otherwise.
const LARGEST: usize = 64 << 20;

/// How much of standard error is kept: its end.
const KEPT: usize = 64 << 10;

/// How much of it is read at once.
const PIECE: usize = 8 << 10;

/// What a program started may keep its streams open after its end. Nothing is lost by not waiting longer: what the program itself wrote is in
/// the pipe by then.
const GRACE: Duration = Duration::from_millis(100);

/// How many of its last lines are shown of a program that failed.
const LINES: usize = 5;

/// A program did not run, did not end, or did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// There is no such program.
    #[error("{program} is not installed")]
    Missing {
        /// The program.
        program: String,
        /// What the system says.
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
    /// It did not end in time, and was killed with what it had started.
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
        /// How much is read.
        limit: usize,
    },
    /// It ended, and not with 0.
    #[error("{} failed: {}", .0.program, .0.last_lines())]
    Failed(ProgramOutput),
}

impl From<ProgramError> for io::Error {
    /// What the system says where it says something, for callers with nothing but errors of the system.
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::Missing { source, .. } | ProgramError::Run { source, .. } => source,
            ProgramError::TimedOut { .. } => Self::new(io::ErrorKind::TimedOut, error),
            ProgramError::TooMuch { .. } | ProgramError::Failed(_) => Self::other(error),
        }
    }
}

/// How a program ended, and what it wrote until then.
pub struct ProgramOutput {
    /// The program.
    pub program: String,
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error, or the end of that.
    pub stderr: Vec<u8>,
}

impl fmt::Debug for ProgramOutput {
    /// Without what it wrote, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramOutput")
            .field("program", &self.program)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

impl ProgramOutput {
    /// The output of a program that ended with 0; any other end is an error.
    pub fn succeeded(self) -> Result<Self, ProgramError> {
        if self.status.success() { Ok(self) } else { Err(ProgramError::Failed(self)) }
    }

    /// What it wrote to standard output.
    pub fn stdout_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    /// What it wrote to standard error.
    pub fn stderr_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }

    /// The last lines of standard error, for people; how it ended where there are none.
    fn last_lines(&self) -> String {
        let text = self.stderr_text();
        let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("; ");
        let last: String = last.chars().filter(|letter| !letter.is_control()).collect();
        if last.is_empty() { self.status.to_string() } else { last }
    }
}

/// What a program reads from standard input.
enum StandardInput {
    Nothing,
    Bytes(Vec<u8>),
    Ours,
}

/// One run of a program, with its timeout.
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

    /// Runs it, and kills it with what it started when this is dropped before its end.
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
            // What was left behind by a process that has ended is no descendant any more.
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

/// Gives a program its input and reads what it writes, until it ends; none when it writes more than `limit`.
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
        // What it started may keep its streams open: its own end is what counts.
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
        // A program that does not read to the end says itself why.
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
