//! Drains nodes: cordon, and evict pods.

use std::time::Duration;

use ichor_talos::kubernetes::Pod;
use tokio::time::{self, Instant};

use super::{ClusterClient, ClusterError};
use ichor_client::kubernetes::Eviction;

/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Result of draining a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrainOutcome {
    /// Cordoned by this run; to be uncordoned later.
    Cordoned,
    /// Already cordoned by another actor, which uncordons it.
    AlreadyCordoned,
    /// The node is not in Kubernetes.
    Unknown,
}

impl ClusterClient<'_> {
    /// Cordons a node and evicts its pods. If that fails, the node is uncordoned.
    pub(crate) async fn drain(
        &self,
        name: &str,
        reason: &str,
        timeout: Duration,
        report: &dyn Fn(&str),
    ) -> Result<DrainOutcome, ClusterError> {
        let Some(node) = self.kubernetes.node(name).await? else {
            return Ok(DrainOutcome::Unknown);
        };
        let ours = !node.unschedulable || node.cordoned_for.is_some();
        if ours {
            self.kubernetes.cordon(name, reason).await?;
        }
        let moved = self.evict_pods(name, timeout, report).await;
        match moved {
            Ok(()) => Ok(if ours { DrainOutcome::Cordoned } else { DrainOutcome::AlreadyCordoned }),
            Err(why) if !ours => Err(why),
            Err(why) => match self.kubernetes.uncordon(name).await {
                Ok(()) => Err(why),
                Err(uncordon) => Err(ClusterError::Cordoned { drain: Box::new(why), uncordon }),
            },
        }
    }

    async fn evict_pods(
        &self,
        name: &str,
        timeout: Duration,
        report: &dyn Fn(&str),
    ) -> Result<(), ClusterError> {
        let end = Instant::now() + timeout;
        let mut last = String::new();
        loop {
            let pods = self.kubernetes.pods(name).await?;
            let pods: Vec<Pod> = pods.into_iter().filter(|pod| pod.moves).collect();
            if pods.is_empty() {
                return Ok(());
            }
            let mut waits = Vec::new();
            for pod in &pods {
                let named = format!("{}/{}", pod.namespace, pod.name);
                match self.kubernetes.evict(pod).await? {
                    Eviction::Gone => {}
                    Eviction::Going => waits.push(named),
                    Eviction::Later(why) => waits.push(format!("{named} ({why})")),
                }
            }
            let line = waits.join(", ");
            if line != last && !line.is_empty() {
                report(&format!("waiting for {line}"));
                last = line;
            }
            if Instant::now() + POLL_INTERVAL >= end {
                return Err(ClusterError::DrainTimeout { seconds: timeout.as_secs(), pods: last });
            }
            time::sleep(POLL_INTERVAL).await;
        }
    }
}
