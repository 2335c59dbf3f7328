use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::format::MARK;
use super::*;
use crate::agent::session::SessionState;
use ichor_values::Issue;

fn moment(seconds: u64) -> Moment {
    Moment::from_unix(1_767_225_600 + seconds).unwrap()
}

/// Two leafs and a load balancer; one leaf expects another AS.
fn status() -> AgentStatus {
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
        ..Session::default()
    };
    let other = Session {
        peer: "eth1".into(),
        state: SessionState::Idle,
        said: Some("BGP Notification received".into()),
        ..Session::default()
    };
    let speaker = Session {
        peer: "fd00:102::1".into(),
        domain: Some("metallb".into()),
        established: 1,
        ..leaf.clone()
    };
    let trouble = Issue::error("", "wrong AS").with_help("write the right one");
    let session_status = |session, with, trouble| SessionStatus { session, with, trouble };
    AgentStatus {
        time: moment(60),
        node: "solcp01".into(),
        agent: "0.1.0".into(),
        backend: Backend::Frr,
        version: Some("10.3".into()),
        stage: AgentStage::Running,
        reason: None,
        waiting: vec!["port 02:00:00:00:00:09 is not there".into()],
        sessions: vec![
            session_status(leaf, PeerRole::Fabric, None),
            session_status(other, PeerRole::Fabric, Some(trouble)),
            session_status(speaker, PeerRole::Speaker, None),
        ],
        anycast: Some(AnycastStatus { gate: GateState::Closed, reason: Some("answer 503".into()) }),
        daemons: vec![
            DaemonStatus {
                name: "zebra".into(),
                pid: Some(11),
                answers: true,
                restarts: 0,
                since: moment(0),
            },
            DaemonStatus { name: "bgpd".into(), pid: Some(12), answers: true, restarts: 1, since: moment(5) },
        ],
        reload: Some(ReloadStatus { time: moment(9), refused: Some("line 3: unknown".into()), again: None }),
        restored: 4,
    }
}

#[test]
fn a_status_line_begins_with_its_mark_and_is_read_back_as_the_same_status() {
    let line = status().line();

    assert!(
        line.starts_with(
            r#"{"ichor":"status","format_version":"1.0","time":"2026-01-01T00:01:00Z","node":"solcp01","#
        ),
        "{line}"
    );
    assert!(!line.contains('\n'));
    assert_eq!(AgentStatus::find(&line).unwrap().unwrap(), status());
    serde_json::from_str::<serde_json::Value>(&line).unwrap();
}

