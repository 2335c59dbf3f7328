//! A state to tell.

use ichor_bgp::agent::gate::Position;
use ichor_bgp::agent::session::{Session, State};
use ichor_bgp::agent::status::{Anycast, Daemon, Stage, Status, Told, With};
use ichor_values::Backend;
use ichor_values::Moment;

pub fn status() -> Status {
    let time = Moment::parse("2026-01-01T00:01:00Z").unwrap();
    let session = Session { peer: "eth0".into(), state: State::Established, ..Session::default() };
    Status {
        time,
        node: "solcp01".into(),
        agent: "0.1.0".into(),
        backend: Backend::Frr,
        version: None,
        stage: Stage::Running,
        reason: None,
        waiting: Vec::new(),
        sessions: vec![Told { session, with: With::Fabric, trouble: None }],
        anycast: Some(Anycast { gate: Position::Open, reason: None }),
        daemons: vec![Daemon { name: "bgpd".into(), pid: Some(7), answers: true, restarts: 0, since: time }],
        reload: None,
        restored: 0,
    }
}
