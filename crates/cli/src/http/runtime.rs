//! The runtime in which requests run while other threads wait for them.

use std::future::Future;
use std::io;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use super::RequestError;

/// It lives as long as the process: a runtime must not be dropped by a task, and clients are.
static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

fn handle() -> io::Result<Handle> {
    let mut held = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if held.is_none() {
        *held = Some(Builder::new_multi_thread().worker_threads(1).thread_name("http").enable_all().build()?);
    }
    Ok(held.as_ref().expect("made above").handle().clone())
}

/// Work that was started, and its result.
pub(super) struct Started<T> {
    task: JoinHandle<()>,
    result: Receiver<T>,
}

/// Starts work in the background.
pub(super) fn start<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<Started<T>, RequestError> {
    let (tell, result) = sync_channel(1);
    let task = handle().map_err(RequestError::Connect)?.spawn(async move {
        // Nobody may wait any more.
        let _ = tell.send(work.await);
    });
    Ok(Started { task, result })
}

impl<T> Started<T> {
    pub(super) fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits for the result. Unlike a runtime's own `block_on` it may be called by tasks of other runtimes.
    pub(super) fn wait(self) -> Result<T, RequestError> {
        self.result.recv().map_err(|_| RequestError::Connect(io::Error::other("the request was given up")))
    }
}

impl<T> Drop for Started<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Does work, and waits for its result.
pub(super) fn wait<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, RequestError> {
    start(work)?.wait()
}
