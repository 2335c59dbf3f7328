//! Asking a daemon regularly whether it is still there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ichor_bgp::reload::FrrDaemon;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::vty::{Vty, VtyError};

const EVERY: Duration = Duration::from_secs(2);
/// Together with `EVERY` and the time of a start this is less than the 10 s within which a daemon that hangs is replaced.
const PATIENCE: Duration = Duration::from_secs(4);

/// A daemon's process that does not answer any more.
#[derive(Debug)]
pub(super) struct UnresponsiveProcess {
    pub(super) pid: u32,
}

/// A question that is asked until nobody answers, or until it is dropped.
#[derive(Debug)]
pub(super) struct LivenessProbe(AbortHandle);

impl LivenessProbe {
    pub(super) fn start(
        daemon: FrrDaemon,
        pid: u32,
        socket: PathBuf,
        to: mpsc::Sender<UnresponsiveProcess>,
    ) -> Self {
        let task = tokio::spawn(async move {
            while answers(daemon, &socket).await {
                sleep(EVERY).await;
            }
            let _ = to.send(UnresponsiveProcess { pid }).await;
        });
        Self(task.abort_handle())
    }
}

impl Drop for LivenessProbe {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn answers(daemon: FrrDaemon, socket: &Path) -> bool {
    let ask = async { Vty::open(daemon.name(), socket).await?.ask("show version").await };
    matches!(timeout(PATIENCE, ask).await, Ok(Ok(_) | Err(VtyError::Refused { .. })))
}
