//! Waits for nodes to come back from a reboot.

use std::time::Duration;

use ichor_talos::resource::MachineStatus;
use ichor_values::TalosVersion;
use tokio::time::{self, Instant};

use super::software::{talos_release, unready_reason};
use super::{ClusterClient, ClusterError};
use ichor_client::talos::{NodeClient, NodeError};

/// Changes at every boot.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Boot ID of a node.
pub(crate) async fn boot_id(node: &NodeClient) -> Result<String, NodeError> {
    let bytes = node.read(BOOT_ID).await?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Reason to keep waiting for a reboot.
enum RebootWait {
    Silent(String),
    /// The boot ID is still the old one.
    NotRebooted,
    Unready(String),
}

impl ClusterClient<'_> {
    /// Waits until a node has rebooted since the boot ID `before` and is ready, and returns its Talos release; `report` receives
    /// the reason for waiting.
    pub(crate) async fn wait_for_reboot(
        &self,
        name: &str,
        before: &str,
        timeout: Duration,
        report: &dyn Fn(&str),
    ) -> Result<TalosVersion, ClusterError> {
        let end = Instant::now() + timeout;
        let mut last = String::new();
        loop {
            let waits = match self.check_rebooted(name, before).await {
                Ok(release) => return Ok(release),
                Err(RebootWait::Silent(why)) => format!("not reachable: {why}"),
                Err(RebootWait::NotRebooted) => "not rebooted yet".to_owned(),
                Err(RebootWait::Unready(why)) => format!("rebooted, not ready: {why}"),
            };
            if waits != last {
                report(&waits);
                last = waits;
            }
            if Instant::now() + POLL_INTERVAL >= end {
                return Err(ClusterError::RebootTimeout { seconds: timeout.as_secs(), last });
            }
            time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn check_rebooted(&self, name: &str, before: &str) -> Result<TalosVersion, RebootWait> {
        let silent = |error: NodeError| RebootWait::Silent(error.answer().to_owned());
        let node = self.connect(name).await.map_err(|error| RebootWait::Silent(error.to_string()))?;
        if boot_id(&node).await.map_err(silent)? == before {
            return Err(RebootWait::NotRebooted);
        }
        let status = node.get::<MachineStatus>(MachineStatus::ID).await.map_err(silent)?;
        if let Some(why) = unready_reason(status.as_ref()) {
            return Err(RebootWait::Unready(why));
        }
        talos_release(&node).await.map_err(|error| RebootWait::Unready(error.answer()))
    }
}
