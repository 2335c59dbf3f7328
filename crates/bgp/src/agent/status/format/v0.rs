//! Version 0 of the status: the format of agents from before it had a version. It is only read.
//!
//! These types are frozen; [`StatusV0::upgrade`] turns them into those of version 1.

use serde::Deserialize;

use super::v1;
use ichor_values::Moment;
use ichor_values::format::Version;

/// The version of a status without one.
pub(super) const VERSION: Version = Version::new(0, 0);

#[derive(Deserialize)]
pub(super) struct StatusV0 {
    time: Moment,
    node: String,
    agent: String,
    backend: v1::StatusBackendV1,
    version: Option<String>,
    stage: v1::StatusStageV1,
    reason: Option<String>,
    #[serde(default)]
    waiting: Vec<String>,
    #[serde(default)]
    sessions: Vec<StatusSessionV0>,
    anycast: Option<StatusAnycastV0>,
    #[serde(default)]
    daemons: Vec<StatusDaemonV0>,
    reload: Option<StatusReloadV0>,
    #[serde(default)]
    restored: u64,
}

#[derive(Deserialize)]
struct StatusSessionV0 {
    peer: String,
    with: StatusPeerRoleV0,
    domain: Option<String>,
    address: Option<String>,
    asn: Option<u32>,
    state: v1::StatusStateV1,
    uptime: Option<u64>,
    #[serde(default)]
    established: u32,
    #[serde(default)]
    received: u32,
    #[serde(default)]
    sent: u32,
    bfd: Option<bool>,
    watched: Option<String>,
    families: Option<Vec<StatusAddressFamilyV0>>,
    extended: Option<StatusExtendedNextHopV0>,
    notification: Option<v1::StatusNotificationV1>,
    said: Option<String>,
    trouble: Option<StatusProblemV0>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StatusPeerRoleV0 {
    Fabric,
    Speaker,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StatusAddressFamilyV0 {
    V4,
    V6,
}

#[derive(Deserialize)]
struct StatusExtendedNextHopV0 {
    ours: bool,
    theirs: bool,
}

#[derive(Deserialize)]
struct StatusProblemV0 {
    words: String,
    remedy: String,
}

#[derive(Deserialize)]
struct StatusAnycastV0 {
    gate: StatusAnycastGateV0,
    reason: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StatusAnycastGateV0 {
    Open,
    Shut,
}

#[derive(Deserialize)]
struct StatusDaemonV0 {
    name: String,
    pid: Option<u32>,
    answers: bool,
    #[serde(default)]
    restarts: u32,
    since: Moment,
}

#[derive(Deserialize)]
struct StatusReloadV0 {
    time: Moment,
    refused: Option<String>,
    again: Option<Moment>,
}

impl StatusV0 {
    /// Converts it to version 1.
    pub(super) fn upgrade(self) -> v1::StatusV1 {
        let daemon = |daemon: StatusDaemonV0| v1::StatusDaemonV1 {
            name: daemon.name,
            pid: daemon.pid,
            responding: daemon.answers,
            restarts: daemon.restarts,
            since: daemon.since,
        };
        let anycast = |anycast: StatusAnycastV0| v1::StatusAnycastV1 {
            announced: anycast.gate == StatusAnycastGateV0::Open,
            reason: anycast.reason,
        };
        let reload = |reload: StatusReloadV0| v1::StatusReloadV1 {
            time: reload.time,
            error: reload.refused,
            retry_at: reload.again,
        };
        v1::StatusV1 {
            format_version: v1::VERSION,
            time: self.time,
            node: self.node,
            agent_version: self.agent,
            backend: self.backend,
            daemon_version: self.version,
            stage: self.stage,
            reason: self.reason,
            waiting_for: self.waiting,
            sessions: self.sessions.into_iter().map(StatusSessionV0::upgrade).collect(),
            anycast: self.anycast.map(anycast),
            daemons: self.daemons.into_iter().map(daemon).collect(),
            last_reload: self.reload.map(reload),
            routes_restored: self.restored,
        }
    }
}

impl StatusSessionV0 {
    fn upgrade(self) -> v1::StatusSessionV1 {
        let family = |family: StatusAddressFamilyV0| match family {
            StatusAddressFamilyV0::V4 => v1::StatusAddressFamilyV1::Ipv4,
            StatusAddressFamilyV0::V6 => v1::StatusAddressFamilyV1::Ipv6,
        };
        let extended =
            |it: StatusExtendedNextHopV0| v1::StatusExtendedNextHopV1 { local: it.ours, remote: it.theirs };
        let (problem, help) = self.trouble.map(|it| (it.words, it.remedy)).unzip();
        v1::StatusSessionV1 {
            peer: self.peer,
            peer_role: match self.with {
                StatusPeerRoleV0::Fabric => v1::StatusPeerRoleV1::Fabric,
                StatusPeerRoleV0::Speaker => v1::StatusPeerRoleV1::LoadBalancer,
            },
            vrf_or_namespace: self.domain,
            peer_address: self.address,
            remote_asn: self.asn,
            state: self.state,
            uptime_seconds: self.uptime,
            established_count: self.established,
            prefixes_received: self.received,
            prefixes_sent: self.sent,
            bfd_up: self.bfd,
            bfd_peer_address: self.watched,
            address_families: self.families.map(|all| all.into_iter().map(family).collect()),
            extended_next_hop: self.extended.map(extended),
            last_notification: self.notification,
            last_error: self.said,
            problem,
            help,
        }
    }
}
