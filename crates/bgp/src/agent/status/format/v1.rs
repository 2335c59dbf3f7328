//! Version 1 of the status: the types of the format.
//!
//! A new optional key raises [`VERSION`]'s minor number. Any other change needs types of a new major version; these
//! types then stay unchanged, to read the status of agents of version 1.

use serde::{Deserialize, Serialize};

use crate::agent::{self, health_gate, session, status};
use crate::model::Family;
use ichor_values::format::Version;
use ichor_values::{Issue, Moment};

/// The version of the format that is written.
pub const VERSION: Version = Version::new(1, 0);

#[derive(Deserialize, Serialize)]
pub(super) struct StatusV1 {
    pub(crate) format_version: Version,
    pub time: Moment,
    pub node: String,
    pub(crate) agent_version: String,
    pub backend: StatusBackendV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) daemon_version: Option<String>,
    pub stage: StatusStageV1,
    /// Why the node drains or leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting_for: Vec<String>,
    #[serde(default)]
    pub sessions: Vec<StatusSessionV1>,
    /// Missing without a health check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anycast: Option<StatusAnycastV1>,
    #[serde(default)]
    pub daemons: Vec<StatusDaemonV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_reload: Option<StatusReloadV1>,
    /// Routes that another program removed from the kernel, and that the agent installed again.
    #[serde(default)]
    pub(crate) routes_restored: u64,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StatusBackendV1 {
    Frr,
    Bird,
    Gobgp,
    Native,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StatusStageV1 {
    Starting,
    Running,
    Draining,
    Leaving,
}

#[derive(Deserialize, Serialize)]
pub(super) struct StatusSessionV1 {
    /// The interface of a neighbor without a fixed address, else its address.
    pub peer: String,
    pub(crate) peer_role: StatusPeerRoleV1,
    /// The VRF or network namespace; missing for the node's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) vrf_or_namespace: Option<String>,
    /// The address of the neighbor, where `peer` is an interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) peer_address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) remote_asn: Option<u32>,
    pub state: StatusStateV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uptime_seconds: Option<u64>,
    /// How often it was established.
    #[serde(default)]
    pub(crate) established_count: u32,
    #[serde(default)]
    pub(crate) prefixes_received: u32,
    #[serde(default)]
    pub(crate) prefixes_sent: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bfd_up: Option<bool>,
    /// The address that BFD watches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bfd_peer_address: Option<String>,
    /// The families that both ends support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) address_families: Option<Vec<StatusAddressFamilyV1>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) extended_next_hop: Option<StatusExtendedNextHopV1>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_notification: Option<StatusNotificationV1>,
    /// The last error of the daemon, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    /// How to fix the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StatusPeerRoleV1 {
    Fabric,
    LoadBalancer,
}

/// In the words of RFC 4271.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum StatusStateV1 {
    Idle,
    Connect,
    Active,
    OpenSent,
    OpenConfirm,
    Established,
}

#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StatusAddressFamilyV1 {
    Ipv4,
    Ipv6,
}

/// The ends that advertise the extended next hop capability (RFC 8950) for IPv4.
#[derive(Deserialize, Serialize)]
pub(super) struct StatusExtendedNextHopV1 {
    pub(crate) local: bool,
    pub(crate) remote: bool,
}

/// The notification that last closed the session (RFC 4271, section 4.5).
#[derive(Deserialize, Serialize)]
pub(super) struct StatusNotificationV1 {
    pub(crate) code: u8,
    pub(crate) subcode: u8,
    /// Whether the node sent it.
    pub sent: bool,
}

