//! Temporary folders that are removed on exit, even after Ctrl-C.
//!
//! External programs need files with names, so unnamed files do not suffice. A separate thread receives termination
//! signals, waits for work that must not be interrupted, and removes the folders.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use nix::sys::signal::{SigSet, Signal};
use tempfile::TempDir;

/// Signals that terminate an interactive program.
const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Existing folders. Signals do not interrupt the holder of the lock.
static FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A temporary folder that only its owner can access.
pub(crate) struct ScratchFolder(TempDir);

impl ScratchFolder {
    pub(crate) fn new() -> io::Result<Self> {
        let mut folders = folders();
        let folder = tempfile::Builder::new().prefix("ichor-").tempdir()?;
        folders.insert(folder.path().to_owned());
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        folders().remove(self.0.path());
    }
}

fn folders() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the folders when a signal terminates the program. Must run before other threads start: they inherit the signal mask.
pub(crate) fn install_signal_handler() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let signals: SigSet = SIGNALS.into_iter().collect();
        if signals.thread_block().is_ok() {
            thread::spawn(move || {
                let Ok(signal) = signals.wait() else { return };
                let folders = folders();
                for folder in folders.iter() {
                    let _ = fs::remove_dir_all(folder);
                }
                // The lock is still held, so no uninterruptible work is running.
                process::exit(128 + signal as i32);
            });
        }
    });
}

/// Runs `work` to its end before a signal terminates the program.
pub(crate) fn run_uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    let _held = folders();
    work()
}
