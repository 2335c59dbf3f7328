//! Builds a running lab from a topology.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::kill;
use nix::unistd::Pid;

use super::init::{ERROR_PREFIX, KEEP_ALIVE, own_executable};
use super::machine::CABLES_READY;
use super::record::LabRecord;
use super::registry::{LabError, LockedLabDir};
use super::{Lab, established, switch};
use crate::progress::Progress;

/// Time limit for creating namespaces and cables.
const NAMESPACE_TIMEOUT: Duration = Duration::from_mins(2);

/// Number of log lines in an error.
const LOG_LINES: usize = 8;

/// Interval between polls of the sessions.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Errors of building a lab.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LabBuildError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("cannot start the lab")]
    Start(#[source] io::Error),
    #[error("the init process of the lab exited: {0}")]
    Ended(String),
    #[error("cannot create {what}")]
    Make { what: String, source: io::Error },
    #[error("{machine}: {reason}")]
    Machine { machine: String, reason: String },
}

/// A lab under construction. It ends on drop, unless it was kept alive.
pub(crate) struct LabBuilder {
    pub lab: Lab,
    line: UnixStream,
    messages: Receiver<String>,
    running: BTreeSet<usize>,
    start: Instant,
}

impl LabBuilder {
    /// Creates the namespaces of a lab and its machines and the cables between them, and starts the services.
    pub(crate) fn start(taken: LockedLabDir, record: LabRecord, keep: bool) -> Result<Self, LabBuildError> {
        let start = Instant::now();
        let dir = taken.dir.clone();
        record.write(&dir)?;
        let (line, remote) = UnixStream::pair().map_err(LabBuildError::Start)?;
        let log = dir.log("lab");
        let spawn_init = || {
            let mut command = own_executable();
            command.args(["lab", "hold"]).arg(dir.path());
            command.stdin(taken.lock).stdout(OwnedFd::from(remote)).stderr(File::create(&log)?);
            command.status()
        };
        let status = spawn_init().map_err(LabBuildError::Start)?;
        if !status.success() {
            return Err(LabBuildError::Ended(fs::read_to_string(&log).unwrap_or_default().trim().to_owned()));
        }
        let messages = read_lines(&line).map_err(LabBuildError::Start)?;
        let mut site = Self { lab: Lab { dir, record }, line, messages, running: BTreeSet::new(), start };
        if keep {
            site.keep_alive()?;
        }
        site.wait_for_machines()?;
        site.lab.record.write(&site.lab.dir)?;
        site.connect_machines()?;
        Ok(site)
    }

    /// Keeps the lab running after this process exits.
    pub(crate) fn keep_alive(&mut self) -> Result<(), LabBuildError> {
        self.line.write_all(&[KEEP_ALIVE]).map_err(LabBuildError::Start)
    }

    /// Waits for the init process of every machine.
    fn wait_for_machines(&mut self) -> Result<(), LabBuildError> {
        let count = self.lab.topology().machines.len();
        let progress = Progress::count("creating machines", count);
        self.lab.record.machine_pids = vec![0; count];
        let mut left = count + 1;
        while left > 0 {
            let (sender, pid) = self.next_message(NAMESPACE_TIMEOUT)?.unwrap_or_default();
            let pid = pid.parse().unwrap_or_default();
            match sender {
                Some(nth) => self.lab.record.machine_pids[nth] = pid,
                None => self.lab.record.switch_pid = pid,
            }
            left -= 1;
            progress.step();
        }
        Ok(())
    }

