//! Regular liveness probes of a daemon.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ichor_bgp::reload::FrrDaemon;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::vty::{Vty, VtyError};

const INTERVAL: Duration = Duration::from_secs(2);
/// With `EVERY` and the time of a start, this is less than the 10 s within which a hung daemon is replaced.
const TIMEOUT: Duration = Duration::from_secs(4);

/// A daemon's process that does not respond any more.
#[derive(Debug)]
pub(super) struct UnresponsiveProcess {
    pub(super) pid: u32,
}

/// A probe that repeats until the daemon does not respond, or until it is dropped.
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
            while responds(daemon, &socket).await {
                sleep(INTERVAL).await;
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

async fn responds(daemon: FrrDaemon, socket: &Path) -> bool {
    let query = async { Vty::open(daemon.name(), socket).await?.query("show version").await };
    matches!(timeout(TIMEOUT, query).await, Ok(Ok(_) | Err(VtyError::Refused { .. })))
}
