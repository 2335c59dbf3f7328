use super::*;
use crate::agent::session::{Extended, Notification, State};

const MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);
const OTHER: Mac = Mac([2, 0, 0, 0, 0, 2]);

/// A session with `10.0.0.2` that is not established.
fn session(state: State, said: &str) -> Session {
    let said = (!said.is_empty()).then(|| said.to_owned());
    Session { peer: "10.0.0.2".into(), state, said, ..Session::default() }
}

/// One on `eth0`, with all that is needed.
fn unnumbered(state: State) -> (Session, Known) {
    let link = Link { name: "eth0".into(), mac: Some(MAC), up: true, carrier: true, ..Link::default() };
    let port = Port { name: "eth0".into(), link: Some(link), was: None, heard: Some(3) };
    let session = Session {
        peer: "eth0".into(),
        address: Some("fe80::2".into()),
        state,
        bfd: Some(true),
        ..Session::default()
    };
    let known =
        Known { extended: true, bfd: true, families: Family::ALL.to_vec(), port: Some(port), ..known() };
    (session, known)
}

fn known() -> Known {
    Known { own: 65001, asn: Some(65002), families: vec![Family::V4], hold: 9, ..Known::default() }
}

fn port(known: &mut Known) -> &mut Port {
    known.port.as_mut().unwrap()
}

fn words(session: &Session, known: &Known) -> String {
    judge(session, known).expect("something is wrong").message
}

/// A notification as FRR 8.4 and 10.3 tell it.
fn notified(digits: &str, sent: bool) -> Session {
    let notification = Notification::parse(digits, sent);
    let said = if sent { "BGP Notification send" } else { "BGP Notification received" };
    Session { notification, ..session(State::Idle, said) }
}

#[test]
fn a_session_that_stands_has_no_trouble() {
    let (mut session, known) = unnumbered(State::Established);

    assert_eq!(judge(&session, &known), None);

    session.notification = Notification::parse("0202", true);
    session.said = Some("BGP Notification send".into());
    session.extended = Some(Extended { ours: true, theirs: true });
    session.families = Some(Family::ALL.to_vec());
    assert_eq!(judge(&session, &known), None, "what once was wrong is over");
}

#[test]
fn a_wrong_as_is_told_from_either_end_and_by_every_daemon() {
    let theirs = "wrong AS: 10.0.0.2 does not expect AS 65001 from this node";
    let ours = "wrong AS: 10.0.0.2 is not in AS 65002";

    assert_eq!(words(&notified("0202", false), &known()), theirs);
    assert_eq!(words(&session(State::Idle, "Received: Bad peer AS"), &known()), theirs);

    assert_eq!(words(&notified("0202", true), &known()), ours);
    assert_eq!(words(&session(State::Idle, "BGP Error: Bad peer AS"), &known()), ours);
    assert_eq!(words(&session(State::Idle, "bad-peer-as"), &known()), ours);
}

#[test]
fn an_internal_neighbour_where_an_external_one_is_meant_is_a_wrong_as() {
    let known = Known { asn: None, ..known() };

    assert_eq!(words(&notified("0202", true), &known), "wrong AS: 10.0.0.2 is in AS 65001, as this node is");
}

#[test]
fn too_many_prefixes_are_told_with_the_limit() {
    let known = Known { max_prefixes: Some(100), ..known() };
    let ours = "10.0.0.2 announces more prefixes than 100, and the session was closed";

    assert_eq!(words(&notified("0601", true), &known), ours);
    assert_eq!(words(&session(State::Idle, "Automatic shutdown: Route limit exceeded"), &known), ours);
    assert!(
        words(&notified("0601", false), &known).contains("takes fewer prefixes than this node announces")
    );
}

