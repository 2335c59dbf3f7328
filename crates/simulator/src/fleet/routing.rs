//! The status of the agent on a simulated node: everything runs as configured, unless a fault keeps sessions from
//! coming up.

use ichor_bgp::agent::Session;
use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_bgp::agent::session::SessionState;
use ichor_bgp::agent::status::{AgentStage, AgentStatus, DaemonStatus, PeerRole, SessionStatus};
use ichor_bgp::model::Workload;
use ichor_bgp::model::fabric::{Neighbor, PeerAddress};
use ichor_values::Backend;
use ichor_values::Moment;

/// Which sessions are kept from coming up.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionFaults {
    pub fabric: bool,
    pub speaker: bool,
}

/// The status of an agent with this duty; without sessions where they are `cut`.
pub(super) fn status(duty: &AgentConfig, node: &str, since: Moment, cut: SessionFaults) -> AgentStatus {
    let sessions = match &duty.source {
        ConfigSource::Files(_) => Vec::new(),
        ConfigSource::Model(meant) => {
            let fabric = meant.model.fabric.neighbors.iter().map(with_fabric);
            let fabric = fabric.map(|status| if cut.fabric { down(status) } else { status });
            let speaker = meant.model.workload.iter().map(with_speaker);
            let speaker = speaker.map(|status| if cut.speaker { down(status) } else { status });
            fabric.chain(speaker).collect()
        }
    };
    let daemons: &[&str] = match duty.backend {
        Backend::Frr => &["zebra", "bgpd"],
        Backend::Bird => &["bird"],
        Backend::Gobgp => &["gobgpd"],
        Backend::Native => &[],
    };
    let daemon = |name: &&str| DaemonStatus {
        name: (*name).to_owned(),
        pid: Some(1),
        answers: true,
        restarts: 0,
        since,
    };
    AgentStatus {
        time: since,
        node: node.to_owned(),
        agent: "simulated".to_owned(),
        backend: duty.backend,
        version: None,
        stage: AgentStage::Running,
        reason: None,
        waiting: Vec::new(),
        sessions,
        anycast: None,
        daemons: daemons.iter().map(daemon).collect(),
        reload: None,
        restored: 0,
    }
}

fn established_session(peer: String, asn: Option<u32>, bfd: bool) -> Session {
    Session {
        peer,
        asn,
        state: SessionState::Established,
        uptime: Some(60),
        established: 1,
        received: 1,
        sent: 1,
        bfd: bfd.then_some(true),
        ..Session::default()
    }
}

/// The same session before the peer responded.
fn down(status: SessionStatus) -> SessionStatus {
    let Session { peer, asn, bfd, .. } = status.session;
    let bfd = bfd.map(|_| false);
    SessionStatus {
        session: Session { peer, asn, bfd, state: SessionState::Active, ..Session::default() },
        ..status
    }
}

fn with_fabric(neighbor: &Neighbor) -> SessionStatus {
    let peer = match &neighbor.found {
        PeerAddress::Port { name, .. } => name.to_string(),
        PeerAddress::Address { address, .. } => address.to_string(),
    };
    let session = established_session(peer, neighbor.asn.map(|asn| asn.0), neighbor.bfd.is_some());
    SessionStatus { session, with: PeerRole::Fabric, trouble: None }
}

fn with_speaker(workload: &Workload) -> SessionStatus {
    let domain = workload.domain.name().map(str::to_owned);
    let theirs = &workload.theirs;
    let session = established_session(theirs.address.to_string(), Some(theirs.asn.0), workload.bfd.is_some());
    SessionStatus { session: Session { domain, ..session }, with: PeerRole::Speaker, trouble: None }
}
