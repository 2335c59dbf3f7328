//! Orphans: what a child started and left behind. In a container the agent is the first process, and they become its own.

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

use super::awaited;
use crate::log;

/// Takes ended orphans off the list of processes.
#[derive(Debug, Default)]
pub struct Reaper {
    seen: Option<Pid>,
}

impl Reaper {
    /// One for this process, which orphans among its descendants are given to from now on.
    pub fn new() -> Self {
        if let Err(error) = prctl::set_child_subreaper(true) {
            log::debug(format_args!("orphans go to another process: {error}"));
        }
        Self::default()
    }

    /// Reaps what ended before the last call. Call it once in a while: whoever awaits a child has long had its end by then.
    pub fn reap(&mut self) {
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        while let Ok(status) = waitid(Id::All, look) {
            let Some(pid) = status.pid().filter(|_| status != WaitStatus::StillAlive) else { break };
            let ours = awaited(|pids| pids.contains(&pid.as_raw()));
            if ours || self.seen != Some(pid) {
                self.seen = Some(pid).filter(|_| !ours);
                return;
            }
            if waitpid(pid, Some(WaitPidFlag::WNOHANG)) == Err(Errno::ECHILD) {
                return;
            }
            self.seen = None;
        }
    }
}
