//! Looking at a node again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ichor_core::bringup::{Contact, Look};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::engine::Told;
use super::look::Eye;

/// The shortest and the longest pause between two looks at a machine that does not tell by itself when something changes. In between
/// it is a tenth of the time since something changed, so that what takes long is not told much later than it happened.
const SHORTEST: Duration = Duration::from_millis(20);
/// Where many are looked at, the shortest pause is so long for each of them.
const FOR_EACH: Duration = Duration::from_micros(200);
const LONGEST: Duration = Duration::from_secs(2);

/// How long one look waits for answers.
const PATIENCE: Duration = Duration::from_millis(300);

/// Makes a node be looked at at once, and what was seen before forgotten.
#[derive(Default)]
pub(super) struct Bell {
    epoch: AtomicU64,
    notify: Notify,
}

impl Bell {
    /// Rings; looks of an earlier epoch than the one that is given back tell what was before.
    pub(super) fn ring(&self) -> u64 {
        let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        self.notify.notify_one();
        epoch
    }
}

/// Looks until nobody listens, and tells what changed.
pub(super) async fn watch(
    (nth, of): (usize, u32),
    mut eye: Eye,
    bell: Arc<Bell>,
    tell: mpsc::UnboundedSender<Told>,
) {
    let shortest = SHORTEST.max(FOR_EACH * of).min(LONGEST);
    let mut last: Option<(u64, Option<Contact>, Look)> = None;
    let mut changed = Instant::now();
    loop {
        let epoch = bell.epoch.load(Ordering::Acquire);
        if last.as_ref().is_some_and(|(seen, ..)| *seen != epoch) {
            eye.forget();
        }
        let (at, look) = eye.look(PATIENCE).await;
        let now = Some((epoch, at, look.clone()));
        if last != now {
            last = now;
            changed = Instant::now();
            if tell.send(Told::Looked { nth, epoch, at, look }).is_err() {
                return;
            }
        }
        let pause = (changed.elapsed() / 10).clamp(shortest, LONGEST);
        tokio::select! {
            () = eye.rest(pause) => {}
            () = bell.notify.notified() => {}
            () = tell.closed() => return,
        }
    }
}