#[derive(Deserialize, Serialize)]
pub(super) struct StatusAnycastV1 {
    pub announced: bool,
    /// The last failure of the health check, unless a success followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Deserialize, Serialize)]
pub(super) struct StatusDaemonV1 {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    pub(crate) responding: bool,
    #[serde(default)]
    pub restarts: u32,
    /// When it started or ended.
    pub since: Moment,
}

#[derive(Deserialize, Serialize)]
pub(super) struct StatusReloadV1 {
    pub time: Moment,
    /// Why the daemon rejected the configuration; missing when it accepted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_at: Option<Moment>,
}

/// Converts an enum of the format from and to the one of the agent.
macro_rules! convert_enum {
    ($wire:ident = $internal:path { $($one:ident = $other:ident),+ $(,)? }) => {
        impl From<$internal> for $wire {
            fn from(value: $internal) -> Self {
                match value { $( <$internal>::$other => Self::$one ),+ }
            }
        }

        impl From<$wire> for $internal {
            fn from(value: $wire) -> Self {
                match value { $( $wire::$one => Self::$other ),+ }
            }
        }
    };
}

convert_enum!(StatusBackendV1 = ichor_values::Backend { Frr = Frr, Bird = Bird, Gobgp = Gobgp, Native = Native });
convert_enum!(StatusStageV1 = status::AgentStage { Starting = Starting, Running = Running, Draining = Draining, Leaving = Leaving });
convert_enum!(StatusPeerRoleV1 = status::PeerRole { Fabric = Fabric, LoadBalancer = Speaker });
convert_enum!(StatusAddressFamilyV1 = Family { Ipv4 = V4, Ipv6 = V6 });
convert_enum!(StatusStateV1 = session::SessionState {
    Idle = Idle,
    Connect = Connect,
    Active = Active,
    OpenSent = OpenSent,
    OpenConfirm = OpenConfirm,
    Established = Established,
});

impl From<&agent::AgentStatus> for StatusV1 {
    fn from(status: &agent::AgentStatus) -> Self {
        Self {
            format_version: VERSION,
            time: status.time,
            node: status.node.clone(),
            agent_version: status.agent.clone(),
            backend: status.backend.into(),
            daemon_version: status.version.clone(),
            stage: status.stage.into(),
            reason: status.reason.clone(),
            waiting_for: status.waiting.clone(),
            sessions: status.sessions.iter().map(Into::into).collect(),
            anycast: status.anycast.as_ref().map(Into::into),
            daemons: status.daemons.iter().map(Into::into).collect(),
            last_reload: status.reload.as_ref().map(Into::into),
            routes_restored: status.restored,
        }
    }
}

impl From<StatusV1> for agent::AgentStatus {
    fn from(status: StatusV1) -> Self {
        Self {
            time: status.time,
            node: status.node,
            agent: status.agent_version,
            backend: status.backend.into(),
            version: status.daemon_version,
            stage: status.stage.into(),
            reason: status.reason,
            waiting: status.waiting_for,
            sessions: status.sessions.into_iter().map(Into::into).collect(),
            anycast: status.anycast.map(Into::into),
            daemons: status.daemons.into_iter().map(Into::into).collect(),
            reload: status.last_reload.map(Into::into),
            restored: status.routes_restored,
        }
    }
}

impl From<&status::SessionStatus> for StatusSessionV1 {
    fn from(session_status: &status::SessionStatus) -> Self {
        let session = &session_status.session;
        let families = |families: &Vec<Family>| families.iter().map(|family| (*family).into()).collect();
        Self {
            peer: session.peer.clone(),
            peer_role: session_status.with.into(),
            vrf_or_namespace: session.domain.clone(),
            peer_address: session.address.clone(),
            remote_asn: session.asn,
            state: session.state.into(),
            uptime_seconds: session.uptime,
            established_count: session.established,
            prefixes_received: session.received,
            prefixes_sent: session.sent,
            bfd_up: session.bfd,
            bfd_peer_address: session.watched.clone(),
            address_families: session.families.as_ref().map(families),
            extended_next_hop: session
                .extended
                .map(|it| StatusExtendedNextHopV1 { local: it.ours, remote: it.theirs }),
            last_notification: session.notification.map(|it| StatusNotificationV1 {
                code: it.code,
                subcode: it.subcode,
                sent: it.sent,
            }),
            last_error: session.said.clone(),
            problem: session_status.trouble.as_ref().map(|it| it.message.clone()),
            help: session_status.trouble.as_ref().and_then(|it| it.help.clone()),
        }
    }
}

impl From<StatusSessionV1> for status::SessionStatus {
    fn from(session: StatusSessionV1) -> Self {
        let families = |families: Vec<StatusAddressFamilyV1>| families.into_iter().map(Into::into).collect();
        Self {
            with: session.peer_role.into(),
            trouble: session.problem.map(|problem| Issue { help: session.help, ..Issue::error("", problem) }),
            session: agent::Session {
                peer: session.peer,
                domain: session.vrf_or_namespace,
                address: session.peer_address,
                asn: session.remote_asn,
                state: session.state.into(),
                uptime: session.uptime_seconds,
                established: session.established_count,
                received: session.prefixes_received,
                sent: session.prefixes_sent,
                bfd: session.bfd_up,
                watched: session.bfd_peer_address,
                families: session.address_families.map(families),
                extended: session
                    .extended_next_hop
                    .map(|it| session::ExtendedNextHop { ours: it.local, theirs: it.remote }),
                notification: session.last_notification.map(|it| session::Notification {
                    code: it.code,
                    subcode: it.subcode,
                    sent: it.sent,
                }),
                said: session.last_error,
            },
        }
    }
}

impl From<&status::AnycastStatus> for StatusAnycastV1 {
    fn from(anycast: &status::AnycastStatus) -> Self {
        Self { announced: anycast.gate == health_gate::GateState::Open, reason: anycast.reason.clone() }
    }
}

impl From<StatusAnycastV1> for status::AnycastStatus {
    fn from(anycast: StatusAnycastV1) -> Self {
        let gate =
            if anycast.announced { health_gate::GateState::Open } else { health_gate::GateState::Closed };
        Self { gate, reason: anycast.reason }
    }
}

impl From<&status::DaemonStatus> for StatusDaemonV1 {
    fn from(daemon: &status::DaemonStatus) -> Self {
        Self {
            name: daemon.name.clone(),
            pid: daemon.pid,
            responding: daemon.answers,
            restarts: daemon.restarts,
            since: daemon.since,
        }
    }
}

impl From<StatusDaemonV1> for status::DaemonStatus {
    fn from(daemon: StatusDaemonV1) -> Self {
        Self {
            name: daemon.name,
            pid: daemon.pid,
            answers: daemon.responding,
            restarts: daemon.restarts,
            since: daemon.since,
        }
    }
}

impl From<&status::ReloadStatus> for StatusReloadV1 {
    fn from(reload: &status::ReloadStatus) -> Self {
        Self { time: reload.time, error: reload.refused.clone(), retry_at: reload.again }
    }
}

impl From<StatusReloadV1> for status::ReloadStatus {
    fn from(reload: StatusReloadV1) -> Self {
        Self { time: reload.time, refused: reload.error, again: reload.retry_at }
    }
}
