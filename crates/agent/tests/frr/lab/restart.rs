//! Stopping and restarting.

use std::time::{Duration, Instant};

use super::{Node, Pair, routed};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::wait_for;

/// The routes that were removed at either end while `what` ran.
fn lost(pair: &Pair, what: impl FnOnce()) -> String {
    for machine in [&pair.node, &pair.leaf] {
        machine.ask("ip -ts monitor route >/tmp/monitor 2>&1 & echo $! >/tmp/monitor.pid; sleep 0.2");
    }
    what();
    let mut lost = String::new();
    for (name, machine, route) in [("node", &pair.node, "198.51.100.0/24"), ("leaf", &pair.leaf, "10.0.0.1 ")]
    {
        let reply = machine.ask("kill $(cat /tmp/monitor.pid); cat /tmp/monitor");
        let gone = reply.lines().filter(|line| line.contains(route) && line.contains("Deleted"));
        gone.for_each(|line| lost += &format!("{name}: {line}\n"));
    }
    lost
}

/// Stops FRR as for a new configuration, and starts it again; returns the lost routes.
fn restarted(frr: Frr, node: Node) -> String {
    let (pair, agent) = routed(frr, node);
    let before = pair.established();
    let mut again = None;
    let lost = lost(&pair, || {
        agent.stop("planned");
        std::thread::sleep(Duration::from_secs(2));
        let (agent, reply) = pair.agent(node);
        assert_eq!(reply, "started");
        again = Some(agent);
        wait_for("a new session", || pair.is_established() && pair.established() != before, || pair.log());
        std::thread::sleep(Duration::from_secs(3));
        assert!(pair.has_route() && pair.knows_leaf(), "{}", pair.log());
    });
    again.unwrap().stop("leaving");
    lost
}

#[test]
fn a_planned_restart_loses_no_route() {
    for frr in Frr::ALL {
        assert_eq!(restarted(frr, Node { bfd: false }), "", "{frr:?}");
    }
}

#[test]
fn a_planned_restart_loses_no_route_with_bfd_and_graceful_restart_at_the_leaf() {
    for frr in Frr::ALL {
        assert_eq!(restarted(frr, Node { bfd: true }), "", "{frr:?}");
    }
}

#[test]
fn the_routes_of_a_leaving_node_disappear_immediately() {
    for frr in Frr::ALL {
        let (pair, agent) = routed(frr, Node { bfd: false });
        let start = Instant::now();
        agent.stop("leaving");
        wait_for("no route", || !pair.has_route(), || pair.log());
        eprintln!("{frr:?}: gone after {:?}", start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(3));
    }
}

#[test]
fn daemons_of_a_killed_agent_are_replaced() {
    for frr in Frr::ALL {
        let node = Node { bfd: true };
        let (pair, agent) = routed(frr, node);
        let pids = |name: &str| pair.node.run(&format!("pidof {name}")).stdout;
        let before = [pids("bgpd"), pids("zebra")];
        agent.kill(&pair.node);
        assert_eq!([pids("bgpd"), pids("zebra")], before);

        let (agent, reply) = pair.agent(node);

        assert_eq!(reply, "started");
        for (name, old) in ["bgpd", "zebra"].into_iter().zip(before) {
            let new = pids(name);
            assert!(new != old && String::from_utf8(new).unwrap().split_whitespace().count() == 1, "{name}");
        }
        pair.wait_for_routes("after the agent was killed");
        agent.stop("leaving");
        assert!(pids("bgpd").is_empty());
    }
}
