//! Observations of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::bringup::NodeAddress;
use crate::machines::Drives;
use crate::observe::QueryOutcome;
use crate::probe::ProbeError;
use ichor_bgp::agent::Session;
use ichor_talos::kubernetes::KubeNode;
use ichor_talos::resource::{AddressStatus, LinkStatus, PlatformMetadata, RouteStatus};

/// The result of a query, or why it failed.
pub type Probed<T> = Result<T, ProbeError>;

/// Observations of a cluster.
#[derive(Debug, Default)]
pub struct Observations {
    /// The queried nodes, by name.
    pub nodes: BTreeMap<String, NodeObservations>,
    /// The sessions of routers that can be queried.
    pub routers: BTreeMap<String, Probed<Vec<Session>>>,
    /// The members of etcd; none if no control plane was queried.
    pub etcd: Option<Probed<EtcdMembership>>,
    /// Shared addresses of the API.
    pub api_addresses: Vec<ApiAddress>,
    /// Whether the API answers at its endpoint; none if the endpoint or its CA is unknown.
    pub kubernetes_api: Option<Probed<()>>,
    /// The nodes in Kubernetes.
    pub kubernetes: Option<Probed<BTreeMap<String, KubeNode>>>,
}

/// Observations of a node.
#[derive(Debug)]
pub struct NodeObservations {
    /// The state of its machine; none without a provider.
    pub machine: Option<Probed<MachinePower>>,
    /// Its drives; none if the provider has no removable media.
    pub drives: Option<Probed<Drives>>,
    /// The address at which it answered.
    pub at: Option<NodeAddress>,
    /// The outcome of the query that `ichor status` makes.
    pub answer: QueryOutcome,
    /// Further query results; none if it did not answer.
    pub detail: Option<Box<NodeDetail>>,
    /// Whether its announced loopbacks answer.
    pub loopbacks: Vec<(IpAddr, Probed<()>)>,
}

/// The state of a machine at its provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachinePower {
    /// It does not exist.
    Absent,
    /// It is off.
    Off,
    /// It is on.
    On,
    /// Another machine has its name or ID, with a description.
    Foreign(String),
}

/// Query results of a node beyond those of `ichor status`.
#[derive(Clone, Debug)]
pub struct NodeDetail {
    /// The kernel's command line.
    pub command_line: Probed<Option<String>>,
    /// Its platform metadata.
    pub platform: Probed<Option<PlatformMetadata>>,
    /// The keys of META, such as `0x0a`.
    pub meta: Probed<BTreeSet<String>>,
    /// The extension services with active documents, without `ext-`.
    pub documents: Probed<BTreeSet<String>>,
    /// Its services.
    pub services: Probed<BTreeMap<String, ServiceState>>,
    /// The last log lines of the routing service.
    pub log: Probed<Vec<String>>,
    /// Its links, by the kernel's names.
    pub links: Probed<Vec<(String, LinkStatus)>>,
    /// Its addresses.
    pub addresses: Probed<Vec<AddressStatus>>,
    /// Its routes.
    pub routes: Probed<Vec<RouteStatus>>,
    /// Its member of etcd; none if not queried.
    pub etcd: Option<Probed<EtcdMemberState>>,
}

impl Default for NodeDetail {
    fn default() -> Self {
        Self {
            command_line: Ok(None),
            platform: Ok(None),
            meta: Ok(BTreeSet::new()),
            documents: Ok(BTreeSet::new()),
            services: Ok(BTreeMap::new()),
            log: Ok(Vec::new()),
            links: Ok(Vec::new()),
            addresses: Ok(Vec::new()),
            routes: Ok(Vec::new()),
            etcd: None,
        }
    }
}

/// A service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceState {
    /// Whether it runs.
    pub running: bool,
    /// Whether it is healthy; none if unknown.
    pub healthy: Option<bool>,
}

/// A control plane's own member of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdMemberState {
    /// Whether it has a leader.
    pub leader: bool,
    /// Whether it is a learner.
    pub learner: bool,
    /// Its errors.
    pub errors: Vec<String>,
}

/// The members of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdMembership {
    /// The reporting control plane.
    pub told_by: String,
    /// The members' names.
    pub names: Vec<String>,
    /// Alarms, as named by etcd.
    pub alarms: Vec<String>,
}

/// A shared address of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiAddress {
    /// The address.
    pub address: IpAddr,
    /// Whether it is anycast instead of a VIP.
    pub anycast: bool,
    /// Whether it answers.
    pub answers: Probed<()>,
}
