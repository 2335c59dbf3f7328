//! Connections that are being served.

use std::collections::VecDeque;
use std::future::Future;

use tokio::task::{AbortHandle, JoinSet};
use tokio::time;

use super::VISIT;

/// So many at once.
const MOST: usize = 32;

/// Those that are being served; they end with it.
#[derive(Default)]
pub(super) struct Guests {
    tasks: JoinSet<()>,
    oldest_first: VecDeque<AbortHandle>,
}

impl Guests {
    /// Serves one more. Where there are too many, the oldest goes: it had the most time.
    pub(super) fn admit(&mut self, serving: impl Future<Output = ()> + Send + 'static) {
        while self.tasks.try_join_next().is_some() {}
        self.oldest_first.retain(|guest| !guest.is_finished());
        if self.oldest_first.len() >= MOST
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            oldest.abort();
        }
        let within = async {
            // Who is not done by then is told nothing more.
            let _ = time::timeout(VISIT, serving).await;
        };
        self.oldest_first.push_back(self.tasks.spawn(within));
    }
}
