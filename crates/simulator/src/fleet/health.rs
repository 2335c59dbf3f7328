//! The checks of `HealthCheck`, in Talos' order and words.

use std::net::IpAddr;

use super::etcd::EtcdCluster;
use super::machine::{Machine, Phase, ServiceState};
use super::services::last_event;
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
    control_planes: Vec<ExpectedNode>,
    workers: Vec<ExpectedNode>,
}

/// A node that a health check expects. Talos takes every address of a request for a node of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ExpectedNode {
    addresses: Vec<IpAddr>,
    /// None if no machine has the address.
    machine: Option<usize>,
}

impl ClusterNodes {
    /// The first message of a health check.
    pub(crate) fn discovery_message(&self) -> String {
        format!("discovered nodes: {}", quoted(self.all().filter_map(|node| node.addresses.first())))
    }

    fn all(&self) -> impl Iterator<Item = &ExpectedNode> {
        self.control_planes.iter().chain(&self.workers)
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

/// Addresses as Go prints a list of texts.
fn quoted<'a>(addresses: impl IntoIterator<Item = &'a IpAddr>) -> String {
    let addresses: Vec<_> = addresses.into_iter().map(|address| format!("\"{address}\"")).collect();
    format!("[{}]", addresses.join(" "))
}

/// Waits for the nodes that do not meet a condition.
fn wait_for_nodes<'n>(
    nodes: impl Iterator<Item = &'n ExpectedNode>,
    words: &str,
    good: impl Fn(usize) -> bool,
) -> Result<(), CheckPending> {
    let bad: Vec<_> = nodes.filter(|node| !node.machine.is_some_and(&good)).collect();
    let names: Vec<_> =
        bad.iter().map(|node| node.addresses.first().map(ToString::to_string).unwrap_or_default()).collect();
    if bad.is_empty() { Ok(()) } else { pending(format!("{}: {words}", names.join(", "))) }
}

/// Errors as Go's multierror prints them.
fn errors_occurred(errors: &[String]) -> Option<String> {
    let noun = match errors.len() {
        0 => return None,
        1 => "error",
        _ => "errors",
    };
    Some(format!("{} {noun} occurred:\n\t* {}", errors.len(), errors.join("\n\t* ")))
}

fn etcd_healthy(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let problem = |node: &ExpectedNode| {
        let address = node.addresses.first()?;
        let Some(machine) = node.machine.map(|nth| &fleet.machines[nth]).filter(|it| it.phase == Phase::Up)
        else {
            return Some(format!("{address}: connection refused"));
        };
        let etcd = machine.services().into_iter().find(|service| service.id == "etcd")?;
        let (state, last) = (etcd.state, last_event(&etcd));
        let words = match etcd.healthy {
            Some(true) => return None,
            Some(false) => "is not healthy",
            None => "not in expected state \"Running\"",
        };
        Some(format!("{address}: service \"etcd\" {words}: current state [{state}] {last}"))
    };
    let problems: Vec<_> = nodes.control_planes.iter().filter_map(problem).collect();
    if let Some(reason) = errors_occurred(&problems) {
        return pending(reason);
    }
    if fleet.has_quorum(etcd(fleet, nodes)?) { Ok(()) } else { pending("etcdserver: no leader") }
}

fn etcd_consistent(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let first = fleet.machines[nodes.asked].disk.as_ref().and_then(|disk| disk.etcd);
    let same = |nth: usize| fleet.machines[nth].disk.as_ref().and_then(|disk| disk.etcd) == first;
    wait_for_nodes(nodes.control_planes.iter(), "etcd member ids mismatch", same)
}

/// Every address of every member has to be one of the expected control planes.
fn etcd_complete(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let members: Vec<_> = etcd(fleet, nodes)?.members.iter().flat_map(|member| &member.addresses).collect();
    let expected: Vec<_> = nodes.control_planes.iter().flat_map(|node| &node.addresses).collect();
    if members.iter().all(|address| expected.contains(address)) {
        Ok(())
    } else {
        let (members, expected) = (quoted(members), quoted(expected));
        pending(format!("etcd member ips {members} are not subset of control plane node ips {expected}"))
    }
}