#[test]
fn the_hold_timer_is_told_with_its_seconds() {
    assert_eq!(words(&notified("0400", true), &known()), "this node heard nothing for the hold time of 9 s");
    assert_eq!(words(&notified("0400", false), &known()), "10.0.0.2 heard nothing for the hold time of 9 s");
    assert_eq!(
        words(&session(State::Idle, "hold-timer-expired"), &known()),
        words(&notified("0400", true), &known())
    );
}

#[test]
fn a_pause_between_two_attempts_of_gobgp_is_not_the_hold_timer() {
    let pause = session(State::Active, "idle-hold-timer-expired");

    assert!(words(&pause, &known()).starts_with("10.0.0.2 has not taken the connection"));
}

#[test]
fn other_notifications_have_words_of_their_own() {
    for (digits, sent, part) in [
        ("0203", true, "same router id"),
        ("0205", false, "password is not the same"),
        ("0206", true, "hold time of 9 s is not acceptable"),
        ("0207", true, "no address family in common"),
        ("0602", false, "shut down at 10.0.0.2"),
        ("0602", true, "shut down on this node"),
        ("0603", false, "10.0.0.2 no longer has the session"),
        ("0605", false, "turns the connection away"),
    ] {
        let found = words(&notified(digits, sent), &known());

        assert!(found.contains(part), "{digits}: {found}");
    }
    let same = words(&notified("0207", true), &known());
    assert_eq!(words(&session(State::Idle, "BGP Error: Required capability missing"), &known()), same);
    assert_eq!(words(&session(State::Idle, "OPEN Message Error/Unsupported Capability"), &known()), same);
    let gobgp = "notification-received code 6(cease) subcode 2(administrative shutdown)";
    assert_eq!(words(&session(State::Idle, gobgp), &known()), "shut down at 10.0.0.2");
}

#[test]
fn a_refused_connection_is_told_by_its_errno_or_by_what_frr_waits_for() {
    let refused = "10.0.0.2 refuses the connection: no BGP listens there";

    assert_eq!(words(&session(State::Active, "Socket: Connection refused"), &known()), refused);
    let gobgp = "dial tcp 0.0.0.0:0->10.0.0.2:179: connect: connection refused";
    assert_eq!(words(&session(State::Active, gobgp), &known()), refused);
    let frr = words(&session(State::Active, "Waiting for peer OPEN"), &known());
    assert_eq!(frr, "10.0.0.2 has not taken the connection: Waiting for peer OPEN");
}

#[test]
fn no_route_is_told_by_the_kernel_or_by_the_daemon() {
    let none = "no route to 10.0.0.2";

    assert_eq!(words(&session(State::Active, ""), &Known { route: Some(false), ..known() }), none);
    assert_eq!(words(&session(State::Active, "Waiting for NHT"), &known()), none);
    assert_eq!(words(&session(State::Idle, "No path to specified Neighbor"), &known()), none);
    assert_eq!(words(&session(State::Active, "connect: network is unreachable"), &known()), none);
    assert_eq!(words(&session(State::Idle, ""), &known()), none, "BIRD says nothing at all");
}

#[test]
fn silence_on_a_session_with_a_password_is_put_down_to_it() {
    let silent = session(State::Connect, "Waiting for peer OPEN");

    assert_eq!(words(&silent, &known()), "10.0.0.2 does not answer on TCP port 179");
    let gobgp = session(State::Active, "dial tcp 0.0.0.0:0->10.0.0.2:179: i/o timeout");
    for silent in [silent, gobgp] {
        let known = Known { password: true, ..known() };
        assert_eq!(words(&silent, &known), "10.0.0.2 does not answer: the passwords may differ");
    }
}

#[test]
fn a_leaf_that_closes_while_both_connect_is_told_as_such() {
    let reset = words(&session(State::Active, "Socket: Connection reset by peer"), &known());
    assert_eq!(reset, "10.0.0.2 closes the connection at once");

    let collision = words(&notified("0501", true), &known());
    let want =
        "10.0.0.2 closed the session while it was being set up; most often it does not expect AS 65001";
    assert_eq!(collision, want);
    let said = "Neighbor Events Error/Receive Unexpected Message in OpenSent State";
    assert_eq!(words(&session(State::Idle, said), &known()), want);
    assert_eq!(words(&session(State::Idle, "invalid-msg"), &known()), want);
}

