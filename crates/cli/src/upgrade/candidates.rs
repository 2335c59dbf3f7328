//! Installed software of all nodes, and the state of etcd.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use ichor_core::etcd::EtcdCluster;
use ichor_core::observe::ExpectedImage;
use ichor_core::plan::NodePlan;
use ichor_core::probe::ProbeError;
use ichor_core::upgrade::installer::find_installer;
use ichor_core::upgrade::{RunningNode, UpgradeCandidate};
use ichor_talos::kubernetes::KubeNode;
use ichor_values::KubernetesVersion;

use crate::cluster_client::{ClusterClient, ClusterError};

/// Queries all nodes in parallel. Kubernetes is optional: Talos can be upgraded without it.
pub(crate) async fn collect_candidates(
    client: &ClusterClient<'_>,
    nodes: &[&NodePlan],
    configs: &[String],
    only: &[String],
) -> (Vec<UpgradeCandidate>, Result<EtcdCluster, ClusterError>) {
    let queries = join_all(nodes.iter().map(|node| client.installed_software(node.name.as_str())));
    let (running, etcd, known) = tokio::join!(queries, client.etcd(), client.kubernetes.nodes());
    let known: BTreeMap<String, KubeNode> =
        known.unwrap_or_default().into_iter().map(|node| (node.name.clone(), node)).collect();
    let candidate =
        |((node, config), mut running): ((&&NodePlan, &String), Result<RunningNode, ClusterError>)| {
            let name = node.name.to_string();
            if let (Ok(running), Some(known)) = (&mut running, known.get(&name)) {
                running.kubelet = KubernetesVersion::parse(&known.kubelet).ok();
                running.cordoned = known.cordoned_for.is_some();
            }
            let installer = find_installer(node, config);
            UpgradeCandidate {
                image: ExpectedImage::from_installer(node, installer.as_deref().ok()),
                role: node.role,
                chosen: only.is_empty() || only.contains(&name),
                name,
                wanted: node.talos.value.clone(),
                arch: node.arch.value.word().to_owned(),
                installer,
                seen: running.map_err(ProbeError::new),
            }
        };
    (nodes.iter().zip(configs).zip(running).map(candidate).collect(), etcd)
}
