//! Child processes: started, logged, restarted when they end, and stopped.
//!
//! A [`Program`] is what to run. [`SupervisedProcess`] runs it: [`SupervisedProcess::start`], then
//! [`SupervisedProcess::ended`], and [`SupervisedProcess::stop`]. Leftovers of a killed agent are stopped by
//! [`leftover::stop_leftovers`]; orphans of a child are reaped by [`orphan::Reaper`]. `capture` is for programs that
//! print something and end.
//!
//! Not here: whether a daemon responds, and its configuration.

mod backoff;
mod capture;
pub mod leftover;
pub mod orphan;
mod output;
mod sigterm_filter;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::{self, SigSet, SigmaskHow, Signal};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::{self, Instant, sleep_until};

use crate::log;
use backoff::Backoff;
pub(in crate::daemon) use capture::capture;

/// Children of this process that a task waits for.
static AWAITED: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn with_awaited<T>(with: impl FnOnce(&mut BTreeSet<i32>) -> T) -> T {
    with(&mut AWAITED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name in the log.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// Its arguments. They contain no secrets: every user of the machine can read them.
    pub arguments: Vec<String>,
    /// Its reaction to SIGTERM.
    pub on_sigterm: OnSigterm,
}

/// The reaction to SIGTERM, which all processes of a container receive at once when it is stopped. A daemon that would
/// then close its sessions is stopped by the agent instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnSigterm {
    /// That of the program itself.
    Default,
    /// None: the signal is blocked.
    Blocked,
    /// It ends immediately, without closing its sessions.
    KillSilently,
}

/// A program cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {name} ({})", path.display())]
pub struct StartError {
    name: String,
    path: PathBuf,
    source: io::Error,
}

/// A program and its process.
#[derive(Debug)]
pub struct SupervisedProcess {
    program: Program,
    running: Option<RunningProcess>,
    backoff: Backoff,
    due: Instant,
}

#[derive(Debug)]
struct RunningProcess {
    child: Child,
    pid: Pid,
    since: Instant,
    _starter: Option<sigterm_filter::StarterThread>,
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        with_awaited(|pids| pids.remove(&self.pid.as_raw()));
    }
}

impl SupervisedProcess {
    /// A program that is not running yet.
    pub fn new(program: Program) -> Self {
        Self { program, running: None, backoff: Backoff::default(), due: Instant::now() }
    }

    /// The program to run.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().and_then(|running| u32::try_from(running.pid.as_raw()).ok())
    }

    /// Starts the program unless it runs. Its output goes to the log under its name.
    pub fn start(&mut self) -> Result<(), StartError> {
        if self.running.is_some() {
            return Ok(());
        }
        let Program { name, path, arguments, on_sigterm } = &self.program;
        let failed = |source| StartError { name: name.clone(), path: path.clone(), source };
        let mut command = Command::new(path);
        // A process group of its own: signals from a terminal are for the agent.
        command.args(arguments).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Locked while the process is created, so that it is not taken for an orphan.
        let running = with_awaited(|pids| {
            let (child, starter) = match on_sigterm {
                OnSigterm::Default => (command.spawn()?, None),
                OnSigterm::Blocked => (spawn_with_blocked_sigterm(&mut command)?, None),
                OnSigterm::KillSilently => {
                    sigterm_filter::spawn(command).map(|(child, starter)| (child, Some(starter)))?
                }
            };
            let id = child.id().and_then(|id| i32::try_from(id).ok());
            let pid = id.ok_or_else(|| io::Error::other("it has no process id"))?;
            pids.insert(pid);
            Ok(RunningProcess { child, pid: Pid::from_raw(pid), since: Instant::now(), _starter: starter })
        });
        let mut running = running.map_err(|error| {
            self.due = Instant::now() + self.backoff.next_pause(Duration::ZERO);
            failed(error)
        })?;
        output::forward(name, running.child.stdout.take());
        output::forward(name, running.child.stderr.take());
        log::debug(format_args!("{name} runs as process {}", running.pid));
        self.running = Some(running);
        Ok(())
    }

    /// Waits until the process ends; pending without one. Cancel safe.
    pub async fn ended(&mut self) -> String {
        let Some(running) = &mut self.running else { return std::future::pending().await };
        let status = running.child.wait().await;
        let ran = running.since.elapsed();
        self.running = None;
        self.due = Instant::now() + self.backoff.next_pause(ran);
        describe(status)
    }

    /// Waits until the program may be restarted: immediately after its first end, then with growing pauses, until it
    /// has run for a while.
    pub async fn may_start(&self) {
        sleep_until(self.due).await;
    }

    /// Whether the program may be started now.
    pub fn is_due(&self) -> bool {
        self.due <= Instant::now()
    }

    /// Kills a process that does not respond.
    pub fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    /// Stops the process: with a signal, then by force when it takes too long. A process that blocks SIGTERM receives
    /// SIGINT.
    pub async fn stop(&mut self, timeout: Duration) {
        let signal = match self.program.on_sigterm {
            OnSigterm::Blocked => Signal::SIGINT,
            OnSigterm::Default | OnSigterm::KillSilently => Signal::SIGTERM,
        };
        self.end(signal, timeout).await;
    }

    /// Kills the process, so that it cannot close its sessions.
    pub async fn kill_and_wait(&mut self) {
        self.end(Signal::SIGKILL, Duration::from_secs(1)).await;
    }

    async fn end(&mut self, first: Signal, timeout: Duration) {
        self.signal(first);
        let Some(running) = &mut self.running else { return };
        let name = &self.program.name;
        if time::timeout(timeout, running.child.wait()).await.is_err() {
            log::warn(format_args!("{name} has not ended within {} s and is killed", timeout.as_secs()));
            let _ = signal::kill(running.pid, Signal::SIGKILL);
            let _ = running.child.wait().await;
        }
        self.running = None;
        self.due = Instant::now();
    }

    fn signal(&self, signal: Signal) {
        // It has not been waited for, so the pid is still its own.
        if let Some(running) = self.running.as_ref().filter(|running| running.child.id().is_some()) {
            let _ = signal::kill(running.pid, signal);
        }
    }
}

