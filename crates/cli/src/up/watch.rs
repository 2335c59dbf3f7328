//! Watches a node: observes it repeatedly and reports changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ichor_core::bringup::{NodeAddress, NodeProbe};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::engine::EngineEvent;
use super::observer::NodeObserver;

/// Shortest and longest interval between observations of a machine that does not report changes. In between
/// it is a tenth of the time since the last change, so the delay of a report is small compared to the wait.
const MIN_INTERVAL: Duration = Duration::from_millis(20);
/// With many nodes, the shortest interval grows by this much per node.
const INTERVAL_PER_NODE: Duration = Duration::from_micros(200);
const MAX_INTERVAL: Duration = Duration::from_secs(2);

/// Time limit for one observation.
const OBSERVATION_TIMEOUT: Duration = Duration::from_millis(300);

/// Triggers an immediate observation of a node and discards earlier ones.
#[derive(Default)]
pub(super) struct RefreshSignal {
    epoch: AtomicU64,
    notify: Notify,
}

impl RefreshSignal {
    /// Triggers an observation. Observations of an earlier epoch than the returned one are outdated.
    pub(super) fn request_refresh(&self) -> u64 {
        let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        self.notify.notify_one();
        epoch
    }
}

/// Observes a node until the receiver is dropped, and sends changes.
pub(super) async fn watch_node(
    (nth, of): (usize, u32),
    mut observer: NodeObserver,
    refresh: Arc<RefreshSignal>,
    events: mpsc::UnboundedSender<EngineEvent>,
) {
    let shortest = MIN_INTERVAL.max(INTERVAL_PER_NODE * of).min(MAX_INTERVAL);
    let mut last: Option<(u64, Option<NodeAddress>, NodeProbe)> = None;
    let mut changed = Instant::now();
    loop {
        let epoch = refresh.epoch.load(Ordering::Acquire);
        if last.as_ref().is_some_and(|(seen, ..)| *seen != epoch) {
            observer.reset();
        }
        let (at, probe) = observer.observe(OBSERVATION_TIMEOUT).await;
        let now = Some((epoch, at, probe.clone()));
        if last != now {
            last = now;
            changed = Instant::now();
            if events.send(EngineEvent::Observed { nth, epoch, at, probe }).is_err() {
                return;
            }
        }
        let pause = (changed.elapsed() / 10).clamp(shortest, MAX_INTERVAL);
        tokio::select! {
            () = observer.wait_for_change(pause) => {}
            () = refresh.notify.notified() => {}
            () = events.closed() => return,
        }
    }
}
