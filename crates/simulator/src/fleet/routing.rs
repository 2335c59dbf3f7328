//! What the agent of a simulated node says of its routing: everything that it was told to do is so, unless a fault keeps
//! sessions from coming up.

use ichor_bgp::agent::Session;
use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_bgp::agent::session::State;
use ichor_bgp::agent::status::{Daemon, Stage, Status, Told, With};
use ichor_bgp::model::Workload;
use ichor_bgp::model::fabric::{Found, Neighbor};
use ichor_values::Backend;
use ichor_values::Moment;

/// With whom sessions are kept from coming up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub fabric: bool,
    pub speaker: bool,
}

/// The status of an agent with this duty; without sessions where they are `cut`.
pub(super) fn status(duty: &AgentConfig, node: &str, since: Moment, cut: Cut) -> Status {
    let sessions = match &duty.source {
        ConfigSource::Files(_) => Vec::new(),
        ConfigSource::Model(meant) => {
            let fabric = meant.model.fabric.neighbors.iter().map(with_fabric);
            let fabric = fabric.map(|told| if cut.fabric { down(told) } else { told });
            let speaker = meant.model.workload.iter().map(with_speaker);
            let speaker = speaker.map(|told| if cut.speaker { down(told) } else { told });
            fabric.chain(speaker).collect()
        }
    };
    let daemons: &[&str] = match duty.backend {
        Backend::Frr => &["zebra", "bgpd"],
        Backend::Bird => &["bird"],
        Backend::Gobgp => &["gobgpd"],
        Backend::Native => &[],
    };
    let daemon =
        |name: &&str| Daemon { name: (*name).to_owned(), pid: Some(1), answers: true, restarts: 0, since };
    Status {
        time: since,
        node: node.to_owned(),
        agent: "simulated".to_owned(),
        backend: duty.backend,
        version: None,
        stage: Stage::Running,
        reason: None,
        waiting: Vec::new(),
        sessions,
        anycast: None,
        daemons: daemons.iter().map(daemon).collect(),
        reload: None,
        restored: 0,
    }
}

fn established(peer: String, asn: Option<u32>, bfd: bool) -> Session {
    Session {
        peer,
        asn,
        state: State::Established,
        uptime: Some(60),
        established: 1,
        received: 1,
        sent: 1,
        bfd: bfd.then_some(true),
        ..Session::default()
    }
}

/// The same session before anybody answered.
fn down(told: Told) -> Told {
    let Session { peer, asn, bfd, .. } = told.session;
    let bfd = bfd.map(|_| false);
    Told { session: Session { peer, asn, bfd, state: State::Active, ..Session::default() }, ..told }
}

fn with_fabric(neighbor: &Neighbor) -> Told {
    let peer = match &neighbor.found {
        Found::Port { name, .. } => name.to_string(),
        Found::Address { address, .. } => address.to_string(),
    };
    let session = established(peer, neighbor.asn.map(|asn| asn.0), neighbor.bfd.is_some());
    Told { session, with: With::Fabric, trouble: None }
}

fn with_speaker(workload: &Workload) -> Told {
    let domain = workload.domain.name().map(str::to_owned);
    let theirs = &workload.theirs;
    let session = established(theirs.address.to_string(), Some(theirs.asn.0), workload.bfd.is_some());
    Told { session: Session { domain, ..session }, with: With::Speaker, trouble: None }
}
