use super::*;
use crate::agent::session::{ExtendedNextHop, Notification, SessionState};

const MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);
const OTHER: Mac = Mac([2, 0, 0, 0, 0, 2]);

/// A session with `10.0.0.2` that is not established.
fn session(state: SessionState, said: &str) -> Session {
    let said = (!said.is_empty()).then(|| said.to_owned());
    Session { peer: "10.0.0.2".into(), state, said, ..Session::default() }
}

/// A session on port `eth0`, with its complete context.
fn unnumbered(state: SessionState) -> (Session, SessionContext) {
    let link = Link { name: "eth0".into(), mac: Some(MAC), up: true, carrier: true, ..Link::default() };
    let port =
        PortState { name: "eth0".into(), link: Some(link), last_mac: None, last_advertisement: Some(3) };
    let session = Session {
        peer: "eth0".into(),
        address: Some("fe80::2".into()),
        state,
        bfd: Some(true),
        ..Session::default()
    };
    let known = SessionContext {
        extended: true,
        bfd: true,
        families: Family::ALL.to_vec(),
        port: Some(port),
        ..known()
    };
    (session, known)
}

fn known() -> SessionContext {
    SessionContext {
        own: 65001,
        asn: Some(65002),
        families: vec![Family::V4],
        hold: 9,
        ..SessionContext::default()
    }
}

fn port(known: &mut SessionContext) -> &mut PortState {
    known.port.as_mut().unwrap()
}

fn message(session: &Session, known: &SessionContext) -> String {
    diagnose(session, known).expect("something is wrong").message
}

/// A session with a notification as FRR 8.4 and 10.3 report it.
fn notified(digits: &str, sent: bool) -> Session {
    let notification = Notification::parse(digits, sent);
    let said = if sent { "BGP Notification send" } else { "BGP Notification received" };
    Session { notification, ..session(SessionState::Idle, said) }
}

#[test]
fn an_established_session_has_no_problem() {
    let (mut session, known) = unnumbered(SessionState::Established);

    assert_eq!(diagnose(&session, &known), None);

    session.notification = Notification::parse("0202", true);
    session.said = Some("BGP Notification send".into());
    session.extended = Some(ExtendedNextHop { ours: true, theirs: true });
    session.families = Some(Family::ALL.to_vec());
    assert_eq!(diagnose(&session, &known), None, "an earlier problem is over");
}

#[test]
fn a_wrong_as_is_diagnosed_from_either_end_and_with_every_daemon() {
    let theirs = "wrong AS: 10.0.0.2 does not expect AS 65001 from this node";
    let ours = "wrong AS: 10.0.0.2 is not in AS 65002";

    assert_eq!(message(&notified("0202", false), &known()), theirs);
    assert_eq!(message(&session(SessionState::Idle, "Received: Bad peer AS"), &known()), theirs);

    assert_eq!(message(&notified("0202", true), &known()), ours);
    assert_eq!(message(&session(SessionState::Idle, "BGP Error: Bad peer AS"), &known()), ours);
    assert_eq!(message(&session(SessionState::Idle, "bad-peer-as"), &known()), ours);
}

#[test]
fn an_internal_neighbour_instead_of_an_external_one_is_a_wrong_as() {
    let known = SessionContext { asn: None, ..known() };

    assert_eq!(
        message(&notified("0202", true), &known),
        "wrong AS: 10.0.0.2 is in AS 65001, as this node is"
    );
}

#[test]
fn too_many_prefixes_are_reported_with_the_limit() {
    let known = SessionContext { max_prefixes: Some(100), ..known() };
    let ours = "10.0.0.2 announces more prefixes than 100, so the session was closed";

    assert_eq!(message(&notified("0601", true), &known), ours);
    assert_eq!(
        message(&session(SessionState::Idle, "Automatic shutdown: Route limit exceeded"), &known),
        ours
    );
    assert!(
        message(&notified("0601", false), &known).contains("allows fewer prefixes than this node announces")
    );
}

#[test]
fn an_expired_hold_timer_is_reported_with_its_seconds() {
    assert_eq!(
        message(&notified("0400", true), &known()),
        "this node received nothing for the hold time of 9 s"
    );
    assert_eq!(
        message(&notified("0400", false), &known()),
        "10.0.0.2 received nothing for the hold time of 9 s"
    );
    assert_eq!(
        message(&session(SessionState::Idle, "hold-timer-expired"), &known()),
        message(&notified("0400", true), &known())
    );
}

