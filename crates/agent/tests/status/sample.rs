//! A sample status.

use ichor_bgp::agent::health_gate::GateState;
use ichor_bgp::agent::session::{Session, SessionState};
use ichor_bgp::agent::status::{
    AgentStage, AgentStatus, AnycastStatus, DaemonStatus, PeerRole, SessionStatus,
};
use ichor_values::Backend;
use ichor_values::Moment;

pub fn status() -> AgentStatus {
    let time = Moment::parse("2026-01-01T00:01:00Z").unwrap();
    let session = Session { peer: "eth0".into(), state: SessionState::Established, ..Session::default() };
    AgentStatus {
        time,
        node: "solcp01".into(),
        agent: "0.1.0".into(),
        backend: Backend::Frr,
        version: None,
        stage: AgentStage::Running,
        reason: None,
        waiting: Vec::new(),
        sessions: vec![SessionStatus { session, with: PeerRole::Fabric, trouble: None }],
        anycast: Some(AnycastStatus { gate: GateState::Open, reason: None }),
        daemons: vec![DaemonStatus {
            name: "bgpd".into(),
            pid: Some(7),
            answers: true,
            restarts: 0,
            since: time,
        }],
        reload: None,
        restored: 0,
    }
}
