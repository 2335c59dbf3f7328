//! What every node runs, and how etcd is.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use ichor_core::etcd::Etcd;
use ichor_core::observe::Image;
use ichor_core::plan::NodePlan;
use ichor_core::probe::ProbeError;
use ichor_core::upgrade::installer::installer;
use ichor_core::upgrade::{Candidate, Running};
use ichor_talos::kubernetes::KubeNode;
use ichor_values::KubernetesVersion;

use crate::crew::{Crew, CrewError};

/// Looks at all nodes at once. What Kubernetes does not tell is not known: Talos can be upgraded without it.
pub(crate) async fn look(
    crew: &Crew<'_>,
    nodes: &[&NodePlan],
    configs: &[String],
    only: &[String],
) -> (Vec<Candidate>, Result<Etcd, CrewError>) {
    let looks = join_all(nodes.iter().map(|node| crew.running(node.name.as_str())));
    let (seen, etcd, known) = tokio::join!(looks, crew.etcd(), crew.kubernetes.nodes());
    let known: BTreeMap<String, KubeNode> =
        known.unwrap_or_default().into_iter().map(|node| (node.name.clone(), node)).collect();
    let candidate = |((node, config), mut seen): ((&&NodePlan, &String), Result<Running, CrewError>)| {
        let name = node.name.to_string();
        if let (Ok(running), Some(known)) = (&mut seen, known.get(&name)) {
            running.kubelet = KubernetesVersion::parse(&known.kubelet).ok();
            running.cordoned = known.cordoned_for.is_some();
        }
        let installer = installer(node, config);
        Candidate {
            image: Image::of(node, installer.as_deref().ok()),
            role: node.role,
            chosen: only.is_empty() || only.contains(&name),
            name,
            wanted: node.talos.value.clone(),
            arch: node.arch.value.word().to_owned(),
            installer,
            seen: seen.map_err(ProbeError::new),
        }
    };
    (nodes.iter().zip(configs).zip(seen).map(candidate).collect(), etcd)
}