#[test]
fn the_idle_hold_timer_of_gobgp_is_not_the_hold_timer() {
    let pause = session(SessionState::Active, "idle-hold-timer-expired");

    assert!(message(&pause, &known()).starts_with("10.0.0.2 has not accepted the connection"));
}

#[test]
fn every_other_notification_has_its_own_message() {
    for (digits, sent, part) in [
        ("0203", true, "same router id"),
        ("0205", false, "passwords at the two ends differ"),
        ("0206", true, "hold time of 9 s is not acceptable"),
        ("0207", true, "no address family in common"),
        ("0602", false, "shut down at 10.0.0.2"),
        ("0602", true, "shut down on this node"),
        ("0603", false, "10.0.0.2 no longer has the session"),
        ("0605", false, "rejects the connection"),
    ] {
        let found = message(&notified(digits, sent), &known());

        assert!(found.contains(part), "{digits}: {found}");
    }
    let same = message(&notified("0207", true), &known());
    assert_eq!(
        message(&session(SessionState::Idle, "BGP Error: Required capability missing"), &known()),
        same
    );
    assert_eq!(
        message(&session(SessionState::Idle, "OPEN Message Error/Unsupported Capability"), &known()),
        same
    );
    let gobgp = "notification-received code 6(cease) subcode 2(administrative shutdown)";
    assert_eq!(message(&session(SessionState::Idle, gobgp), &known()), "shut down at 10.0.0.2");
}

#[test]
fn a_load_balancer_that_ends_is_not_reported_as_misconfigured() {
    let known = SessionContext { passive: true, ..known() };

    let removed = diagnose(&notified("0603", false), &known).unwrap();
    let closed = diagnose(&session(SessionState::Idle, "Peer closed the session"), &known).unwrap();

    assert!(removed.message.starts_with("10.0.0.2 closed the session: it stopped"), "{}", removed.message);
    assert_eq!(closed.message, "10.0.0.2 has not connected");
    for found in [removed, closed] {
        assert_eq!(found.help.as_deref(), Some("check whether the other end has the session and runs"));
    }
}

#[test]
fn a_refused_connection_is_diagnosed_by_its_errno_or_the_state_of_frr() {
    let refused = "10.0.0.2 refuses the connection: BGP is not listening there";

    assert_eq!(message(&session(SessionState::Active, "Socket: Connection refused"), &known()), refused);
    let gobgp = "dial tcp 0.0.0.0:0->10.0.0.2:179: connect: connection refused";
    assert_eq!(message(&session(SessionState::Active, gobgp), &known()), refused);
    let frr = message(&session(SessionState::Active, "Waiting for peer OPEN"), &known());
    assert_eq!(frr, "10.0.0.2 has not accepted the connection: Waiting for peer OPEN");
}

#[test]
fn a_missing_route_is_diagnosed_from_the_kernel_or_the_daemon() {
    let none = "no route to 10.0.0.2";

    assert_eq!(
        message(&session(SessionState::Active, ""), &SessionContext { route: Some(false), ..known() }),
        none
    );
    assert_eq!(message(&session(SessionState::Active, "Waiting for NHT"), &known()), none);
    assert_eq!(message(&session(SessionState::Idle, "No path to specified Neighbor"), &known()), none);
    assert_eq!(message(&session(SessionState::Active, "connect: network is unreachable"), &known()), none);
    assert_eq!(message(&session(SessionState::Idle, ""), &known()), none, "BIRD reports no error");
}

#[test]
fn a_timeout_on_a_session_with_a_password_is_attributed_to_the_password() {
    let silent = session(SessionState::Connect, "Waiting for peer OPEN");

    assert_eq!(message(&silent, &known()), "10.0.0.2 does not answer on TCP port 179");
    let gobgp = session(SessionState::Active, "dial tcp 0.0.0.0:0->10.0.0.2:179: i/o timeout");
    for silent in [silent, gobgp] {
        let known = SessionContext { password: true, ..known() };
        assert_eq!(message(&silent, &known), "10.0.0.2 does not answer: the passwords may differ");
    }
}

