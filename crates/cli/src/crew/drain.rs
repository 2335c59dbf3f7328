//! That nothing runs on a node any more that could run elsewhere.

use std::time::Duration;

use ichor_talos::kubernetes::Pod;
use tokio::time::{self, Instant};

use super::{Crew, CrewError};
use ichor_client::kubernetes::Evicted;

/// How long between two looks.
const AGAIN: Duration = Duration::from_secs(1);

/// How it is with a node that was to be drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drained {
    /// Nothing new is put on it, which is to be taken back when it returns.
    Cordoned,
    /// Somebody else had it cordoned before, and takes that back when it suits them.
    Before,
    /// Kubernetes does not know it.
    Unknown,
}

impl Crew<'_> {
    /// Has nothing new put on a node, and everything moved away that can be; takes the cordon back where that does not succeed.
    pub(crate) async fn drain(
        &self,
        name: &str,
        reason: &str,
        patience: Duration,
        told: &dyn Fn(&str),
    ) -> Result<Drained, CrewError> {
        let Some(node) = self.kubernetes.node(name).await? else {
            return Ok(Drained::Unknown);
        };
        let ours = !node.unschedulable || node.cordoned_for.is_some();
        if ours {
            self.kubernetes.cordon(name, reason).await?;
        }
        let moved = self.move_pods(name, patience, told).await;
        match moved {
            Ok(()) => Ok(if ours { Drained::Cordoned } else { Drained::Before }),
            Err(why) if !ours => Err(why),
            Err(why) => match self.kubernetes.uncordon(name).await {
                Ok(()) => Err(why),
                Err(uncordon) => Err(CrewError::Cordoned { drain: Box::new(why), uncordon }),
            },
        }
    }

    async fn move_pods(&self, name: &str, patience: Duration, told: &dyn Fn(&str)) -> Result<(), CrewError> {
        let end = Instant::now() + patience;
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
                    Evicted::Gone => {}
                    Evicted::Going => waits.push(named),
                    Evicted::Later(why) => waits.push(format!("{named} ({why})")),
                }
            }
            let line = waits.join(", ");
            if line != last && !line.is_empty() {
                told(&format!("waiting for {line}"));
                last = line;
            }
            if Instant::now() + AGAIN >= end {
                return Err(CrewError::Pods { seconds: patience.as_secs(), pods: last });
            }
            time::sleep(AGAIN).await;
        }
    }
}
