//! That a node comes back from a reboot.

use std::time::Duration;

use ichor_talos::resource::MachineStatus;
use ichor_values::TalosVersion;
use tokio::time::{self, Instant};

use super::running::{release, unready};
use super::{Crew, CrewError};
use ichor_client::talos::{Node, NodeError};

/// Another text after every start of the kernel.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// How long between two looks.
const AGAIN: Duration = Duration::from_millis(500);

/// By what a start of the kernel is told from the next.
pub(crate) async fn boot_id(node: &Node) -> Result<String, NodeError> {
    let bytes = node.read(BOOT_ID).await?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// What keeps a node that came back from being ready.
enum Still {
    Silent(String),
    /// It has not rebooted yet.
    Before,
    Unready(String),
}

impl Crew<'_> {
    /// Waits until a node has rebooted since the start `before`, runs and is ready, and gives the release it runs; `told` hears what
    /// it waits for.
    pub(crate) async fn back(
        &self,
        name: &str,
        before: &str,
        patience: Duration,
        told: &dyn Fn(&str),
    ) -> Result<TalosVersion, CrewError> {
        let end = Instant::now() + patience;
        let mut last = String::new();
        loop {
            let waits = match self.look_back(name, before).await {
                Ok(release) => return Ok(release),
                Err(Still::Silent(why)) => format!("it does not answer: {why}"),
                Err(Still::Before) => "it has not rebooted yet".to_owned(),
                Err(Still::Unready(why)) => format!("it is back and not ready: {why}"),
            };
            if waits != last {
                told(&waits);
                last = waits;
            }
            if Instant::now() + AGAIN >= end {
                return Err(CrewError::Away { seconds: patience.as_secs(), last });
            }
            time::sleep(AGAIN).await;
        }
    }

    async fn look_back(&self, name: &str, before: &str) -> Result<TalosVersion, Still> {
        let silent = |error: NodeError| Still::Silent(error.answer().to_owned());
        let node = self.connect(name).await.map_err(|error| Still::Silent(error.to_string()))?;
        if boot_id(&node).await.map_err(silent)? == before {
            return Err(Still::Before);
        }
        let status = node.get::<MachineStatus>(MachineStatus::ID).await.map_err(silent)?;
        if let Some(why) = unready(status.as_ref()) {
            return Err(Still::Unready(why));
        }
        release(&node).await.map_err(|error| Still::Unready(error.answer()))
    }
}
