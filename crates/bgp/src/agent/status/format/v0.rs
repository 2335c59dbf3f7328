//! Version 0 of the status: what agents wrote before the format had a version. It is only read.
//!
//! These types are frozen; [`Status::upgrade`] turns them into those of version 1.

use serde::Deserialize;

use super::v1;
use ichor_values::Moment;
use ichor_values::format::Version;

/// The version of a status without one.
pub(super) const VERSION: Version = Version::new(0, 0);

#[derive(Deserialize)]
pub(super) struct Status {
    time: Moment,
    node: String,
    agent: String,
    backend: v1::Backend,
    version: Option<String>,
    stage: v1::Stage,
    reason: Option<String>,
    #[serde(default)]
    waiting: Vec<String>,
    #[serde(default)]
    sessions: Vec<Session>,
    anycast: Option<Anycast>,
    #[serde(default)]
    daemons: Vec<Daemon>,
    reload: Option<Reload>,
    #[serde(default)]
    restored: u64,
}

#[derive(Deserialize)]
struct Session {
    peer: String,
    with: With,
    domain: Option<String>,
    address: Option<String>,
    asn: Option<u32>,
    state: v1::State,
    uptime: Option<u64>,
    #[serde(default)]
    established: u32,
    #[serde(default)]
    received: u32,
    #[serde(default)]
    sent: u32,
    bfd: Option<bool>,
    watched: Option<String>,
    families: Option<Vec<Family>>,
    extended: Option<Extended>,
    notification: Option<v1::Notification>,
    said: Option<String>,
    trouble: Option<Trouble>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum With {
    Fabric,
    Speaker,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Family {
    V4,
    V6,
}

#[derive(Deserialize)]
struct Extended {
    ours: bool,
    theirs: bool,
}

#[derive(Deserialize)]
struct Trouble {
    words: String,
    remedy: String,
}

#[derive(Deserialize)]
struct Anycast {
    gate: Gate,
    reason: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Gate {
    Open,
    Shut,
}

#[derive(Deserialize)]
struct Daemon {
    name: String,
    pid: Option<u32>,
    answers: bool,
    #[serde(default)]
    restarts: u32,
    since: Moment,
}

#[derive(Deserialize)]
struct Reload {
    time: Moment,
    refused: Option<String>,
    again: Option<Moment>,
}

impl Status {
    /// The same in version 1.
    pub(super) fn upgrade(self) -> v1::Status {
        let daemon = |daemon: Daemon| v1::Daemon {
            name: daemon.name,
            pid: daemon.pid,
            responding: daemon.answers,
            restarts: daemon.restarts,
            since: daemon.since,
        };
        let anycast =
            |anycast: Anycast| v1::Anycast { announced: anycast.gate == Gate::Open, reason: anycast.reason };
        let reload =
            |reload: Reload| v1::Reload { time: reload.time, error: reload.refused, retry_at: reload.again };
        v1::Status {
            format_version: v1::VERSION,
            time: self.time,
            node: self.node,
            agent_version: self.agent,
            backend: self.backend,
            daemon_version: self.version,
            stage: self.stage,
            reason: self.reason,
            waiting_for: self.waiting,
            sessions: self.sessions.into_iter().map(Session::upgrade).collect(),
            anycast: self.anycast.map(anycast),
            daemons: self.daemons.into_iter().map(daemon).collect(),
            last_reload: self.reload.map(reload),
            routes_restored: self.restored,
        }
    }
}

impl Session {
    fn upgrade(self) -> v1::Session {
        let family = |family: Family| match family {
            Family::V4 => v1::AddressFamily::Ipv4,
            Family::V6 => v1::AddressFamily::Ipv6,
        };
        let extended = |it: Extended| v1::ExtendedNextHop { local: it.ours, remote: it.theirs };
        v1::Session {
            peer: self.peer,
            peer_role: match self.with {
                With::Fabric => v1::PeerRole::Fabric,
                With::Speaker => v1::PeerRole::LoadBalancer,
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
            problem: self.trouble.map(|it| v1::Problem { message: it.words, help: it.remedy }),
        }
    }
}
