//! Orphans: processes that a child started and left behind. In a container the agent is the first process and inherits
//! them.

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

use super::with_awaited;
use crate::log;

/// Reaps ended orphans.
#[derive(Debug, Default)]
pub struct Reaper {
    seen: Option<Pid>,
}

impl Reaper {
    /// A reaper for this process, which inherits orphaned descendants from now on.
    pub fn new() -> Self {
        if let Err(error) = prctl::set_child_subreaper(true) {
            log::debug(format_args!("cannot become the parent of orphans: {error}"));
        }
        Self::default()
    }

    /// Reaps orphans that ended before the last call. Call it regularly: a task that waits for a child has reaped it by
    /// then.
    pub fn reap(&mut self) {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        while let Ok(status) = waitid(Id::All, flags) {
            let Some(pid) = status.pid().filter(|_| status != WaitStatus::StillAlive) else { break };
            let is_awaited = with_awaited(|pids| pids.contains(&pid.as_raw()));
            if is_awaited || self.seen != Some(pid) {
                self.seen = Some(pid).filter(|_| !is_awaited);
                return;
            }
            if waitpid(pid, Some(WaitPidFlag::WNOHANG)) == Err(Errno::ECHILD) {
                return;
            }
            self.seen = None;
        }
    }
}
