//! Daemons that die or hang.

use std::time::{Duration, Instant};

use super::{Node, routed};
use crate::common::frr::Frr;

const BFD: Node = Node { bfd: true };

#[test]
fn a_daemon_that_dies_is_replaced_and_the_path_comes_back() {
    for frr in Frr::ALL {
        let (pair, mut agent) = routed(frr, BFD);
        for daemon in ["bgpd", "zebra", "bfdd", "staticd", "mgmtd"] {
            if daemon == "mgmtd" && frr == Frr::V8 {
                continue;
            }
            pair.node.ask(&format!("pkill -KILL -x {daemon}"));
            let start = Instant::now();
            let healed = agent.healed(daemon);
            pair.wait_for_routes(daemon);
            eprintln!("{frr:?} {daemon}: healed after {healed:?}, routes after {:?}", start.elapsed());
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
