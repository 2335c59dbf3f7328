//! Reports of sessions and routes.

use ichor_bgp::agent::session::SessionState;
use ichor_bgp::agent::{AgentStatus, Session};

use super::{Node, routed};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::wait_for;

#[test]
fn sessions_are_reported_up_and_down() {
    for frr in Frr::ALL {
        let (pair, mut agent) = routed(frr, Node { bfd: true });
        let mut one = || -> Session {
            let started_after = agent.send("sessions");
            let status =
                AgentStatus::find(&started_after).unwrap_or_else(|| panic!("{started_after}")).unwrap();
            let [session] = status.sessions.try_into().unwrap();
            session.session
        };
        let mut seen = one();
        for _ in 0..50 {
            if seen.bfd == Some(true) && seen.sent == 1 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
            seen = one();
        }

        assert_eq!((seen.peer.as_str(), seen.domain.as_deref(), seen.asn), ("eth0", None, Some(65100)));
        assert!(seen.address.as_deref().is_some_and(|address| address.starts_with("fe80::")), "{seen:?}");
        assert_eq!((seen.state, seen.bfd), (SessionState::Established, Some(true)), "{seen:?}");
        assert_eq!((seen.received, seen.sent, seen.established), (1, 1, 1), "{seen:?}");
        assert!(seen.uptime.is_some_and(|seconds| seconds < 60), "{seen:?}");
        pair.leaf.ask("vtysh -c 'configure terminal' -c 'router bgp 65100' -c 'neighbor eth0 shutdown'");
        wait_for("no session", || !pair.is_established(), || pair.log());
        let mut down = one();
        for _ in 0..50 {
            if down.state != SessionState::Established {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
            down = one();
        }
        assert_eq!((down.uptime, down.received, down.sent), (None, 0, 0), "{down:?}");
        assert!(down.said.as_deref().is_some_and(|error| error.contains("otification")), "{down:?}");
        agent.stop("leaving");
    }
}
