//! Daemons that die or hang.

use std::time::{Duration, Instant};

use super::{Node, Pair, routed};
use crate::frr::driver::Agent;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{wait_for, wait_seconds};

const BFD: Node = Node { bfd: true };
const PLAIN: Node = Node { bfd: false };

#[test]
fn a_killed_daemon_is_replaced_and_routes_come_back() {
    for frr in Frr::ALL {
        let (pair, mut agent) = routed(frr, BFD);
        for daemon in ["bgpd", "zebra", "bfdd", "staticd", "mgmtd"] {
            if daemon == "mgmtd" && frr == Frr::V8 {
                continue;
            }
            let before = pair.established();
            pair.node.ask(&format!("pkill -KILL -x {daemon}"));
            let start = Instant::now();
            let recovered_after = agent.wait_for_recovery(daemon);
            // With graceful restart the leaf keeps the route, so the session is decisive.
            let again = daemon == "bgpd" || (daemon == "zebra" && frr == Frr::V8);
            wait_for(
                daemon,
                || pair.is_established() && (!again || pair.established() != before),
                || pair.log(),
            );
            pair.wait_for_routes(daemon);
            eprintln!(
                "{frr:?} {daemon}: healed after {recovered_after:?}, session after {:?}",
                start.elapsed()
            );
        }
        agent.stop("leaving");
    }
}

#[test]
fn a_hung_daemon_is_replaced_within_ten_seconds() {
    for frr in Frr::ALL {
        let (pair, mut agent) = routed(frr, BFD);
        for daemon in ["bgpd", "zebra"] {
            pair.node.ask(&format!("pkill -STOP -x {daemon}"));
            let recovered_after = agent.wait_for_recovery(daemon);
            pair.wait_for_routes(daemon);
            eprintln!("{frr:?} {daemon} stopped: healed after {recovered_after:?}");
            assert!(recovered_after < Duration::from_secs(10), "{frr:?} {daemon}: {recovered_after:?}");
        }
        agent.stop("leaving");
    }
}

#[test]
fn routes_of_a_killed_zebra_are_sent_to_the_new_one() {
    for frr in Frr::ALL {
        let pair = Pair::new(frr, PLAIN);
        let daemons = PLAIN.daemons(frr).replace("-K 60", "-K 12");
        let (mut agent, reply) = Agent::start(&pair.node, &PLAIN.conf(), &daemons);
        assert_eq!(reply, "started");
        pair.wait_for_routes("routes at both ends");

        pair.node.ask("pkill -KILL -x zebra");
        agent.wait_for_recovery("zebra");
        // By then zebra has removed the routes that it did not receive again.
        wait_seconds(16);

        pair.wait_for_routes("after the sweep");
        let routes = agent.send("routes");
        assert!(routes.contains("198.51.100.0/24"), "{routes}");
        agent.stop("leaving");
    }
}
