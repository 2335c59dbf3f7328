//! Child processes: started, logged, restarted when they end, and stopped.
//!
//! A [`Program`] is what is to run. [`SupervisedProcess`] keeps it running: [`SupervisedProcess::start`], then [`SupervisedProcess::ended`] whenever there is time,
//! and [`SupervisedProcess::stop`]. What an agent that was killed left behind is ended by [`leftover::end`]; what a child left behind
//! is reaped by [`orphan::Reaper`]. `ask` is for programs that answer and end.
//!
//! Not here: whether a daemon answers, and what it is told.

mod ask;
mod backoff;
pub mod leftover;
pub mod orphan;
mod output;
mod silent;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::{self, SigSet, SigmaskHow, Signal};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until, timeout};

use crate::log;
pub(in crate::daemon) use ask::ask;
use backoff::Backoff;

/// Children of this process that somebody waits for.
static AWAITED: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn awaited<T>(with: impl FnOnce(&mut BTreeSet<i32>) -> T) -> T {
    with(&mut AWAITED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A program that shall run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What it is called in the log.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its arguments. No secret is among them: everybody on the machine can read them.
    pub arguments: Vec<String>,
    /// What it does on SIGTERM.
    pub on_sigterm: OnSigterm,
}

/// What a program does on SIGTERM, which all processes of a container get at once when it is stopped. A daemon that would then
/// close its sessions is stopped by the agent instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnSigterm {
    /// What the program itself does.
    Default,
    /// Nothing: the signal is blocked.
    Blocked,
    /// It ends at once, and its sessions are not closed.
    KillSilently,
}

/// A program could not be started.
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
    _starter: Option<silent::StarterThread>,
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        awaited(|pids| pids.remove(&self.pid.as_raw()));
    }
}

impl SupervisedProcess {
    /// A program that does not run yet.
    pub fn new(program: Program) -> Self {
        Self { program, running: None, backoff: Backoff::default(), due: Instant::now() }
    }

    /// What shall run.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The process, while there is one.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().and_then(|running| u32::try_from(running.pid.as_raw()).ok())
    }

    /// Starts the program now, unless it runs. What it says goes to the log under its name.
    pub fn start(&mut self) -> Result<(), StartError> {
        if self.running.is_some() {
            return Ok(());
        }
        let Program { name, path, arguments, on_sigterm } = &self.program;
        let failed = |source| StartError { name: name.clone(), path: path.clone(), source };
        let mut command = Command::new(path);
        // A group of its own: what is typed at a terminal is meant for the agent.
        command.args(arguments).process_group(0).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Held while the process is made, so that nobody takes it for an orphan.
        let running = awaited(|pids| {
            let (child, starter) = match on_sigterm {
                OnSigterm::Default => (command.spawn()?, None),
                OnSigterm::Blocked => (spawn_deaf(&mut command)?, None),
                OnSigterm::KillSilently => {
                    silent::spawn(command).map(|(child, starter)| (child, Some(starter)))?
                }
            };
            let id = child.id().and_then(|id| i32::try_from(id).ok());
            let pid = id.ok_or_else(|| io::Error::other("it has no process id"))?;
            pids.insert(pid);
            Ok(RunningProcess { child, pid: Pid::from_raw(pid), since: Instant::now(), _starter: starter })
        });
        let mut running = running.map_err(|error| {
            self.due = Instant::now() + self.backoff.after(Duration::ZERO);
            failed(error)
        })?;
        output::forward(name, running.child.stdout.take());
        output::forward(name, running.child.stderr.take());
        log::debug(format_args!("{name} runs as process {}", running.pid));
        self.running = Some(running);
        Ok(())
    }

    /// Waits until the process ends, and for ever while there is none. Nothing is lost when it is not waited for any longer.
    pub async fn ended(&mut self) -> String {
        let Some(running) = &mut self.running else { return std::future::pending().await };
        let status = running.child.wait().await;
        let ran = running.since.elapsed();
        self.running = None;
        self.due = Instant::now() + self.backoff.after(ran);
        told(status)
    }

    /// Waits until the program may be started again: at once after its first end, then ever longer, until it ran for a while.
    pub async fn may_start(&self) {
        sleep_until(self.due).await;
    }

    /// Whether the program may be started now.
    pub fn is_due(&self) -> bool {
        self.due <= Instant::now()
    }

    /// Ends the process at once: it does not answer.
    pub fn kill(&self) {
        self.signal(Signal::SIGKILL);
    }

    /// Ends the process: asks it to, and makes it when it takes too long. One that is deaf to SIGTERM hears SIGINT.
    pub async fn stop(&mut self, patience: Duration) {
        let asked = match self.program.on_sigterm {
            OnSigterm::Blocked => Signal::SIGINT,
            OnSigterm::Default | OnSigterm::KillSilently => Signal::SIGTERM,
        };
        self.end(asked, patience).await;
    }

    /// Ends the process so that it cannot say good-bye to anybody.
    pub async fn cut(&mut self) {
        self.end(Signal::SIGKILL, Duration::from_secs(1)).await;
    }

    async fn end(&mut self, first: Signal, patience: Duration) {
        self.signal(first);
        let Some(running) = &mut self.running else { return };
        let name = &self.program.name;
        if timeout(patience, running.child.wait()).await.is_err() {
            log::warn(format_args!("{name} has not ended within {} s and is killed", patience.as_secs()));
            let _ = signal::kill(running.pid, Signal::SIGKILL);
            let _ = running.child.wait().await;
        }
        self.running = None;
        self.due = Instant::now();
    }

    fn signal(&self, signal: Signal) {
        // Not yet waited for, so the number is still this process' own.
        if let Some(running) = self.running.as_ref().filter(|running| running.child.id().is_some()) {
            let _ = signal::kill(running.pid, signal);
        }
    }
}

