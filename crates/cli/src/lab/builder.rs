//! The way from a scene to a lab that runs.

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

/// How long namespaces and cables may take.
const NAMESPACE_TIMEOUT: Duration = Duration::from_mins(2);

/// So many lines of a log are told.
const LOG_LINES: usize = 8;

/// Between two looks at the sessions.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Why a lab did not come up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LabBuildError {
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error("cannot start the lab")]
    Start(#[source] io::Error),
    #[error("the lab's first process ended; it said: {0}")]
    Ended(String),
    #[error("cannot make {what}")]
    Make { what: String, source: io::Error },
    #[error("{machine}: {reason}")]
    Machine { machine: String, reason: String },
}

/// A lab that is being built. Unless it is told to stay, it ends when this is dropped.
pub(crate) struct LabBuilder {
    pub lab: Lab,
    line: UnixStream,
    messages: Receiver<String>,
    running: BTreeSet<usize>,
    start: Instant,
}

impl LabBuilder {
    /// Makes the namespaces of a lab and of all its machines, the cables between them, and starts what runs in them.
    pub(crate) fn start(taken: LockedLabDir, record: LabRecord, keep: bool) -> Result<Self, LabBuildError> {
        let start = Instant::now();
        let place = taken.place.clone();
        record.write(&place)?;
        let (line, theirs) = UnixStream::pair().map_err(LabBuildError::Start)?;
        let log = place.log("lab");
        let spawn_init = || {
            let mut command = own_executable();
            command.args(["lab", "hold"]).arg(place.path());
            command.stdin(taken.lock).stdout(OwnedFd::from(theirs)).stderr(File::create(&log)?);
            command.status()
        };
        let status = spawn_init().map_err(LabBuildError::Start)?;
        if !status.success() {
            return Err(LabBuildError::Ended(fs::read_to_string(&log).unwrap_or_default().trim().to_owned()));
        }
        let messages = read_lines(&line).map_err(LabBuildError::Start)?;
        let mut site = Self { lab: Lab { place, record }, line, messages, running: BTreeSet::new(), start };
        if keep {
            site.keep_alive()?;
        }
        site.wait_for_machines()?;
        site.lab.record.write(&site.lab.place)?;
        site.connect_machines()?;
        Ok(site)
    }

    /// Lets the lab live on.
    pub(crate) fn keep_alive(&mut self) -> Result<(), LabBuildError> {
        self.line.write_all(&[KEEP_ALIVE]).map_err(LabBuildError::Start)
    }

    /// Waits for the first process of every machine.
    fn wait_for_machines(&mut self) -> Result<(), LabBuildError> {
        let count = self.lab.scene().machines.len();
        let progress = Progress::count("making machines", count);
        self.lab.record.machines = vec![0; count];
        let mut left = count + 1;
        while left > 0 {
            let (who, pid) = self.next_message(NAMESPACE_TIMEOUT)?.unwrap_or_default();
            let pid = pid.parse().unwrap_or_default();
            match who {
                Some(nth) => self.lab.record.machines[nth] = pid,
                None => self.lab.record.hub = pid,
            }
            left -= 1;
            progress.step();
        }
        Ok(())
    }

    /// Who said what; none when nobody said anything for so long.
    fn next_message(&self, patience: Duration) -> Result<Option<(Option<usize>, String)>, LabBuildError> {
        let line = match self.messages.recv_timeout(patience) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                let messages = fs::read_to_string(self.lab.place.log("lab")).unwrap_or_default();
                return Err(LabBuildError::Ended(messages.trim().to_owned()));
            }
        };
        let (who, what) = line.split_once(' ').unwrap_or((&line, ""));
        let nth = who.parse::<usize>().ok();
        if let Some(reason) = what.strip_prefix(ERROR_PREFIX) {
            let machine = nth.and_then(|nth| self.lab.scene().machines.get(nth));
            let machine = machine.map_or_else(|| who.to_owned(), |machine| machine.name.clone());
            let last = log_tail(&self.lab.place.log(&machine));
            return Err(LabBuildError::Machine { machine, reason: format!("{}{last}", reason.trim()) });
        }
        Ok(Some((nth, what.to_owned())))
    }

    /// Makes all cables, then gives every machine its addresses and lets it start.
    fn connect_machines(&self) -> Result<(), LabBuildError> {
        let LabRecord { scene, here, hub, machines, .. } = &self.lab.record;
        switch::create_cables(scene, *hub, machines, here.dummy)
            .map_err(|source| LabBuildError::Make { what: "cables".to_owned(), source })?;
        let all: Vec<_> = scene.machines.iter().zip(machines).collect();
        let workers = thread::available_parallelism().map_or(1, usize::from) * 2;
        let share = all.len().div_ceil(workers).max(1);
        thread::scope(|scope| {
            let begin = |(machine, pid): &(&ichor_core::lab::scene::LabMachine, &i32)| {
                let made = switch::configure_machine(machine, **pid, here.dummy);
                let made = made.and_then(|()| Ok(kill(Pid::from_raw(**pid), CABLES_READY)?));
                made.map_err(|source| LabBuildError::Make {
                    what: format!("the links of {}", machine.name),
                    source,
                })
            };
            let handles: Vec<_> =
                all.chunks(share).map(|some| scope.spawn(move || some.iter().try_for_each(begin))).collect();
            handles.into_iter().try_for_each(|handle| handle.join().expect("no thread panics"))
        })
    }

    /// Waits until everything runs and every session that shall is established; tells what is not when the time is over.
    pub(crate) fn wait_for_sessions(
        &mut self,
        timeout: Duration,
    ) -> Result<Option<PendingCounts>, LabBuildError> {
        let scene = self.lab.scene();
        let expected: BTreeSet<usize> =
            (0..scene.sessions.len()).filter(|nth| scene.sessions[*nth].fault.is_none()).collect();
        let machines = scene.machines.len();
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
                self.lab.record.took = u64::try_from(self.start.elapsed().as_millis()).ok();
                self.lab.record.write(&self.lab.place)?;
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

/// What of a lab is not as it shall be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingCounts {
    /// How many sessions are not established.
    sessions: usize,
    /// In how many machines something is still being started.
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
        // Whoever reads still has the line open.
        let _ = self.line.shutdown(Shutdown::Both);
    }
}

/// The end of a log, without passwords, for a reason that is told before it is gone.
fn log_tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("password")).collect();
    let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
    last.iter().flat_map(|line| ["\n  ", line]).collect()
}

/// Reads the lines of a lab until nobody can say any more.
fn read_lines(line: &UnixStream) -> io::Result<Receiver<String>> {
    let (to, from) = channel();
    let lines = BufReader::new(line.try_clone()?).lines();
    thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| to.send(line)));
    Ok(from)
}
