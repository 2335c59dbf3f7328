//! Folders for what is only for a moment: gone with whoever made them, also when somebody presses Ctrl-C.
//!
//! Programs of this machine want files with names, so these cannot be without one. Signals that end the program are taken by a thread of their
//! own, which removes such folders first, and waits for what must not be half done.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;

use nix::sys::signal::{SigSet, Signal};
use tempfile::TempDir;

/// Signals that end a program in front of which somebody sits.
const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Folders that are there now. Who holds this is not interrupted.
static FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A folder for its owner alone.
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

/// Lets signals remove what is there before they end the program. Before any other thread is started: those have the same signals blocked.
pub(crate) fn install_signal_handler() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let signals: SigSet = SIGNALS.into_iter().collect();
        if signals.thread_block().is_ok() {
            thread::spawn(move || {
                let Ok(signal) = signals.wait() else { return };
                let folders = folders();
                for folder in folders.iter() {
                    let _ = fs::remove_dir_all(folder);
                }
                // Nobody else goes on meanwhile.
                process::exit(128 + signal as i32);
            });
        }
    });
}

/// Does something that is done as a whole, whoever presses what.
pub(crate) fn run_uninterrupted<T>(work: impl FnOnce() -> T) -> T {
    let _held = folders();
    work()
}
