//! A limit on the connections that are served at once.

use std::collections::VecDeque;
use std::future::Future;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time;

use super::REQUEST_TIMEOUT;

/// The most connections at once.
const MOST: usize = 32;

/// The connections that are being served. They end when it is dropped.
#[derive(Default)]
pub(super) struct ConnectionLimit {
    tasks: JoinSet<()>,
    oldest_first: VecDeque<AbortHandle>,
}

impl ConnectionLimit {
    /// Serves one more. Where there are too many, the oldest goes: it had the most time.
    pub(super) fn admit(&mut self, serving: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.oldest_first.retain(|connection| !connection.is_finished());
        if self.oldest_first.len() >= MOST
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            oldest.abort();
        }
        let within = async {
            // Who is not done by then is told nothing more.
            let _ = time::timeout(REQUEST_TIMEOUT, serving).await;
        };
        self.oldest_first.push_back(self.tasks.spawn(within));
    }
}
