//! The format of the status line: it is written in the newest version, and every released version stays readable.
//!
//! `agent-status/VERSION.jsonl` has the same statuses in each version. `UPDATE_GOLDEN=1` rewrites the newest one, which is right
//! only while that is not released.

use std::fs;

use crate::{cases, tests};
use ichor_bgp::agent::health_gate::GateState;
use ichor_bgp::agent::session::{ExtendedNextHop, Notification, Session, SessionState};
use ichor_bgp::agent::status;
use ichor_bgp::agent::status::{
    AgentStage, AgentStatus, AnycastStatus, DaemonStatus, PeerRole, ReloadStatus, SessionStatus,
};
use ichor_bgp::model::Family;
use ichor_testbed::schema::assert_valid;
use ichor_values::{Backend, Issue, Moment};

fn moment(seconds: u64) -> Moment {
    Moment::from_unix(1_767_225_600 + seconds).unwrap()
}

fn sessions() -> Vec<SessionStatus> {
    let leaf = Session {
        peer: "eth0".into(),
        address: Some("fe80::1".into()),
        asn: Some(64512),
        state: SessionState::Established,
        uptime: Some(3700),
        established: 1,
        received: 2,
        sent: 3,
        bfd: Some(true),
        watched: Some("fe80::1".into()),
        families: Some(Family::ALL.to_vec()),
        extended: Some(ExtendedNextHop { ours: true, theirs: false }),
        ..Session::default()
    };
    let refused = Session {
        peer: "eth1".into(),
        notification: Some(Notification { code: 2, subcode: 2, sent: true }),
        said: Some("BGP Notification sent".into()),
        ..Session::default()
    };
    let speaker = Session {
        peer: "fd00:102::1".into(),
        domain: Some("metallb".into()),
        asn: Some(64512),
        state: SessionState::OpenConfirm,
        established: 2,
        received: 4,
        bfd: Some(false),
        ..Session::default()
    };
    let trouble = Issue::error("", "wrong AS").with_help("write the right one");
    vec![
        SessionStatus { session: leaf, with: PeerRole::Fabric, trouble: None },
        SessionStatus { session: refused, with: PeerRole::Fabric, trouble: Some(trouble) },
        SessionStatus { session: speaker, with: PeerRole::Speaker, trouble: None },
    ]
}

/// The statuses in the lines of every version.
fn statuses() -> [AgentStatus; 3] {
    let nothing = AgentStatus {
        time: moment(60),
        node: "n1".into(),
        agent: "0.1.0".into(),
        backend: Backend::Bird,
        version: None,
        stage: AgentStage::Starting,
        reason: None,
        waiting: Vec::new(),
        sessions: Vec::new(),
        anycast: None,
        daemons: Vec::new(),
        reload: None,
        restored: 0,
    };
    let daemon = |name: &str, pid, since| DaemonStatus {
        name: name.into(),
        pid,
        answers: pid.is_some(),
        restarts: 0,
        since,
    };
    let everything = AgentStatus {
        node: "solcp01".into(),
        backend: Backend::Frr,
        version: Some("10.3".into()),
        stage: AgentStage::Draining,
        reason: Some("the configuration says so".into()),
        waiting: vec!["port 02:00:00:00:00:09 is not there".into()],
        sessions: sessions(),
        anycast: Some(AnycastStatus { gate: GateState::Closed, reason: Some("answer 503".into()) }),
        daemons: vec![
            daemon("zebra", Some(11), moment(0)),
            DaemonStatus { restarts: 1, ..daemon("bgpd", None, moment(5)) },
        ],
        reload: Some(ReloadStatus {
            time: moment(9),
            refused: Some("line 3: unknown".into()),
            again: Some(moment(11)),
        }),
        restored: 4,
        ..nothing.clone()
    };
    let running = AgentStatus {
        node: "n2".into(),
        backend: Backend::Gobgp,
        version: Some("4.8.0".into()),
        stage: AgentStage::Running,
        anycast: Some(AnycastStatus { gate: GateState::Open, reason: None }),
        reload: Some(ReloadStatus { time: moment(9), refused: None, again: None }),
        ..nothing.clone()
    };
    [everything, nothing, running]
}

#[test]
fn statuses_are_written_in_the_newest_version() {
    let lines = statuses().map(|status| status.line() + "\n").concat();
    lines.lines().for_each(|line| assert_valid("agent-status", &serde_json::from_str(line).unwrap()));

    ichor_testbed::assert_same(&tests("agent-status").join(format!("v{}.jsonl", status::VERSION)), &lines);
}

#[test]
fn every_version_is_parsed() {
    let files = cases("agent-status");

    assert_eq!(files.len(), 2);
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let read: Vec<AgentStatus> =
            text.lines().map(|line| AgentStatus::find(line).unwrap().unwrap()).collect();
        assert_eq!(read, statuses(), "{}", path.display());
    }
}