/// A child has the signal mask of the thread that makes it.
fn spawn_deaf(command: &mut Command) -> io::Result<Child> {
    let before = SigSet::from(Signal::SIGTERM).thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let child = command.spawn();
    before.thread_set_mask()?;
    child
}

fn told(status: io::Result<ExitStatus>) -> String {
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
    async fn an_end_is_noticed_and_the_program_may_start_again_at_once() {
        let mut kept = shell("exit 3");
        kept.start().unwrap();

        assert_eq!(kept.ended().await, "exit status: 3");

        assert_eq!(kept.pid(), None);
        assert!(kept.is_due());
        kept.start().unwrap();
        kept.ended().await;
        assert!(!kept.is_due());
    }

    #[tokio::test]
    async fn who_does_not_end_when_asked_is_made_to() {
        let mut kept = shell("trap '' TERM; while :; do sleep 0.1; done");
        kept.start().unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let start = Instant::now();

        kept.stop(Duration::from_millis(300)).await;

        assert!((300..3000).contains(&start.elapsed().as_millis()));
        assert_eq!(kept.pid(), None);
    }

    #[tokio::test]
    async fn who_is_deaf_ends_when_the_agent_says_so_and_not_when_all_are_told_to() {
        // A shell would take its signal mask off.
        let (name, arguments) = ("test".to_owned(), vec!["60".to_owned()]);
        let mut kept = SupervisedProcess::new(Program {
            name,
            path: "/bin/sleep".into(),
            arguments,
            on_sigterm: OnSigterm::Blocked,
        });
        kept.start().unwrap();

        kept.signal(Signal::SIGTERM);

        assert!(timeout(Duration::from_millis(500), kept.ended()).await.is_err());
        let start = Instant::now();
        kept.stop(Duration::from_secs(30)).await;
        assert_eq!(kept.pid(), None);
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }

    #[tokio::test]
    async fn who_is_silent_ends_without_a_word_and_heeds_other_signals() {
        for (signal, ends) in [(Signal::SIGTERM, "signal: 15"), (Signal::SIGHUP, "exit status: 7")] {
            let folder = tempfile::tempdir().unwrap();
            let ready = folder.path().join("ready");
            let script =
                format!("trap 'exit 7' TERM HUP; touch {}; while :; do sleep 0.01; done", ready.display());
            let mut kept = shell(&script);
            kept.program.on_sigterm = OnSigterm::KillSilently;
            kept.start().unwrap();
            while !ready.exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }

            kept.signal(signal);

            assert!(kept.ended().await.starts_with(ends), "{signal}");
        }
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let path = PathBuf::from("/nowhere/bgpd");
        let mut kept = SupervisedProcess::new(Program {
            name: "bgpd".to_owned(),
            path,
            arguments: Vec::new(),
            on_sigterm: OnSigterm::Default,
        });

        assert_eq!(kept.start().unwrap_err().to_string(), "cannot start bgpd (/nowhere/bgpd)");
    }

    #[tokio::test]
    async fn what_an_earlier_run_left_is_ended_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("bgpd.pid").display().to_string();
        let start =
            |word: &str| Command::new("/bin/sh").args(["-c", "sleep 60; :", word]).kill_on_drop(true).spawn();
        let (mut left, mut other) = (start(&mark).unwrap(), start("/elsewhere/bgpd.pid").unwrap());
        let shell = std::fs::canonicalize("/bin/sh").unwrap();
        let name = shell.file_name().unwrap().to_str().unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;

        // Reaped by the one who started it, as an earlier run's are by somebody else.
        let waited = async { left.wait().await.unwrap() };
        let (names, marks) = ([name], [mark.as_str()]);
        let ((), status) = tokio::join!(leftover::end(&names, &marks, Duration::from_secs(2)), waited);

        assert!(!status.success());
        assert!(other.try_wait().unwrap().is_none());
    }
}
