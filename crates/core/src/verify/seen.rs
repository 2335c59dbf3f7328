//! What was seen of a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::bringup::NodeAddress;
use crate::machines::Drives;
use crate::observe::QueryOutcome;
use crate::probe::ProbeError;
use ichor_bgp::agent::Session;
use ichor_talos::kubernetes::KubeNode;
use ichor_talos::resource::{AddressStatus, LinkStatus, PlatformMetadata, RouteStatus};

/// What was asked for, or why it is not known.
pub type Probed<T> = Result<T, ProbeError>;

/// What was seen of a cluster.
#[derive(Debug, Default)]
pub struct Observations {
    /// The nodes that were looked at, by their names.
    pub nodes: BTreeMap<String, NodeObservations>,
    /// Routers that say how they are reached, with their sessions.
    pub routers: BTreeMap<String, Probed<Vec<Session>>>,
    /// Who is in etcd; none where no control plane was asked.
    pub etcd: Option<Probed<EtcdMembership>>,
    /// Addresses of the API that no single node has.
    pub doors: Vec<ApiAddress>,
    /// Whether the API answers at its endpoint; none where that or its authority is not known.
    pub kubernetes_api: Option<Probed<()>>,
    /// The nodes as Kubernetes has them.
    pub kubernetes: Option<Probed<BTreeMap<String, KubeNode>>>,
}

/// What was seen of a node.
#[derive(Debug)]
pub struct NodeObservations {
    /// What whoever provides the machine says; none where nobody does.
    pub machine: Option<Probed<MachinePower>>,
    /// What is in its drives, as the same says; none where nobody puts anything in.
    pub drives: Option<Probed<Drives>>,
    /// Where it answered.
    pub at: Option<NodeAddress>,
    /// What it answered, as far as `ichor status` asks.
    pub answer: QueryOutcome,
    /// What it tells besides; none where it did not answer.
    pub detail: Option<Box<NodeDetail>>,
    /// Whether its announced loopbacks answer.
    pub loopbacks: Vec<(IpAddr, Probed<()>)>,
}

/// A machine, as whoever provides it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachinePower {
    /// It is not there.
    Absent,
    /// It is switched off.
    Off,
    /// It is switched on.
    On,
    /// Another machine is in its place: which, and whose.
    Foreign(String),
}

/// What a node tells, beyond what `ichor status` asks.
#[derive(Clone, Debug)]
pub struct NodeDetail {
    /// The kernel's command line.
    pub command_line: Probed<Option<String>>,
    /// What its platform told it.
    pub platform: Probed<Option<PlatformMetadata>>,
    /// The keys of META, such as `0x0a`.
    pub meta: Probed<BTreeSet<String>>,
    /// The services of extensions whose documents are in force, without `ext-`.
    pub documents: Probed<BTreeSet<String>>,
    /// Its services.
    pub services: Probed<BTreeMap<String, ServiceState>>,
    /// The last lines of the service that routes.
    pub log: Probed<Vec<String>>,
    /// Its links, by the kernel's names.
    pub links: Probed<Vec<(String, LinkStatus)>>,
    /// Its addresses.
    pub addresses: Probed<Vec<AddressStatus>>,
    /// Its routes.
    pub routes: Probed<Vec<RouteStatus>>,
    /// Its member of etcd; none where it was not asked.
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
    /// Whether it is well; none where nobody says.
    pub healthy: Option<bool>,
}

/// A control plane's own member of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdMemberState {
    /// Whether it knows a leader.
    pub leader: bool,
    /// Whether it does not vote yet.
    pub learner: bool,
    /// What it complains of.
    pub errors: Vec<String>,
}

/// Who is in etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdMembership {
    /// The control plane that tells.
    pub told_by: String,
    /// The members' names.
    pub names: Vec<String>,
    /// Alarms, in etcd's words.
    pub alarms: Vec<String>,
}

/// An address of the API that no single node has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiAddress {
    /// The address.
    pub address: IpAddr,
    /// Whether every control plane has it at once.
    pub anycast: bool,
    /// Whether somebody answers there.
    pub answers: Probed<()>,
}