/// A child inherits the signal mask of the thread that creates it.
fn spawn_with_blocked_sigterm(command: &mut Command) -> io::Result<Child> {
    let before = SigSet::from(Signal::SIGTERM).thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let child = command.spawn();
    before.thread_set_mask()?;
    child
}

fn describe(status: io::Result<ExitStatus>) -> String {
    status.map_or_else(|error| error.to_string(), |status| status.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> SupervisedProcess {
        let arguments = vec!["-c".to_owned(), script.to_owned()];
        SupervisedProcess::new(Program {
            name: "test".to_owned(),
            path: "/bin/sh".into(),
            arguments,
            on_sigterm: OnSigterm::Default,
        })
    }

    #[tokio::test]
    async fn an_ended_program_may_be_restarted_immediately() {
        let mut process = shell("exit 3");
        process.start().unwrap();

        assert_eq!(process.ended().await, "exit status: 3");

        assert_eq!(process.pid(), None);
        assert!(process.is_due());
        process.start().unwrap();
        process.ended().await;
        assert!(!process.is_due());
    }

    #[tokio::test]
    async fn a_process_that_ignores_sigterm_is_killed() {
        let mut process = shell("trap '' TERM; while :; do sleep 0.1; done");
        process.start().unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let start = Instant::now();

        process.stop(Duration::from_millis(300)).await;

        assert!((300..3000).contains(&start.elapsed().as_millis()));
        assert_eq!(process.pid(), None);
    }

    #[tokio::test]
    async fn a_process_that_blocks_sigterm_is_stopped_by_the_agent_only() {
        // A shell would reset its signal mask.
        let (name, arguments) = ("test".to_owned(), vec!["60".to_owned()]);
        let mut process = SupervisedProcess::new(Program {
            name,
            path: "/bin/sleep".into(),
            arguments,
            on_sigterm: OnSigterm::Blocked,
        });
        process.start().unwrap();

        process.signal(Signal::SIGTERM);

        assert!(time::timeout(Duration::from_millis(500), process.ended()).await.is_err());
        let start = Instant::now();
        process.stop(Duration::from_secs(30)).await;
        assert_eq!(process.pid(), None);
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }

    #[tokio::test]
    async fn sigterm_kills_a_filtered_process_and_other_signals_are_handled() {
        for (signal, ends) in [(Signal::SIGTERM, "signal: 15"), (Signal::SIGHUP, "exit status: 7")] {
            let folder = tempfile::tempdir().unwrap();
            let ready = folder.path().join("ready");
            let script =
                format!("trap 'exit 7' TERM HUP; touch {}; while :; do sleep 0.01; done", ready.display());
            let mut process = shell(&script);
            process.program.on_sigterm = OnSigterm::KillSilently;
            process.start().unwrap();
            while !ready.exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }

            process.signal(signal);

            assert!(process.ended().await.starts_with(ends), "{signal}");
        }
    }

    #[tokio::test]
    async fn a_missing_program_is_reported_by_its_path() {
        let path = PathBuf::from("/nowhere/bgpd");
        let mut process = SupervisedProcess::new(Program {
            name: "bgpd".to_owned(),
            path,
            arguments: Vec::new(),
            on_sigterm: OnSigterm::Default,
        });

        assert_eq!(process.start().unwrap_err().to_string(), "cannot start bgpd (/nowhere/bgpd)");
    }

    #[tokio::test]
    async fn leftovers_of_an_earlier_run_are_stopped_and_other_processes_run_on() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("bgpd.pid").display().to_string();
        let start =
            |word: &str| Command::new("/bin/sh").args(["-c", "sleep 60; :", word]).kill_on_drop(true).spawn();
        let (mut left, mut other) = (start(&mark).unwrap(), start("/elsewhere/bgpd.pid").unwrap());
        let shell = std::fs::canonicalize("/bin/sh").unwrap();
        let name = shell.file_name().unwrap().to_str().unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;

        // Reaped by its parent, as those of an earlier run are by another process.
        let waited = async { left.wait().await.unwrap() };
        let (names, marks) = ([name], [mark.as_str()]);
        let ((), status) =
            tokio::join!(leftover::stop_leftovers(&names, &marks, Duration::from_secs(2)), waited);

        assert!(!status.success());
        assert!(other.try_wait().unwrap().is_none());
    }
}
