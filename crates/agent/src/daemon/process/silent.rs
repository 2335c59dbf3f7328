//! A program that ends without a word when all processes of its container are told to end.
//!
//! gobgpd takes a signal mask off, and says good-bye to its neighbours on SIGTERM: they would forget the node's routes although it
//! comes back at once. A filter on its system calls keeps it from asking for that signal, and answers that all is well. What is left
//! is what the kernel does with a signal that nobody asked for: the process ends there and then, as by SIGKILL.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::thread;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

/// The thread that started a program. It stays as long as this: a program can ask to end with the thread that made it.
#[derive(Debug)]
pub(super) struct StarterThread(#[expect(dead_code, reason = "it is there to be dropped")] Sender<()>);

/// Starts a program so, in a thread that has the filter: a child has it from there.
pub(super) fn spawn(mut command: Command) -> io::Result<(Child, StarterThread)> {
    let filter = filter().map_err(io::Error::other)?;
    let runtime = Handle::current();
    let (answer, answered) = mpsc::channel();
    let (stays, ended) = mpsc::channel();
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
    Ok((started?, StarterThread(stays)))
}

/// Every call is let through, but those that say what to do on SIGTERM: they are answered, and not done.
fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let asks = SeccompCondition::new(
        0,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Eq,
        u64::from(libc::SIGTERM.unsigned_abs()),
    )?;
    let rules = [(libc::SYS_rt_sigaction, vec![SeccompRule::new(vec![asks])?])];
    SeccompFilter::new(
        rules.into(),
        SeccompAction::Allow,
        SeccompAction::Errno(0),
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}
