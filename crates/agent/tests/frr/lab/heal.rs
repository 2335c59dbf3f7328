//! Daemons that die or hang.

use std::time::{Duration, Instant};

use super::{Node, Pair, routed};
use crate::frr::driver::Agent;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{wait_for, wait_seconds};

const BFD: Node = Node { bfd: true };
const PLAIN: Node = Node { bfd: false };

#[test]
fn a_daemon_that_dies_is_replaced_and_the_path_comes_back() {
    for frr in Frr::ALL {
        let (pair, mut agent) = routed(frr, BFD);
        for daemon in ["bgpd", "zebra", "bfdd", "staticd", "mgmtd"] {
            if daemon == "mgmtd" && frr == Frr::V8 {
                continue;
            }
            let before = pair.established();
            pair.node.ask(&format!("pkill -KILL -x {daemon}"));
            let start = Instant::now();
            let healed = agent.healed(daemon);
            // With graceful restart the leaf keeps the route, so it is the session that tells.
            let again = daemon == "bgpd" || (daemon == "zebra" && frr == Frr::V8);
            wait_for(
                daemon,
                || pair.is_established() && (!again || pair.established() != before),
                || pair.log(),
            );
            pair.wait_for_routes(daemon);
            eprintln!("{frr:?} {daemon}: healed after {healed:?}, session after {:?}", start.elapsed());
        }
        agent.stop("leaving");
    }
}

#[test]
fn a_daemon_that_hangs_is_replaced_within_ten_seconds() {
    for frr in Frr::ALL {
        let (pair, mut agent) = routed(frr, BFD);
        for daemon in ["bgpd", "zebra"] {
            pair.node.ask(&format!("pkill -STOP -x {daemon}"));
            let healed = agent.healed(daemon);
            pair.wait_for_routes(daemon);
            eprintln!("{frr:?} {daemon} stopped: healed after {healed:?}");
            assert!(healed < Duration::from_secs(10), "{frr:?} {daemon}: {healed:?}");
        }
        agent.stop("leaving");
    }
}

#[test]
fn routes_that_zebra_left_in_the_kernel_are_given_to_it_again() {
    for frr in Frr::ALL {
        let pair = Pair::new(frr, PLAIN);
        let daemons = PLAIN.daemons(frr).replace("-K 60", "-K 12");
        let (mut agent, said) = Agent::start(&pair.node, &PLAIN.conf(), &daemons);
        assert_eq!(said, "started");
        pair.wait_for_routes("routes at both ends");

        pair.node.ask("pkill -KILL -x zebra");
        agent.healed("zebra");
        // What nobody gave zebra again is swept by then.
        wait_seconds(16);

        pair.wait_for_routes("after the sweep");
        let routes = agent.tell("routes");
        assert!(routes.contains("198.51.100.0/24"), "{routes}");
        agent.stop("leaving");
    }
}
