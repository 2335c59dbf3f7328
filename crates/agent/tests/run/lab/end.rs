//! Restarts and good-byes.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::simulator::{REBOOTING, RUNNING, Simulator};
use super::{ADDRESS, NAMED, Scene};
use crate::common::frr::Frr;
use crate::common::lab::wait_for;

/// Talos ends a service by telling all its processes at once, and starts it again when its document was edited.
fn restarts(frr: Frr) {
    let scene = Scene::routed(frr);
    let before = scene.established();

    let lost = scene.lost(|| {
        scene.node.end();
        scene.node.start(&NAMED, "");
        let again = || scene.established().iter().zip(&before).all(|(now, before)| now > before);
        wait_for("new sessions", again, || scene.state());
        scene.node.wait_for("routes of the leafs", |status| {
            let sessions = status["sessions"].as_array().into_iter().flatten();
            sessions.filter(|session| session["received"].as_u64() > Some(0)).count() == 2
        });
        scene.wait_for_all("after the restart");
    });

    assert_eq!(lost, "", "{}", scene.state());
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
