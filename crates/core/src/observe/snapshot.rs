//! The reports of a node.

use serde::{Serialize, Serializer};

use crate::render::native::instance::WORKLOAD;
use ichor_talos::peer::Pin;
use ichor_talos::resource::{BgpPeerStatus, ExtensionStatus};

/// The outcome of querying a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum QueryOutcome {
    /// A node of the cluster.
    Configured(Box<NodeSnapshot>),
    /// A machine without a configuration.
    Maintenance {
        /// The fingerprint of its certificate.
        fingerprint: Pin,
        /// Its report.
        #[serde(flatten)]
        snapshot: Box<NodeSnapshot>,
    },
    /// Another machine has its address.
    #[serde(rename = "foreign")]
    Other {
        /// The reason.
        reason: String,
    },
    /// No address answers.
    #[serde(rename = "unreachable")]
    Silent {
        /// The error of each address.
        reasons: Vec<String>,
    },
}

impl QueryOutcome {
    /// The node's report, if it answered.
    pub(crate) fn snapshot(&self) -> Option<&NodeSnapshot> {
        match self {
            Self::Configured(snapshot) | Self::Maintenance { snapshot, .. } => Some(snapshot),
            Self::Other { .. } | Self::Silent { .. } => None,
        }
    }
}

/// The report of a node. Values that could not be queried are missing, and `untold` has the errors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodeSnapshot {
    /// Its stage, as named by Talos.
    pub stage: String,
    /// Whether Talos reports it as ready.
    pub ready: bool,
    /// Conditions that are not met.
    #[serde(rename = "unmet_conditions", skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
    /// Its release, such as `v1.13.9`.
    #[serde(rename = "talos_version", skip_serializing_if = "Option::is_none")]
    pub talos: Option<String>,
    /// Its state in Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<KubernetesStatus>,
    /// Its own member of etcd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<EtcdMemberSummary>,
    /// The extensions in its image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<InstalledExtension>>,
    /// Services that neither run nor have finished, with their state.
    #[serde(rename = "failed_services", skip_serializing_if = "Vec::is_empty")]
    pub down: Vec<String>,
    /// Its BGP sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<SessionStatus>>,
    /// The keys in which its configuration differs; none if they could not be compared.
    #[serde(rename = "config_drift", skip_serializing_if = "Option::is_none")]
    pub drift: Option<Vec<String>>,
    /// Talos' own diagnostics.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<String>,
    /// Failed queries.
    #[serde(rename = "query_errors", skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<String>,
}

/// The state of a node in Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KubernetesStatus {
    /// Whether it is ready.
    pub ready: bool,
    /// Whether pods may be scheduled on it.
    pub schedulable: bool,
}

/// A member of etcd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EtcdMemberSummary {
    /// Whether it is the leader.
    #[serde(rename = "leader")]
    pub leads: bool,
    /// Whether it is a learner.
    pub learner: bool,
    /// Its errors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

/// An extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstalledExtension {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl From<ExtensionStatus> for InstalledExtension {
    fn from(status: ExtensionStatus) -> Self {
        Self { name: status.metadata.name, version: status.metadata.version }
    }
}

/// A BGP session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionStatus {
    /// The other end.
    pub peer: String,
    /// Its state, as named by the daemon.
    pub state: String,
    /// Whether it is established.
    pub established: bool,
    /// Prefixes received.
    #[serde(rename = "prefixes_received")]
    pub received: u32,
    /// Prefixes sent.
    #[serde(rename = "prefixes_sent")]
    pub sent: u32,
    /// Whether the other end is the speaker of service addresses on the node itself.
    #[serde(rename = "peer_role", serialize_with = "peer_role")]
    pub speaker: bool,
    /// The problem and its remedy.
    #[serde(rename = "problem", skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

impl SessionStatus {
    /// A session of Talos' own BGP.
    pub fn from_talos(peer: &BgpPeerStatus) -> Self {
        Self {
            established: peer.is_established(),
            state: peer.state.to_lowercase().replace('_', " "),
            peer: format!("{} ({})", peer.peer, peer.instance),
            received: peer.received,
            sent: peer.advertised,
            speaker: peer.instance == WORKLOAD,
            trouble: None,
        }
    }
}

/// The role of a peer as the agent's status names it.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn peer_role<S: Serializer>(speaker: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(if *speaker { "load_balancer" } else { "fabric" })
}