#[test]
fn a_port_explains_more_than_an_old_message() {
    let (mut session, mut known) = unnumbered(State::Idle);
    session.notification = Notification::parse("0202", true);

    assert!(words(&session, &known).starts_with("wrong AS"));

    port(&mut known).link.as_mut().unwrap().carrier = false;
    assert_eq!(words(&session, &known), "nothing answers at the other end of port eth0");
    port(&mut known).link.as_mut().unwrap().up = false;
    assert_eq!(words(&session, &known), "port eth0 is switched off");
    port(&mut known).link = None;
    assert_eq!(words(&session, &known), "port eth0 is not there");
}

#[test]
fn a_leaf_that_never_advertised_itself_is_named() {
    let (mut session, mut known) = unnumbered(State::Idle);
    session.address = None;
    session.bfd = None;
    port(&mut known).heard = None;

    let found = words(&session, &known);

    assert_eq!(found, "no router advertisement from the leaf on port eth0, so its address is not known");
}

#[test]
fn bfd_that_holds_an_old_address_is_told_with_both() {
    let (mut session, known) = unnumbered(State::Idle);
    (session.bfd, session.watched) = (Some(false), Some("fe80::1%eth0".into()));

    assert_eq!(
        words(&session, &known),
        "BFD still watches fe80::1%eth0, and the neighbour is now at fe80::2"
    );

    session.watched = Some("fe80::2%eth0".into());
    assert_eq!(words(&session, &known), "BFD says the path to the neighbour is dead");
}

#[test]
fn a_port_with_another_mac_in_front_of_a_leaf_that_does_not_let_go_is_named() {
    let (session, mut known) = unnumbered(State::Active);
    port(&mut known).was = Some(OTHER);

    let trouble = judge(&session, &known).unwrap();

    assert!(
        trouble.message.contains("came back with MAC 02:00:00:00:00:01 in the place of 02:00:00:00:00:02")
    );
    assert!(trouble.message.contains("FRR 10.2.0 to 10.2.2 and 10.3.0"));
    known.bfd = false;
    assert_eq!(words(&session, &known), "fe80::2 has not taken the connection");
}

#[test]
fn prefixes_that_silently_do_not_come_are_told_on_a_session_that_stands() {
    let (mut session, known) = unnumbered(State::Established);

    session.extended = Some(Extended { ours: true, theirs: false });
    let found = words(&session, &known);
    assert!(found.ends_with("the neighbour does not offer the extended next hop capability"), "{found}");

    session.extended = None;
    session.families = Some(vec![Family::V4]);
    assert!(words(&session, &known).starts_with("no IPv6 prefixes"));

    session.families = None;
    session.bfd = Some(false);
    assert!(words(&session, &known).starts_with("BFD does not come up"));
}

#[test]
fn a_second_zebra_is_told_whatever_the_session_does() {
    const RIVAL: &str = "another zebra (its socket is /run/frr/zebra.vty)";
    let (up, known) = unnumbered(State::Established);
    let known = Known { rival: Some(RIVAL.to_owned()), ..known };

    assert!(words(&up, &known).starts_with(&format!("{RIVAL} runs in the node's network too")));
    assert!(words(&session(State::Idle, ""), &known).starts_with(RIVAL));
}

#[test]
fn every_state_that_is_not_established_has_words_and_a_remedy() {
    for state in State::ALL.into_iter().filter(|it| *it != State::Established) {
        for passive in [false, true] {
            let trouble = judge(&session(state, "words of tomorrow"), &Known { passive, ..known() }).unwrap();

            assert!(!trouble.message.is_empty() && !trouble.help.unwrap_or_default().is_empty(), "{state}");
        }
    }
}
