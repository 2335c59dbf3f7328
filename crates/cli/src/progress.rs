//! A line that says that work goes on, for whoever sits in front of a terminal.

use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A line that counts seconds until it is dropped; nothing where nobody looks.
pub(crate) struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// Starts to say `what`.
    pub(crate) fn start(what: &'static str) -> Self {
        Self(std::io::stderr().is_terminal().then(|| {
            let (stop, stopped) = mpsc::channel();
            let line = thread::spawn(move || {
                let start = Instant::now();
                let mut stderr = std::io::stderr();
                // Whoever reads may be gone: the work goes on without them.
                while stopped.recv_timeout(Duration::from_millis(200)) == Err(RecvTimeoutError::Timeout) {
                    let _ = write!(stderr, "\r{what} … {} s", start.elapsed().as_secs());
                    let _ = stderr.flush();
                }
                let _ = write!(stderr, "\r\x1b[K");
            });
            (stop, line)
        }))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, line)) = self.0.take() {
            drop(stop);
            let _ = line.join();
        }
    }
}