#[test]
fn a_status_line_is_found_between_the_prefix_and_suffix_of_a_log() {
    let line = format!("10.0.0.1: 2026/01/01 00:01:00 info: {} (frr)", status().line());

    assert_eq!(AgentStatus::find(&line).unwrap().unwrap(), status());
    assert!(AgentStatus::find("info: session eth0: Established").is_none());
    assert!(AgentStatus::find(r#"{"ichor":"plan","node":"x"}"#).is_none());
}

#[test]
fn a_truncated_status_line_is_an_error() {
    let line = status().line();

    assert!(AgentStatus::find(&line[..line.len() / 2]).unwrap().is_err());
    assert!(AgentStatus::find(MARK).unwrap().is_err());
}

#[test]
fn keys_of_a_newer_minor_version_are_ignored() {
    let line = status().line().replacen(r#""node""#, r#""tomorrow":{"a":[1]},"node""#, 1);
    let line = line.replacen(r#""format_version":"1.0""#, r#""format_version":"1.7""#, 1);

    assert_eq!(AgentStatus::find(&line).unwrap().unwrap(), status());
}

#[test]
fn a_newer_major_version_is_rejected_with_both_versions_and_a_hint() {
    let line = status().line().replacen(r#""format_version":"1.0""#, r#""format_version":"2.0""#, 1);

    let error = AgentStatus::find(&line).unwrap().unwrap_err().to_string();

    assert_eq!(
        error,
        "the agent writes status format version 2.0, but this release reads versions up to 1.0; use the ichor release of the \
         agent"
    );
}

#[test]
fn routing_is_healthy_while_the_daemon_responds_and_a_fabric_session_is_established() {
    let mut status = status();
    assert_eq!(status.health(), Ok(()));

    status.sessions[0].session.state = SessionState::Active;
    let none = "no fabric session is established: eth0: Active; eth1: wrong AS";
    assert_eq!(
        status.health().unwrap_err().to_string(),
        none,
        "the session with the load balancer does not count"
    );

    status.sessions.retain(|session_status| session_status.with == PeerRole::Speaker);
    assert_eq!(status.health(), Ok(()), "no fabric session is configured");

    status.daemons[1].answers = false;
    assert_eq!(status.health().unwrap_err().to_string(), "bgpd does not respond");
    status.daemons[1].pid = None;
    assert_eq!(status.health().unwrap_err().to_string(), "bgpd is not running");

    status.stage = AgentStage::Starting;
    assert_eq!(status.health().unwrap_err().to_string(), "starting: port 02:00:00:00:00:09 is not there");
}

#[test]
fn the_table_has_every_session_and_every_problem() {
    let want = "\
solcp01: running, frr 10.3, ichor-agent 0.1.0, 2026-01-01T00:01:00Z
waiting: port 02:00:00:00:00:09 is not there
anycast: withdrawn: answer 503
last reload: 2026-01-01T00:00:09Z, rejected: line 3: unknown
routes restored: 4

PEER         VRF/NETNS  ROLE           ASN    STATE        UPTIME  RECEIVED  SENT  BFD
───────────────────────────────────────────────────────────────────────────────────────
eth0                    fabric         64512  Established  1h 1m   2         3     up
fe80::1
eth1                    fabric                Idle                 0         0
fd00:102::1  metallb    load balancer  64512  Established  1h 1m   2         3     up
fe80::1

DAEMON  PID  RESPONDS  RESTARTS  SINCE
──────────────────────────────────────────────────────
zebra   11   yes       0         2026-01-01T00:00:00Z
bgpd    12   yes       1         2026-01-01T00:00:05Z

eth1: wrong AS
hint: write the right one
";

    similar_asserts::assert_eq!(status().table(), want);
}

/// The log lines of a change of the status.
fn lines(change: impl FnOnce(&mut AgentStatus)) -> Vec<String> {
    let mut after = status();
    change(&mut after);
    changes(&status(), &after).iter().map(|it| format!("{}: {it}", it.level)).collect()
}

#[test]
fn counters_and_times_are_not_logged() {
    let found = lines(|it| {
        it.time = moment(120);
        it.sessions[0].session.uptime = Some(3760);
        it.sessions[0].session.received = 99;
        it.anycast.as_mut().unwrap().reason = Some("answer 500".into());
    });

    assert_eq!(found, [""; 0]);
}

#[test]
fn every_event_is_logged() {
    let lost = lines(|it| {
        it.sessions[0].session.state = SessionState::Active;
        it.sessions[0].trouble = Some(Issue::error("", "no route").with_help("add one"));
    });
    assert_eq!(lost, ["warn: session eth0: Active: no route; add one"]);

    let found = lines(|it| {
        (it.sessions[1].session.state, it.sessions[1].trouble) = (SessionState::Established, None);
    });
    assert_eq!(found, ["info: session eth1: Established"]);

    let flap = lines(|it| it.sessions[0].session.established = 2);
    assert_eq!(flap, ["info: session eth0: Established"], "it was down in between");

    assert_eq!(
        lines(|it| it.sessions[1].session.state = SessionState::Connect),
        ["debug: session eth1: Connect"]
    );
    assert_eq!(
        lines(|it| drop(it.sessions.pop())),
        ["info: session fd00:102::1 in metallb: no longer configured"]
    );

    let left = lines(|it| (it.stage, it.reason) = (AgentStage::Leaving, Some("the node reboots".into())));
    assert_eq!(left, ["warn: leaving: the node reboots"]);

    let there = lines(|it| it.waiting = vec!["the vrf module is missing".into()]);
    let port = "info: resolved: port 02:00:00:00:00:09 is not there";
    assert_eq!(there, ["warn: waiting: the vrf module is missing", port]);

    let open = lines(|it| it.anycast = Some(AnycastStatus { gate: GateState::Open, reason: None }));
    assert_eq!(open, ["info: announcing anycast addresses"]);

    let again = lines(|it| (it.daemons[1].pid, it.daemons[1].restarts) = (Some(13), 2));
    assert_eq!(again, ["warn: bgpd was restarted (pid 13, restart 2)"]);
    assert_eq!(lines(|it| it.daemons[1].answers = false), ["warn: bgpd does not respond (pid 12)"]);
    let dead = lines(|it| (it.daemons[1].answers, it.daemons[1].pid) = (false, None));
    assert_eq!(dead, ["error: bgpd is not running"]);

    let reloaded = |refused: Option<&str>, again| {
        let refused = refused.map(str::to_owned);
        lines(|it| it.reload = Some(ReloadStatus { time: moment(99), refused, again }))
    };
    assert_eq!(reloaded(None, None), ["info: the daemon accepted the new configuration"]);
    assert_eq!(reloaded(Some("why"), None), ["error: the new configuration was rejected: why"]);
    let later = "warn: the daemon rejected the new configuration; next attempt at 2026-01-01T00:01:40Z: why";
    assert_eq!(reloaded(Some("why"), Some(moment(100))), [later]);
    let restored = "warn: restored 2 routes that another program removed from the kernel";
    assert_eq!(lines(|it| it.restored += 2), [restored]);
}

/// A sample's name and labels, and its value.
type Samples = BTreeMap<String, f64>;

/// Parses the exposition format strictly: HELP, TYPE, then the samples of that metric, each once.
fn parse_metrics(text: &str) -> Samples {
    let name = regex::Regex::new("^[a-zA-Z_:][a-zA-Z0-9_:]*$").unwrap();
    let labels =
        regex::Regex::new(r#"^\{([a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"(?:,|(\}$)))+"#).unwrap();
    assert!(text.ends_with('\n'));
    let (mut samples, mut metrics, mut metric) = (Samples::new(), BTreeSet::new(), String::new());
    let mut rows = text.strip_suffix('\n').unwrap().split('\n').peekable();
    while let Some(row) = rows.next() {
        if let Some(help) = row.strip_prefix("# HELP ") {
            let (about, words) = help.split_once(' ').unwrap();
            metric = about.to_owned();
            let kind = rows.next().unwrap().strip_prefix(&format!("# TYPE {metric} ")).unwrap();
            assert!(name.is_match(&metric) && metrics.insert(metric.clone()) && !words.is_empty(), "{row}");
            assert_eq!(kind == "counter", metric.ends_with("_total"), "{metric} is a {kind}");
            assert!(["gauge", "counter"].contains(&kind));
            continue;
        }
        let (key, value) = row.rsplit_once(' ').unwrap();
        let rest = key.strip_prefix(&metric).unwrap_or_else(|| panic!("{row} is below {metric}"));
        assert!(rest.is_empty() || labels.is_match(rest), "{row}");
        assert_eq!(samples.insert(key.to_owned(), value.parse().unwrap()), None, "{row} comes twice");
    }
    samples
}

#[test]
fn metrics_follow_the_exposition_format() {
    let samples = parse_metrics(&status().metrics());

    let leaf = r#"{peer="eth0",vrf_or_namespace="",peer_role="fabric"}"#;
    for (key, value) in [
        (r#"info{node="solcp01",agent_version="0.1.0",backend="frr",daemon_version="10.3"}"#.to_owned(), 1.0),
        (r#"stage{stage="running"}"#.to_owned(), 1.0),
        (r#"stage{stage="leaving"}"#.to_owned(), 0.0),
        ("healthy".to_owned(), 1.0),
        ("waiting_for".to_owned(), 1.0),
        ("anycast_announced".to_owned(), 0.0),
        ("last_reload_successful".to_owned(), 0.0),
        ("routes_restored_total".to_owned(), 4.0),
        (format!("session_established{leaf}"), 1.0),
        (format!("session_uptime_seconds{leaf}"), 3700.0),
        (format!("session_prefixes_received{leaf}"), 2.0),
        (r#"session_state{peer="eth1",vrf_or_namespace="",peer_role="fabric"}"#.to_owned(), 0.0),
        (r#"session_problem{peer="eth1",vrf_or_namespace="",peer_role="fabric"}"#.to_owned(), 1.0),
        (
            r#"session_bfd_up{peer="fd00:102::1",vrf_or_namespace="metallb",peer_role="load_balancer"}"#
                .to_owned(),
            1.0,
        ),
        (r#"daemon_restarts_total{daemon="bgpd"}"#.to_owned(), 1.0),
    ] {
        assert_eq!(samples.get(&format!("ichor_agent_{key}")), Some(&value), "{key}");
    }
    assert!(
        !samples.contains_key(
            r#"ichor_agent_session_bfd_up{peer="eth1",vrf_or_namespace="",peer_role="fabric"}"#
        )
    );
}

#[test]
fn a_duplicate_peer_is_reported_once() {
    let mut status = status();
    status.sessions.push(SessionStatus {
        session: Session { state: SessionState::Idle, ..status.sessions[0].session.clone() },
        ..status.sessions[0].clone()
    });

    parse_metrics(&status.metrics());
    assert_eq!(changes(&status, &status), []);
}

fn text() -> impl Strategy<Value = String> {
    any::<String>()
}

prop_compose! {
    fn any_session()(
        (peer, domain, address, said) in (text(), prop::option::of(text()), prop::option::of(text()), prop::option::of(text())),
        (asn, uptime, bfd) in (any::<Option<u32>>(), any::<Option<u64>>(), any::<Option<bool>>()),
        (state, established, received, sent) in (0..6usize, any::<u32>(), any::<u32>(), any::<u32>()),
    ) -> Session {
        let state = SessionState::ALL[state];
        Session { peer, domain, address, asn, state, uptime, established, received, sent, bfd, said, ..Session::default() }
    }
}

prop_compose! {
    fn any_status()(
        (node, waiting, words, daemon) in (text(), prop::collection::vec(text(), 0..3), prop::option::of(text()), text()),
        (seconds, restored, stage, open) in (0..10_000_000u64, any::<u64>(), 0..4usize, any::<bool>()),
        sessions in prop::collection::vec((any_session(), any::<bool>(), prop::option::of((text(), text()))), 0..4),
    ) -> AgentStatus {
        let session_status = |(session, fabric, trouble): (_, bool, Option<(String, String)>)| SessionStatus {
            session,
            with: if fabric { PeerRole::Fabric } else { PeerRole::Speaker },
            trouble: trouble.map(|(words, remedy)| Issue::error("", words).with_help(remedy)),
        };
        let gate = if open { GateState::Open } else { GateState::Closed };
        AgentStatus {
            time: moment(seconds),
            node: node.clone(),
            agent: node,
            stage: AgentStage::ALL[stage],
            reason: words.clone(),
            waiting,
            sessions: sessions.into_iter().map(session_status).collect(),
            anycast: Some(AnycastStatus { gate, reason: words.clone() }),
            daemons: vec![DaemonStatus { name: daemon, pid: None, answers: open, restarts: 1, since: moment(seconds) }],
            reload: Some(ReloadStatus { time: moment(seconds), refused: words, again: open.then(|| moment(seconds)) }),
            restored,
            ..status()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_status_is_read_back_from_one_line(status in any_status()) {
        let line = status.line();

        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(AgentStatus::find(&line).unwrap().unwrap(), status);
    }

    #[test]
    fn every_status_has_metrics_a_table_and_no_change_to_itself(status in any_status()) {
        parse_metrics(&status.metrics());
        prop_assert!(status.table().ends_with('\n'));
        prop_assert_eq!(changes(&status, &status), []);
    }

    #[test]
    fn any_log_line_can_be_searched_for_a_status(line in any::<String>(), rest in any::<String>()) {
        let _ = AgentStatus::find(&line);
        let _ = AgentStatus::find(&format!("{line}{MARK}{rest}"));
    }
}
