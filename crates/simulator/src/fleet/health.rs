//! The checks of `HealthCheck`, in Talos' order and words.

use super::etcd::EtcdCluster;
use super::machine::{Phase, ServiceState};
use super::simulation::Fleet;

type CheckFn = fn(&Fleet, &ClusterNodes) -> Result<(), CheckPending>;

/// A check.
#[derive(Clone, Copy, Debug)]
pub struct HealthCheck {
    /// The condition, in Talos' words.
    pub name: &'static str,
    /// None if it always holds: its subject is not simulated.
    check: Option<CheckFn>,
}

/// Why a check waits; or that it does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckPending {
    /// Not yet, and why.
    For(String),
    /// There is nothing of that kind in this cluster.
    Skipped,
}

/// The nodes of a cluster as a health check sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNodes {
    /// The machine that runs the check.
    asked: usize,
    control_planes: Vec<usize>,
    workers: Vec<usize>,
}

impl ClusterNodes {
    fn all(&self) -> impl Iterator<Item = usize> {
        self.control_planes.iter().chain(&self.workers).copied()
    }
}

impl HealthCheck {
    /// Whether it holds; why not, where it does not.
    pub fn run(&self, fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
        self.check.map_or(Ok(()), |check| check(fleet, nodes))
    }

    /// All checks, in order.
    pub(crate) const ALL: [Self; 16] = [
        Self { name: "etcd to be healthy", check: Some(etcd_healthy) },
        Self { name: "etcd members to be consistent across nodes", check: Some(etcd_consistent) },
        Self { name: "etcd members to be control plane nodes", check: Some(etcd_complete) },
        Self { name: "apid to be ready", check: Some(apid) },
        Self { name: "all nodes memory sizes", check: None },
        Self { name: "all nodes disk sizes", check: None },
        Self { name: "no diagnostics", check: None },
        Self { name: "kubelet to be healthy", check: Some(kubelet) },
        Self { name: "all nodes to finish boot sequence", check: Some(boot_finished) },
        Self { name: "all k8s nodes to report", check: Some(nodes_registered) },
        Self { name: "all control plane static pods to be running", check: Some(static_pods) },
        Self { name: "all control plane components to be ready", check: Some(static_pods) },
        Self { name: "all k8s nodes to report ready", check: Some(ready) },
        Self { name: "kube-proxy to report ready", check: None },
        Self { name: "coredns to report ready", check: Some(ready) },
        Self { name: "all k8s nodes to report schedulable", check: Some(schedulable) },
    ];
}

fn pending(reason: impl Into<String>) -> Result<(), CheckPending> {
    Err(CheckPending::For(reason.into()))
}

fn etcd<'f>(fleet: &'f Fleet, nodes: &ClusterNodes) -> Result<&'f EtcdCluster, CheckPending> {
    fleet.cluster_etcd(nodes.asked).ok_or_else(|| CheckPending::For("etcd is not bootstrapped".to_owned()))
}

fn address_list(fleet: &Fleet, names: &[usize]) -> String {
    let names: Vec<_> = names.iter().map(|nth| fleet.address(*nth)).collect();
    names.join(", ")
}

/// Waits for the nodes that do not meet a condition.
fn wait_for_nodes(
    fleet: &Fleet,
    nodes: impl Iterator<Item = usize>,
    words: &str,
    good: impl Fn(usize) -> bool,
) -> Result<(), CheckPending> {
    let bad: Vec<_> = nodes.filter(|nth| !good(*nth)).collect();
    if bad.is_empty() { Ok(()) } else { pending(format!("{}: {words}", address_list(fleet, &bad))) }
}

fn etcd_healthy(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let control_planes = nodes.control_planes.iter().copied();
    let up = |nth: usize| fleet.machines[nth].units.etcd == ServiceState::Up && is_up(fleet, nth);
    wait_for_nodes(fleet, control_planes, "service \"etcd\" not in expected state \"Running\"", up)?;
    if fleet.has_quorum(etcd(fleet, nodes)?) { Ok(()) } else { pending("etcdserver: no leader") }
}

fn etcd_consistent(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let first = fleet.machines[nodes.asked].disk.as_ref().and_then(|disk| disk.etcd);
    let same = |nth: usize| fleet.machines[nth].disk.as_ref().and_then(|disk| disk.etcd) == first;
    wait_for_nodes(fleet, nodes.control_planes.iter().copied(), "etcd member ids mismatch", same)
}