    /// The next message with its machine; none if no message arrives in time.
    fn next_message(&self, timeout: Duration) -> Result<Option<(Option<usize>, String)>, LabBuildError> {
        let line = match self.messages.recv_timeout(timeout) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                let messages = fs::read_to_string(self.lab.dir.log("lab")).unwrap_or_default();
                return Err(LabBuildError::Ended(messages.trim().to_owned()));
            }
        };
        let (sender, what) = line.split_once(' ').unwrap_or((&line, ""));
        let nth = sender.parse::<usize>().ok();
        if let Some(reason) = what.strip_prefix(ERROR_PREFIX) {
            let machine = nth.and_then(|nth| self.lab.topology().machines.get(nth));
            let machine = machine.map_or_else(|| sender.to_owned(), |machine| machine.name.clone());
            let last = log_tail(&self.lab.dir.log(&machine));
            return Err(LabBuildError::Machine { machine, reason: format!("{}{last}", reason.trim()) });
        }
        Ok(Some((nth, what.to_owned())))
    }

    /// Creates all cables, then configures every machine and starts its services.
    fn connect_machines(&self) -> Result<(), LabBuildError> {
        let LabRecord { topology, host, switch_pid, machine_pids, .. } = &self.lab.record;
        switch::create_cables(topology, *switch_pid, machine_pids, host.dummy)
            .map_err(|source| LabBuildError::Make { what: "cables".to_owned(), source })?;
        let all: Vec<_> = topology.machines.iter().zip(machine_pids).collect();
        let workers = thread::available_parallelism().map_or(1, usize::from) * 2;
        let share = all.len().div_ceil(workers).max(1);
        thread::scope(|scope| {
            let configure = |(machine, pid): &(&ichor_core::lab::topology::LabMachine, &i32)| {
                let result = switch::configure_machine(machine, **pid, host.dummy);
                let result = result.and_then(|()| Ok(kill(Pid::from_raw(**pid), CABLES_READY)?));
                result.map_err(|source| LabBuildError::Make {
                    what: format!("the links of {}", machine.name),
                    source,
                })
            };
            let handles: Vec<_> = all
                .chunks(share)
                .map(|some| scope.spawn(move || some.iter().try_for_each(configure)))
                .collect();
            handles.into_iter().try_for_each(|handle| handle.join().expect("no thread panics"))
        })
    }

    /// Waits until all services run and every expected session is established; returns what is pending at the time limit.
    pub(crate) fn wait_for_sessions(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<PendingCounts>, LabBuildError> {
        let topology = self.lab.topology();
        let expected: BTreeSet<usize> =
            (0..topology.sessions.len()).filter(|nth| topology.sessions[*nth].fault.is_none()).collect();
        let machines = topology.machines.len();
        let progress = Progress::count("sessions", expected.len());
        let mut known = 0;
        loop {
            let up = established::established_sessions(&self.lab);
            let count = expected.intersection(&up).count();
            progress.steps(count.saturating_sub(known) as u64);
            known = known.max(count);
            let unsettled =
                PendingCounts { sessions: expected.len() - count, machines: machines - self.running.len() };
            if unsettled.sessions + unsettled.machines == 0 {
                self.lab.record.convergence_ms = u64::try_from(self.start.elapsed().as_millis()).ok();
                self.lab.record.write(&self.lab.dir)?;
                return Ok(None);
            }
            if self.start.elapsed() > timeout {
                return Ok(Some(unsettled));
            }
            let pause = Instant::now();
            while let Some((nth, _)) = self.next_message(POLL_INTERVAL.saturating_sub(pause.elapsed()))? {
                self.running.extend(nth);
            }
        }
    }
}

/// Pending parts of a lab.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingCounts {
    /// Number of sessions that are not established.
    sessions: usize,
    /// Number of machines that are still starting services.
    machines: usize,
}

impl fmt::Display for PendingCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = |count: usize, one: &str, more: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {more}"),
        };
        let sessions = many(self.sessions, "session is not established", "sessions are not established");
        let machines = many(self.machines, "machine is still starting", "machines are still starting");
        match (self.sessions, self.machines) {
            (_, 0) => f.write_str(&sessions),
            (0, _) => f.write_str(&machines),
            _ => write!(f, "{sessions}, and {machines}"),
        }
    }
}

impl Drop for LabBuilder {
    fn drop(&mut self) {
        // The reader thread still has the socket open.
        let _ = self.line.shutdown(Shutdown::Both);
    }
}

/// The last lines of a log, with passwords redacted, for an error message: the log is removed with the lab.
fn log_tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("password")).collect();
    let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
    last.iter().flat_map(|line| ["\n  ", line]).collect()
}

/// Reads messages until all processes of the lab have closed the socket.
fn read_lines(line: &UnixStream) -> io::Result<Receiver<String>> {
    let (to, from) = channel();
    let lines = BufReader::new(line.try_clone()?).lines();
    thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| to.send(line)));
    Ok(from)
}
