//! Recovery of killed and hung daemons, and of removed routes.

use super::leaf::SHARED;
use super::{ADDRESS, BgpSpeaker, NAMED, Topology, model_of_variables};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{wait_for, wait_seconds};

/// zebra only, as FRR 8 and FRR 10 run it.
const OTHERS: [&str; 2] =
    ["mgmtd=no\nzebra_options=\"-P 0\"\n", "mgmtd=yes\nmgmtd_options=\"-P 0\"\nzebra_options=\"-P 0\"\n"];

/// A service address.
const SERVICE: &str = "198.51.100.7";

fn recovers(frr: Frr) {
    let topology = Topology::routed(frr);
    let node = &topology.node;
    let speaker = BgpSpeaker::new(&node.machine, &model_of_variables(&NAMED));
    speaker.announce(&["198.51.100.7/32"]);
    topology.wait_for("from the speaker", SERVICE, true);

    for (signal, program) in [("KILL", "bgpd"), ("KILL", "zebra"), ("STOP", "bgpd")] {
        let before = node.processes(program);
        node.signal(signal, program);

        let replaced = || {
            let now = node.processes(program);
            now != before && !now.is_empty() && !now.contains(' ')
        };
        wait_for(&format!("another {program} after {signal}"), replaced, || topology.state());
        let when = format!("after {program} got {signal}");
        node.wait_for_sessions(3);
        topology.wait_for_all(&when);
        topology.wait_for(&when, SERVICE, true);
    }
    let restarts = node.status()["daemons"].to_string();
    assert!(!restarts.contains("\"name\":\"bgpd\",\"restarts\":0"), "{restarts}");

    let before = node.processes("bgpd");
    node.signal("KILL", "ichor-agent");
    assert_eq!(node.processes("bgpd"), before, "daemons outlive the agent");
    node.start(&NAMED, "");
    node.wait_for_sessions(3);
    topology.wait_for_all("after the agent was killed");
    topology.wait_for("after the agent was killed", SERVICE, true);
    assert_ne!(node.processes("bgpd"), before);

    let leaf = &topology.leafs[1].machine;
    leaf.ask("ip link set to0 down");
    let one = || !node.route_to(SHARED).contains("nexthop") && !node.route_to(SHARED).is_empty();
    wait_for("the route over the other leaf", one, || topology.state());
    leaf.ask("ip link set to0 up");
    topology.wait_for_all("after the link was cut");
    drop(speaker);
    node.stop();
}

#[test]
fn killed_and_hung_daemons_agent_and_link_recover_on_frr_8() {
    recovers(Frr::V8);
}

#[test]
fn killed_and_hung_daemons_agent_and_link_recover_on_frr_10() {
    recovers(Frr::V10);
}

/// MetalLB's FRR mode runs one, in a container beside the agent's.
#[test]
fn a_second_zebra_is_reported_and_the_routes_it_removes_are_restored() {
    for frr in Frr::ALL {
        let topology = Topology::routed(frr);
        let node = &topology.node;
        assert!(!node.problems().contains("zebra"), "{}", node.state());

        let other = frr.machine_beside(&node.machine);
        frr.start(&other, Some(OTHERS[usize::from(frr == Frr::V10)]));

        let problem = "run/frr/zebra.vty) runs in the node's network";
        node.wait_for("the second zebra", |_| node.problems().matches(problem).count() == 2);
        wait_seconds(1);
        other.ask("kill $(cat /run/frr/*.pid)");

        topology.wait_for_all("after a second zebra");
        assert!(topology.leafs.iter().all(|leaf| leaf.reaches(ADDRESS)), "{}", topology.state());
        node.wait_for("no report of it", |_| !node.problems().contains("zebra"));
        node.machine.ask(&format!("ip route del {SHARED}"));
        topology.wait_for_all("after a route was deleted");
        node.stop();
    }
}
