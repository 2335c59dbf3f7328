//! Whether all is well, in Talos' own order of checks.

use std::time::Duration;

use ichor_core::cluster::section::Role;
use ichor_talos::api::cluster::ClusterInfo;

use super::{Crew, CrewError, addresses};
use ichor_client::talos::Node;

impl Crew<'_> {
    /// Lets a control plane look at all nodes until they are well; `told` hears what it waits for, and not what was well at once.
    pub(crate) async fn health(&self, wait: Duration, told: &dyn Fn(&str)) -> Result<(), CrewError> {
        let mut last = CrewError::NoControlPlane;
        for node in self.control_planes() {
            match self.connect(node.name.as_str()).await {
                Ok(node) => return self.health_by(&node, wait, told).await,
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    async fn health_by(&self, node: &Node, wait: Duration, told: &dyn Fn(&str)) -> Result<(), CrewError> {
        let mut stream = node.health(self.info(), wait);
        let mut waits = String::new();
        loop {
            match stream.next().await {
                Ok(None) => return Ok(()),
                Ok(Some(progress)) if progress.message.is_empty() => {}
                Ok(Some(progress)) => {
                    if is_wait(&progress.message) {
                        told(&progress.message);
                    }
                    waits = progress.message;
                }
                Err(error) if waits.is_empty() => return Err(error.into()),
                Err(error) => return Err(CrewError::Unwell { waits, error: Box::new(error) }),
            }
        }
    }

    fn info(&self) -> ClusterInfo {
        let of = |role: Role| {
            let nodes = self.nodes().iter().filter(|node| node.role == role);
            nodes.filter_map(|node| Some(addresses(node).next()?.address.to_string())).collect()
        };
        ClusterInfo { control_plane_nodes: of(Role::Controlplane), worker_nodes: of(Role::Worker) }
    }
}

/// Whether a message says what is missing: `waiting for CHECK: REASON`. The reason is `...` at first, and `OK` or `SKIP` in the end.
fn is_wait(message: &str) -> bool {
    let reason = message.strip_prefix("waiting for ").and_then(|rest| rest.split_once(": "));
    reason.is_some_and(|(_, reason)| !matches!(reason, "..." | "OK" | "SKIP"))
}

#[cfg(test)]
mod tests {
    use super::is_wait;

    #[test]
    fn only_what_is_missing_is_told() {
        assert!(is_wait("waiting for etcd to be healthy: 1 error occurred: service is not healthy"));
        for quiet in [
            "discovered nodes: [\"10.0.0.1\"]",
            "waiting for etcd to be healthy: ...",
            "waiting for coredns: SKIP",
        ] {
            assert!(!is_wait(quiet), "{quiet}");
        }
    }
}
