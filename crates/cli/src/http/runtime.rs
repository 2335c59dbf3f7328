//! Background runtime of blocking requests.

use std::future::Future;
use std::io;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use super::RequestError;

/// Static, because clients may be dropped in async tasks, where a runtime must not be dropped.
static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

fn handle() -> io::Result<Handle> {
    let mut held = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if held.is_none() {
        *held = Some(Builder::new_multi_thread().worker_threads(1).thread_name("http").enable_all().build()?);
    }
    Ok(held.as_ref().expect("made above").handle().clone())
}

/// A task in the background and its result.
pub(super) struct BackgroundTask<T> {
    task: JoinHandle<()>,
    result: Receiver<T>,
}

/// Starts a task in the background.
pub(super) fn start<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<BackgroundTask<T>, RequestError> {
    let (tell, result) = sync_channel(1);
    let task = handle().map_err(RequestError::Connect)?.spawn(async move {
        // The receiver may be gone.
        let _ = tell.send(work.await);
    });
    Ok(BackgroundTask { task, result })
}

impl<T> BackgroundTask<T> {
    pub(super) fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits for the result. Unlike `block_on` it may be called in tasks of other runtimes.
    pub(super) fn wait(self) -> Result<T, RequestError> {
        self.result.recv().map_err(|_| RequestError::Connect(io::Error::other("the request was aborted")))
    }
}

impl<T> Drop for BackgroundTask<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs a task and waits for its result.
pub(super) fn wait<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, RequestError> {
    start(work)?.wait()
}
