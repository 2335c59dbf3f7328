//! A program that SIGTERM kills immediately, although it has a handler for it.
//!
//! gobgpd resets its signal mask, and closes its sessions on SIGTERM: neighbours would drop the node's routes although
//! it comes back immediately. A seccomp filter makes its calls that install a handler for SIGTERM succeed without
//! effect. The kernel then applies the default action: the process ends at once, as by SIGKILL.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::thread;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

/// The thread that started a program. It exists as long as this: a program can ask to end with the thread that created
/// it.
#[derive(Debug)]
pub(super) struct StarterThread(#[expect(dead_code, reason = "kept for its destructor")] Sender<()>);

/// Starts a program in a thread with the filter, which the child inherits.
pub(super) fn spawn(mut command: Command) -> io::Result<(Child, StarterThread)> {
    let filter = filter().map_err(io::Error::other)?;
    let runtime = Handle::current();
    let (answer, answered) = mpsc::channel();
    let (keeper, ended) = mpsc::channel();
    thread::spawn(move || {
        let filtered = seccompiler::apply_filter(&filter).map_err(io::Error::other);
        let started = filtered.and_then(|()| {
            let _inside = runtime.enter();
            command.spawn()
        });
        let _ = answer.send(started);
        let _ = ended.recv();
    });
    let started =
        answered.recv().unwrap_or_else(|_| Err(io::Error::other("the thread that starts it ended")));
    Ok((started?, StarterThread(keeper)))
}

/// Allows every system call except those that set the handler of SIGTERM, which return success without effect.
fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let is_sigterm = SeccompCondition::new(
        0,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Eq,
        u64::from(libc::SIGTERM.unsigned_abs()),
    )?;
    let rules = [(libc::SYS_rt_sigaction, vec![SeccompRule::new(vec![is_sigterm])?])];
    SeccompFilter::new(
        rules.into(),
        SeccompAction::Allow,
        SeccompAction::Errno(0),
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}
