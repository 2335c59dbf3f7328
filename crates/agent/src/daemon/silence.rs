//! The silence in the middle of a planned restart.
//!
//! Whoever takes the place of a daemon that ended opens sessions in less time than neighbours need to find by BFD that the other is
//! silent. They would then find a session that stands without BFD, close it, and drop its routes.

use std::time::Duration;

use tokio::time::sleep;

/// What is added to the time in which neighbours find that the node is silent.
const MARGIN: Duration = Duration::from_millis(200);
/// The longest that is waited for it. Talos gives the whole agent 10 s to end.
const LONGEST: Duration = Duration::from_secs(3);

/// Waits until neighbours that detect a silent node in that time know of it; none do where there is no BFD.
pub(super) async fn noticed(detection: Option<Duration>) {
    if let Some(detection) = detection {
        sleep((detection + MARGIN).min(LONGEST)).await;
    }
}
