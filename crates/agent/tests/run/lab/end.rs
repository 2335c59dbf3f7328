//! Restarts and good-byes.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use ichor_bgp::model::Bfd;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::leaf::Leaf;
use super::{ADDRESS, NAMED, Scene, build, other};
use crate::status::simulator::{REBOOTING, RUNNING, Simulator};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{wait_for, wait_seconds};

/// Ends the agent, starts it again when it has ended, and tells what leafs and node were without meanwhile.
fn restart(scene: &Scene, variables: &[(&str, &str)], address: &str, end: impl Fn()) -> String {
    let before = scene.established();
    scene.lost(|| {
        end();
        scene.node.wait_until_ended();
        scene.node.start(variables, "");
        let again = || scene.established().iter().zip(&before).all(|(now, before)| now > before);
        wait_for("new sessions", again, || scene.state());
        scene.node.wait_for("routes of the leafs", |status| {
            let sessions = status["sessions"].as_array().into_iter().flatten();
            sessions.filter(|session| session["prefixes_received"].as_u64() > Some(0)).count() == 2
        });
        scene.wait_for("after the restart", address, true);
        scene.wait_for_ways("after the restart");
        wait_seconds(3);
    })
}

/// Talos ends a service by telling all its processes at once, and starts it again when its document was edited.
fn restarts(frr: Frr) {
    let scene = Scene::routed(frr);

    assert_eq!(restart(&scene, &NAMED, ADDRESS, || scene.node.end()), "", "{}", scene.state());

    scene.node.end();
}

#[test]
fn a_restart_by_talos_loses_no_route_on_frr_8() {
    restarts(Frr::V8);
}

#[test]
fn a_restart_by_talos_loses_no_route_on_frr_10() {
    restarts(Frr::V10);
}

/// Waits until the node sees both leafs by BFD.
fn wait_for_bfd(scene: &Scene) {
    scene.node.wait_for("BFD", |status| {
        let sessions = status["sessions"].as_array().into_iter().flatten();
        sessions.filter(|session| session["bfd_up"] == true).count() == 2
    });
}

/// Ends the agent as Talos does. When all has ended, the leafs know that by BFD.
fn end_unseen(scene: &Scene) {
    scene.node.end();
    let seeing: Vec<_> = scene.leafs.iter().filter(|leaf| leaf.sees_any()).map(Leaf::state).collect();
    assert!(seeing.is_empty(), "{}", seeing.concat());
}

/// Leafs that watch the node by BFD see its silence only when they already wait for it.
fn watched_restarts(frr: Frr) {
    let scene = Scene::new(frr);
    scene.leafs.iter().for_each(Leaf::watch);
    let variables = [&NAMED[..], &[("ENABLE_BFD", "true")]].concat();
    scene.node.start(&variables, "");
    scene.wait_for_all("from the start");
    wait_for_bfd(&scene);

    assert_eq!(restart(&scene, &variables, ADDRESS, || end_unseen(&scene)), "", "{}", scene.state());

    scene.node.end();
}

#[test]
fn a_restart_by_talos_loses_no_route_with_bfd_on_frr_8() {
    watched_restarts(Frr::V8);
}

#[test]
fn a_restart_by_talos_loses_no_route_with_bfd_on_frr_10() {
    watched_restarts(Frr::V10);
}

/// BIRD 2.0 beside FRR 8.4, and BIRD 2.17 beside FRR 10.3. The first restart begins with routers that are told by a range, and the
/// second with such that are told by their addresses. At the third leafs and node watch each other by BFD.
fn bird_restarts(frr: Frr) {
    let scene = Scene::new(frr);
    // For two minutes after its start FRR says that it restarts itself, and then nobody waits for its routes.
    wait_seconds(121);
    build::bird(&scene.node);
    scene.node.start(&[], "");
    scene.wait_for("from the start", build::ADDRESS, true);
    scene.wait_for_ways("from the start");

    for nth in 1..=2 {
        let lost = restart(&scene, &[], build::ADDRESS, || scene.node.end());

        assert_eq!(lost, "", "restart {nth}: {}", scene.state());
    }
    scene.leafs.iter().for_each(Leaf::watch);
    build::tell_bird(&scene.node, Some(Bfd { interval: 300, multiplier: 3 }));
    wait_for_bfd(&scene);
    scene.wait_for("with BFD", build::ADDRESS, true);
    scene.wait_for_ways("with BFD");

    let lost = restart(&scene, &[], build::ADDRESS, || end_unseen(&scene));

    assert_eq!(lost, "", "with BFD: {}", scene.state());
    scene.node.end();
}

#[test]
fn a_restart_by_talos_loses_no_route_on_bird_2_0() {
    bird_restarts(Frr::V8);
}

#[test]
fn a_restart_by_talos_loses_no_route_on_bird_2_17() {
    bird_restarts(Frr::V10);
}

#[test]
fn a_restart_by_talos_loses_no_route_on_gobgp() {
    let variables = [&NAMED[..], &[("ICHOR_BACKEND", "gobgp")]].concat();
    let scene = Scene::new(Frr::V8);
    other::gobgp(&scene.node);
    scene.node.start(&variables, "");
    scene.wait_for_all("from the start");

    let lost = restart(&scene, &variables, ADDRESS, || scene.node.end());

    assert_eq!(lost, "", "{}", scene.state());
    scene.node.end();
}

/// The same when leafs and node watch each other by BFD.
fn watched_gobgp_restarts(frr: Frr) {
    let variables = [&NAMED[..], &[("ICHOR_BACKEND", "gobgp"), ("ENABLE_BFD", "true")]].concat();
    let scene = Scene::new(frr);
    scene.leafs.iter().for_each(Leaf::watch);
    other::gobgp(&scene.node);
    scene.node.start(&variables, "");
    scene.wait_for_all("from the start");
    wait_for_bfd(&scene);

    let lost = restart(&scene, &variables, ADDRESS, || end_unseen(&scene));

    assert_eq!(lost, "", "{}", scene.state());
    scene.node.end();
}

#[test]
fn a_restart_by_talos_loses_no_route_with_bfd_on_gobgp_beside_frr_8() {
    watched_gobgp_restarts(Frr::V8);
}

#[test]
fn a_restart_by_talos_loses_no_route_with_bfd_on_gobgp_beside_frr_10() {
    watched_gobgp_restarts(Frr::V10);
}

/// machined, whose machine runs, until it is told to reboot.
fn machined(path: PathBuf) -> UnboundedSender<()> {
    let (reboot, mut rebooted) = unbounded_channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let machined = Simulator::start(&path);
            machined.stage(RUNNING);
            while rebooted.recv().await.is_some() {
                machined.stage(REBOOTING);
            }
        });
    });
    reboot
}

#[test]
fn a_node_that_leaves_is_gone_at_once_while_the_agent_still_runs() {
    for frr in Frr::ALL {
        let scene = Scene::new(frr);
        let reboot = machined(scene.node.machine.path("/run/machined.sock"));
        scene.node.start(&NAMED, "--machined /run/machined.sock");
        scene.wait_for_all("from the start");
        let start = Instant::now();

        reboot.send(()).unwrap();

        scene.wait_for("when the node leaves", ADDRESS, false);
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        assert!(!scene.node.processes("ichor-agent").is_empty());
        scene.node.wait_for("that it leaves", |status| status["stage"] == "leaving");
        scene.node.end();
        scene.wait_for("when it has left", ADDRESS, false);
    }
}
