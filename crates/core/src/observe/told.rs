//! What a node tells of itself.

use serde::{Serialize, Serializer};

use ichor_talos::peer::Pin;
use ichor_talos::resource::ExtensionStatus;

/// What came of asking a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum QueryOutcome {
    /// It is of the cluster.
    Configured(Box<NodeSnapshot>),
    /// It has no configuration yet.
    Maintenance {
        /// Its key.
        fingerprint: Pin,
        /// What it tells.
        #[serde(flatten)]
        told: Box<NodeSnapshot>,
    },
    /// Somebody else is where it should be.
    #[serde(rename = "foreign")]
    Other {
        /// Who.
        reason: String,
    },
    /// Nobody answers.
    #[serde(rename = "unreachable")]
    Silent {
        /// Why, for each address that was tried.
        reasons: Vec<String>,
    },
}

impl QueryOutcome {
    /// What a node tells, if it is the one.
    pub(crate) fn told(&self) -> Option<&NodeSnapshot> {
        match self {
            Self::Configured(told) | Self::Maintenance { told, .. } => Some(told),
            Self::Other { .. } | Self::Silent { .. } => None,
        }
    }
}

/// What a node tells. What it did not tell is not there, and why not is in `untold`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodeSnapshot {
    /// What it is doing, in Talos' words.
    pub stage: String,
    /// Whether it has all it needs at its stage.
    pub ready: bool,
    /// What it lacks.
    #[serde(rename = "unmet_conditions", skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
    /// Its release, such as `v1.13.9`.
    #[serde(rename = "talos_version", skip_serializing_if = "Option::is_none")]
    pub talos: Option<String>,
    /// What Kubernetes thinks of it.
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
    /// The keys in which its configuration is not the wanted one; none where nobody could compare.
    #[serde(rename = "config_drift", skip_serializing_if = "Option::is_none")]
    pub drift: Option<Vec<String>>,
    /// What Talos itself finds wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<String>,
    /// What could not be asked, and why.
    #[serde(rename = "query_errors", skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<String>,
}

/// What Kubernetes thinks of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KubernetesStatus {
    /// Whether it is ready.
    pub ready: bool,
    /// Whether something new may be put on it.
    pub schedulable: bool,
}

/// A member of etcd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EtcdMemberSummary {
    /// Whether it leads.
    #[serde(rename = "leader")]
    pub leads: bool,
    /// Whether it does not vote yet.
    pub learner: bool,
    /// What it complains of.
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

/// A BGP session, whoever tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionStatus {
    /// The other end.
    pub peer: String,
    /// Its state, in the words of whoever tells.
    pub state: String,
    /// Whether it stands.
    pub established: bool,
    /// Prefixes that came.
    #[serde(rename = "prefixes_received")]
    pub received: u32,
    /// Prefixes that were told.
    #[serde(rename = "prefixes_sent")]
    pub sent: u32,
    /// Whether the other end is the speaker of service addresses on the node itself.
    #[serde(rename = "peer_role", serialize_with = "peer_role")]
    pub speaker: bool,
    /// What is wrong with it, and what helps.
    #[serde(rename = "problem", skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// The role of a peer as the agent's status names it.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn peer_role<S: Serializer>(speaker: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(if *speaker { "load_balancer" } else { "fabric" })
}