fn etcd_complete(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let etcd = etcd(fleet, nodes)?;
    let is_member = |nth: usize| etcd.member(nth).is_some_and(|member| !member.learner);
    wait_for_nodes(fleet, nodes.control_planes.iter().copied(), "not a member of etcd", is_member)?;
    let strangers: Vec<_> = etcd
        .members
        .iter()
        .filter(|member| !nodes.control_planes.contains(&member.machine))
        .map(|member| member.address.clone())
        .collect();
    if strangers.is_empty() {
        Ok(())
    } else {
        pending(format!("mismatch between etcd member and control plane nodes: {}", strangers.join(", ")))
    }
}

fn is_up(fleet: &Fleet, nth: usize) -> bool {
    fleet.machines[nth].phase == Phase::Up
}

fn apid(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    wait_for_nodes(fleet, nodes.all(), "connection refused", |nth| is_up(fleet, nth))
}

fn kubelet(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let healthy = |nth: usize| is_up(fleet, nth) && fleet.machines[nth].units.kubelet == ServiceState::Up;
    wait_for_nodes(fleet, nodes.all(), "service \"kubelet\" is not healthy", healthy)
}

fn boot_finished(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    wait_for_nodes(fleet, nodes.all(), "boot sequence is not finished", |nth| fleet.machines[nth].booted)
}

fn nodes_registered(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let etcd = etcd(fleet, nodes)?;
    wait_for_nodes(fleet, nodes.all(), "node is not registered", |nth| {
        etcd.nodes.contains_key(&fleet.machines[nth].hostname())
    })
}

fn static_pods(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let up = |nth: usize| fleet.machines[nth].units.api == ServiceState::Up;
    wait_for_nodes(fleet, nodes.control_planes.iter().copied(), "kube-apiserver is not running", up)
}

fn ready(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let etcd = etcd(fleet, nodes)?;
    let has_network = nodes
        .control_planes
        .iter()
        .any(|nth| fleet.machines[*nth].intent.as_ref().is_some_and(|intent| intent.has_pod_network));
    if !has_network {
        return Err(CheckPending::Skipped);
    }
    wait_for_nodes(fleet, nodes.all(), "node is not ready", |nth| {
        let node = etcd.nodes.get(&fleet.machines[nth].hostname());
        node.is_some_and(|node| fleet.is_kube_node_ready(etcd, node))
    })
}

fn schedulable(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let etcd = etcd(fleet, nodes)?;
    wait_for_nodes(fleet, nodes.workers.iter().copied(), "node is unschedulable", |nth| {
        let node = etcd.nodes.get(&fleet.machines[nth].hostname());
        node.is_none_or(|node| !node.unschedulable)
    })
}

impl Fleet {
    /// The nodes of a health check: those named by address, else all of the cluster.
    pub(crate) fn health_nodes(
        &self,
        nth: usize,
        control_planes: &[String],
        workers: &[String],
    ) -> ClusterNodes {
        let named = |addresses: &[String]| -> Vec<usize> {
            let is = |nth: usize, text: &String| {
                let intent = self.machines[nth].disk.as_ref().and_then(|disk| disk.intent.as_ref());
                let planned = intent.is_some_and(|intent| intent.ips().any(|ip| ip.to_string() == *text));
                planned || self.machines[nth].addresses().iter().any(|ip| ip.to_string() == *text)
            };
            let all = 0..self.machines.len();
            all.filter(|nth| addresses.iter().any(|address| is(*nth, address))).collect()
        };
        if !control_planes.is_empty() || !workers.is_empty() {
            let (control_planes, workers) = (named(control_planes), named(workers));
            return ClusterNodes { asked: nth, control_planes, workers };
        }
        let (control_planes, workers) =
            self.cluster_of(nth).into_iter().partition(|nth| self.machines[*nth].is_control_plane());
        ClusterNodes { asked: nth, control_planes, workers }
    }

    /// The first message of a health check.
    pub(crate) fn discovery_message(&self, nodes: &ClusterNodes) -> String {
        let addresses: Vec<_> = nodes.all().map(|nth| format!("\"{}\"", self.address(nth))).collect();
        format!("discovered nodes: [{}]", addresses.join(" "))
    }

    /// The first address of a machine, or its name while it has none.
    pub(super) fn address(&self, nth: usize) -> String {
        let machine = &self.machines[nth];
        let first = machine.addresses().first().map(ToString::to_string);
        first.unwrap_or_else(|| machine.hardware.name.clone())
    }
}