#[test]
fn a_connection_that_the_leaf_closes_is_reported_as_such() {
    let reset = message(&session(SessionState::Active, "Socket: Connection reset by peer"), &known());
    assert_eq!(reset, "10.0.0.2 closes the connection immediately");

    let collision = message(&notified("0501", true), &known());
    let want = "10.0.0.2 closed the session during setup; most often it does not expect AS 65001";
    assert_eq!(collision, want);
    let said = "Neighbor Events Error/Receive Unexpected Message in OpenSent State";
    assert_eq!(message(&session(SessionState::Idle, said), &known()), want);
    assert_eq!(message(&session(SessionState::Idle, "invalid-msg"), &known()), want);
}

#[test]
fn a_port_failure_takes_precedence_over_an_old_notification() {
    let (mut session, mut known) = unnumbered(SessionState::Idle);
    session.notification = Notification::parse("0202", true);

    assert!(message(&session, &known).starts_with("wrong AS"));

    port(&mut known).link.as_mut().unwrap().carrier = false;
    assert_eq!(message(&session, &known), "port eth0 has no carrier");
    port(&mut known).link.as_mut().unwrap().up = false;
    assert_eq!(message(&session, &known), "port eth0 is down");
    port(&mut known).link = None;
    assert_eq!(message(&session, &known), "port eth0 not found");
}

#[test]
fn a_leaf_without_router_advertisements_is_reported() {
    let (mut session, mut known) = unnumbered(SessionState::Idle);
    session.address = None;
    session.bfd = None;
    port(&mut known).last_advertisement = None;

    let found = message(&session, &known);

    assert_eq!(found, "no router advertisement from the leaf on port eth0, so its address is unknown");
}

#[test]
fn a_stale_bfd_session_is_reported_with_both_addresses() {
    let (mut session, known) = unnumbered(SessionState::Idle);
    (session.bfd, session.watched) = (Some(false), Some("fe80::1%eth0".into()));

    assert_eq!(
        message(&session, &known),
        "BFD still monitors fe80::1%eth0, but the neighbour is now at fe80::2"
    );

    session.watched = Some("fe80::2%eth0".into());
    assert_eq!(message(&session, &known), "BFD reports the path to the neighbour as down");
}

#[test]
fn a_changed_mac_address_is_reported_for_leafs_that_keep_stale_bfd_sessions() {
    let (session, mut known) = unnumbered(SessionState::Active);
    port(&mut known).last_mac = Some(OTHER);

    let trouble = diagnose(&session, &known).unwrap();

    assert!(trouble.message.contains("came back with MAC 02:00:00:00:00:01 instead of 02:00:00:00:00:02"));
    assert!(trouble.message.contains("FRR 10.2.0 to 10.2.2 and 10.3.0"));
    known.bfd = false;
    assert_eq!(message(&session, &known), "fe80::2 has not accepted the connection");
}

#[test]
fn a_missing_family_of_an_established_session_is_reported() {
    let (mut session, known) = unnumbered(SessionState::Established);

    session.extended = Some(ExtendedNextHop { ours: true, theirs: false });
    let found = message(&session, &known);
    assert!(found.ends_with("the neighbour does not advertise the extended next hop capability"), "{found}");

    session.extended = None;
    session.families = Some(vec![Family::V4]);
    assert!(message(&session, &known).starts_with("no IPv6 prefixes"));

    session.families = None;
    session.bfd = Some(false);
    assert!(message(&session, &known).starts_with("BFD is down"));
}

#[test]
fn a_second_zebra_is_reported_in_every_session_state() {
    const RIVAL: &str = "another zebra (its socket is /run/frr/zebra.vty)";
    let (up, known) = unnumbered(SessionState::Established);
    let known = SessionContext { conflicting_daemon: Some(RIVAL.to_owned()), ..known };

    assert!(message(&up, &known).starts_with(&format!("{RIVAL} runs in the node's network")));
    assert!(message(&session(SessionState::Idle, ""), &known).starts_with(RIVAL));
}

#[test]
fn every_state_but_established_has_a_message_and_a_hint() {
    for state in SessionState::ALL.into_iter().filter(|it| *it != SessionState::Established) {
        for passive in [false, true] {
            let trouble =
                diagnose(&session(state, "words of tomorrow"), &SessionContext { passive, ..known() })
                    .unwrap();

            assert!(!trouble.message.is_empty() && !trouble.help.unwrap_or_default().is_empty(), "{state}");
        }
    }
}