fn is_up(fleet: &Fleet, nth: usize) -> bool {
    fleet.machines[nth].phase == Phase::Up
}

fn apid(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    wait_for_nodes(nodes.all(), "connection refused", |nth| is_up(fleet, nth))
}

fn kubelet(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let healthy = |nth: usize| is_up(fleet, nth) && fleet.machines[nth].units.kubelet == ServiceState::Up;
    wait_for_nodes(nodes.all(), "service \"kubelet\" is not healthy", healthy)
}

fn boot_finished(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    wait_for_nodes(nodes.all(), "boot sequence is not finished", |nth| fleet.machines[nth].booted)
}

/// Every expected node is a node of Kubernetes, each another one, and there are no others.
fn nodes_registered(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let etcd = etcd(fleet, nodes)?;
    let mut registered: Vec<_> =
        etcd.nodes.values().map(|node| fleet.machines[node.machine].addresses()).collect();
    for node in nodes.all() {
        let is_same = |addresses: &Vec<IpAddr>| addresses.iter().any(|it| node.addresses.contains(it));
        let Some(nth) = registered.iter().position(is_same) else {
            return pending(format!("can't find expected node with IPs {}", quoted(&node.addresses)));
        };
        registered.remove(nth);
    }
    let mut unexpected: Vec<_> = registered.into_iter().flatten().collect();
    unexpected.sort();
    if unexpected.is_empty() {
        Ok(())
    } else {
        pending(format!("unexpected nodes with IPs {}", quoted(&unexpected)))
    }
}

fn static_pods(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let up = |nth: usize| fleet.machines[nth].units.api == ServiceState::Up;
    wait_for_nodes(nodes.control_planes.iter(), "kube-apiserver is not running", up)
}

fn ready(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let etcd = etcd(fleet, nodes)?;
    if !fleet.has_pod_network(etcd) {
        return Err(CheckPending::Skipped);
    }
    wait_for_nodes(nodes.all(), "node is not ready", |nth| {
        let name = fleet.machines[nth].hostname();
        etcd.nodes.get(&name).is_some_and(|node| fleet.is_kube_node_ready(etcd, &name, node))
    })
}

fn schedulable(fleet: &Fleet, nodes: &ClusterNodes) -> Result<(), CheckPending> {
    let etcd = etcd(fleet, nodes)?;
    wait_for_nodes(nodes.workers.iter(), "node is unschedulable", |nth| {
        let node = etcd.nodes.get(&fleet.machines[nth].hostname());
        node.is_none_or(|node| !node.unschedulable)
    })
}

impl Fleet {
    /// The nodes of a health check: those of the request, else all of the cluster with all their addresses.
    pub(crate) fn health_nodes(
        &self,
        nth: usize,
        control_planes: &[String],
        workers: &[String],
    ) -> ClusterNodes {
        if control_planes.is_empty() && workers.is_empty() {
            let expected = |nth: usize| {
                let addresses = self.machines[nth].addresses();
                ExpectedNode { addresses, machine: Some(nth) }
            };
            let (control_planes, workers): (Vec<_>, Vec<_>) =
                self.cluster_of(nth).into_iter().partition(|nth| self.machines[*nth].is_control_plane());
            let [control_planes, workers] =
                [control_planes, workers].map(|list| list.into_iter().map(expected).collect());
            return ClusterNodes { asked: nth, control_planes, workers };
        }
        let named = |texts: &[String]| -> Vec<_> {
            let addresses = texts.iter().filter_map(|text| text.parse().ok());
            addresses.map(|ip| ExpectedNode { addresses: vec![ip], machine: self.machine_at(ip) }).collect()
        };
        ClusterNodes { asked: nth, control_planes: named(control_planes), workers: named(workers) }
    }

    /// The machine that has an address, or will have it when it runs.
    fn machine_at(&self, address: IpAddr) -> Option<usize> {
        let has = |machine: &Machine| {
            let planned = machine.disk.as_ref().and_then(|disk| disk.intent.as_ref());
            planned.is_some_and(|intent| intent.ips().any(|ip| ip == address))
                || machine.addresses().contains(&address)
        };
        self.machines.iter().position(has)
    }
}
