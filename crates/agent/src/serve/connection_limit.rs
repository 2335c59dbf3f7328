//! A limit on concurrent connections.

use std::collections::VecDeque;
use std::future::Future;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time;

use super::REQUEST_TIMEOUT;

/// The maximum number of concurrent connections.
const MAX_CONNECTIONS: usize = 32;

/// The connections being served. They are closed when this is dropped.
#[derive(Default)]
pub(super) struct ConnectionLimit {
    tasks: JoinSet<()>,
    oldest_first: VecDeque<AbortHandle>,
}

impl ConnectionLimit {
    /// Serves another connection. Above the limit, the oldest is closed: it had the most time.
    pub(super) fn serve(&mut self, serving: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.oldest_first.retain(|connection| !connection.is_finished());
        if self.oldest_first.len() >= MAX_CONNECTIONS
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            oldest.abort();
        }
        let within = async {
            // A connection that takes longer is closed.
            let _ = time::timeout(REQUEST_TIMEOUT, serving).await;
        };
        self.oldest_first.push_back(self.tasks.spawn(within));
    }
}
