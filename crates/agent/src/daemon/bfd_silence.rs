//! The silence during a planned restart.
//!
//! The successor of a stopped daemon opens sessions faster than neighbours detect the silence by BFD. They would then
//! find an established session without BFD, close it, and drop its routes.

use std::time::Duration;

use tokio::time::sleep;

/// A margin on top of the neighbours' detection time.
const MARGIN: Duration = Duration::from_millis(200);
/// The longest pause. Talos gives the agent and its daemons 10 s to end.
const LONGEST: Duration = Duration::from_secs(3);

/// Waits until neighbours with this detection time have detected the silence; without BFD, returns immediately.
pub(super) async fn wait_until_detected(detection: Option<Duration>) {
    if let Some(detection) = detection {
        sleep((detection + MARGIN).min(LONGEST)).await;
    }
}
