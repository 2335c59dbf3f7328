//! Cluster health, with Talos's own checks.

use std::time::Duration;

use ichor_core::bringup::health_check_addresses;
use ichor_core::cluster::section::Role;
use ichor_talos::api::cluster::ClusterInfo;

use super::{ClusterClient, ClusterError, sorted_addresses};
use ichor_client::talos::NodeClient;

impl ClusterClient<'_> {
    /// Waits until Talos's cluster health check succeeds; `report` receives the checks it waits for.
    pub(crate) async fn wait_until_healthy(
        &self,
        wait: Duration,
        report: &dyn Fn(&str),
    ) -> Result<(), ClusterError> {
        let mut last = ClusterError::NoControlPlane;
        for node in self.control_planes() {
            match self.connect(node.name.as_str()).await {
                Ok(node) => return self.health_from(&node, wait, report).await,
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    async fn health_from(
        &self,
        node: &NodeClient,
        wait: Duration,
        report: &dyn Fn(&str),
    ) -> Result<(), ClusterError> {
        let mut stream = node.health(self.cluster_info(), wait);
        let mut waits = String::new();
        loop {
            match stream.next().await {
                Ok(None) => return Ok(()),
                Ok(Some(progress)) if progress.message.is_empty() => {}
                Ok(Some(progress)) => {
                    if is_waiting(&progress.message) {
                        report(&progress.message);
                    }
                    waits = progress.message;
                }
                Err(error) if waits.is_empty() => return Err(error.into()),
                Err(error) => return Err(ClusterError::Unhealthy { waits, error: Box::new(error) }),
            }
        }
    }

    /// The nodes of the plan; empty if Talos has to discover them.
    fn cluster_info(&self) -> ClusterInfo {
        let Some(planned) = health_check_addresses(&self.project.plan) else { return ClusterInfo::default() };
        let of = |role: Role| {
            let nodes = self.nodes().iter().zip(&planned).filter(|(node, _)| node.role == role);
            let address =
                nodes.filter_map(|(node, planned)| planned.or(Some(sorted_addresses(node).next()?.address)));
            address.map(|address| address.to_string()).collect()
        };
        ClusterInfo { control_plane_nodes: of(Role::Controlplane), worker_nodes: of(Role::Worker) }
    }
}

/// Whether a message is an unmet check: `waiting for CHECK: REASON`. The reason is `...` at first, and `OK` or `SKIP` at the end.
fn is_waiting(message: &str) -> bool {
    let reason = message.strip_prefix("waiting for ").and_then(|rest| rest.split_once(": "));
    reason.is_some_and(|(_, reason)| !matches!(reason, "..." | "OK" | "SKIP"))
}

#[cfg(test)]
mod tests {
    use super::is_waiting;

    #[test]
    fn only_unmet_checks_are_reported() {
        assert!(is_waiting("waiting for etcd to be healthy: 1 error occurred: service is not healthy"));
        for quiet in [
            "discovered nodes: [\"10.0.0.1\"]",
            "waiting for etcd to be healthy: ...",
            "waiting for coredns: SKIP",
        ] {
            assert!(!is_waiting(quiet), "{quiet}");
        }
    }
}
