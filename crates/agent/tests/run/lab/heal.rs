//! What is killed, hangs or is swept away, and comes back.

use super::leaf::SHARED;
use super::{ADDRESS, BgpSpeaker, NAMED, Scene, told};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{wait_for, wait_seconds};

/// zebra alone, as FRR 8 and FRR 10 run it.
const OTHERS: [&str; 2] =
    ["mgmtd=no\nzebra_options=\"-P 0\"\n", "mgmtd=yes\nmgmtd_options=\"-P 0\"\nzebra_options=\"-P 0\"\n"];

/// An address of a service.
const SERVICE: &str = "198.51.100.7";

fn heals(frr: Frr) {
    let scene = Scene::routed(frr);
    let node = &scene.node;
    let speaker = BgpSpeaker::new(&node.machine, &told(&NAMED));
    speaker.announce(&["198.51.100.7/32"]);
    scene.wait_for("from the speaker", SERVICE, true);

    for (signal, program) in [("KILL", "bgpd"), ("KILL", "zebra"), ("STOP", "bgpd")] {
        let before = node.processes(program);
        node.signal(signal, program);

        let replaced = || {
            let now = node.processes(program);
            now != before && !now.is_empty() && !now.contains(' ')
        };
        wait_for(&format!("another {program} after {signal}"), replaced, || scene.state());
        let when = format!("after {program} got {signal}");
        node.wait_for_sessions(3);
        scene.wait_for_all(&when);
        scene.wait_for(&when, SERVICE, true);
    }
    let restarts = node.status()["daemons"].to_string();
    assert!(!restarts.contains("\"name\":\"bgpd\",\"restarts\":0"), "{restarts}");

    let before = node.processes("bgpd");
    node.signal("KILL", "ichor-agent");
    assert_eq!(node.processes("bgpd"), before, "daemons outlive the agent");
    node.start(&NAMED, "");
    node.wait_for_sessions(3);
    scene.wait_for_all("after the agent was killed");
    scene.wait_for("after the agent was killed", SERVICE, true);
    assert_ne!(node.processes("bgpd"), before);

    let leaf = &scene.leafs[1].machine;
    leaf.ask("ip link set to0 down");
    let one = || !node.way(SHARED).contains("nexthop") && !node.way(SHARED).is_empty();
    wait_for("the way by the other leaf", one, || scene.state());
    leaf.ask("ip link set to0 up");
    scene.wait_for_all("after the link was cut");
    drop(speaker);
    node.end();
}

#[test]
fn killed_and_hung_daemons_agent_and_link_come_back_on_frr_8() {
    heals(Frr::V8);
}

#[test]
fn killed_and_hung_daemons_agent_and_link_come_back_on_frr_10() {
    heals(Frr::V10);
}

/// MetalLB's FRR mode runs one, in a container beside the agent's.
#[test]
fn a_second_zebra_is_told_and_what_it_sweeps_is_put_back() {
    for frr in Frr::ALL {
        let scene = Scene::routed(frr);
        let node = &scene.node;
        assert!(!node.troubles().contains("zebra"), "{}", node.state());

        let other = frr.machine_beside(&node.machine);
        frr.start(&other, Some(OTHERS[usize::from(frr == Frr::V10)]));

        let told = "run/frr/zebra.vty) runs in the node's network too";
        node.wait_for("the second zebra", |_| node.troubles().matches(told).count() == 2);
        wait_seconds(1);
        other.ask("kill $(cat /run/frr/*.pid)");

        scene.wait_for_all("after a second zebra");
        assert!(scene.leafs.iter().all(|leaf| leaf.reaches(ADDRESS)), "{}", scene.state());
        node.wait_for("no word of it any more", |_| !node.troubles().contains("zebra"));
        node.machine.ask(&format!("ip route del {SHARED}"));
        scene.wait_for_all("after somebody deleted a route");
        node.end();
    }
}
