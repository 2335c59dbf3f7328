//! Restarts, and nodes that leave.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use ichor_bgp::model::Bfd;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::leaf::Leaf;
use super::{ADDRESS, NAMED, Topology, build, gobgp};
use crate::status::simulator::{REBOOTING, RUNNING, Simulator};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{wait_for, wait_seconds};

/// Stops the agent and starts it again; returns the routes that leafs and node lost meanwhile.
fn restart(topology: &Topology, variables: &[(&str, &str)], address: &str, stop: impl Fn()) -> String {
    let before = topology.established();
    topology.lost(|| {
        stop();
        topology.node.wait_until_ended();
        topology.node.start(variables, "");
        let again = || topology.established().iter().zip(&before).all(|(now, before)| now > before);
        wait_for("new sessions", again, || topology.state());
        topology.node.wait_for("routes of the leafs", |status| {
            let sessions = status["sessions"].as_array().into_iter().flatten();
            sessions.filter(|session| session["prefixes_received"].as_u64() > Some(0)).count() == 2
        });
        topology.wait_for("after the restart", address, true);
        topology.wait_for_both_next_hops("after the restart");
        wait_seconds(3);
    })
}

/// Talos stops a service by a signal to all its processes, and starts it again after an edit of its document.
fn restarts(frr: Frr) {
    let topology = Topology::routed(frr);

    assert_eq!(restart(&topology, &NAMED, ADDRESS, || topology.node.stop()), "", "{}", topology.state());

    topology.node.stop();
}

#[test]
fn a_restart_by_talos_loses_no_route_on_frr_8() {
    restarts(Frr::V8);
}

#[test]
fn a_restart_by_talos_loses_no_route_on_frr_10() {
    restarts(Frr::V10);
}

/// Waits until BFD with both leafs is up.
fn wait_for_bfd(topology: &Topology) {
    topology.node.wait_for("BFD", |status| {
        let sessions = status["sessions"].as_array().into_iter().flatten();
        sessions.filter(|session| session["bfd_up"] == true).count() == 2
    });
}

/// Stops the agent as Talos does. When all processes have ended, the leafs have detected that by BFD.
fn stop_and_detect(topology: &Topology) {
    topology.node.stop();
    let seeing: Vec<_> =
        topology.leafs.iter().filter(|leaf| leaf.has_bfd_session()).map(Leaf::state).collect();
    assert!(seeing.is_empty(), "{}", seeing.concat());
}

/// Leafs that monitor the node by BFD must detect its silence only after they wait for its restart.
fn restarts_with_bfd(frr: Frr) {
    let topology = Topology::new(frr);
    topology.leafs.iter().for_each(Leaf::enable_bfd);
    let variables = [&NAMED[..], &[("ENABLE_BFD", "true")]].concat();
    topology.node.start(&variables, "");
    topology.wait_for_all("from the start");
    wait_for_bfd(&topology);

    assert_eq!(
        restart(&topology, &variables, ADDRESS, || stop_and_detect(&topology)),
        "",
        "{}",
        topology.state()
    );

    topology.node.stop();
}

#[test]
fn a_restart_by_talos_loses_no_route_with_bfd_on_frr_8() {
    restarts_with_bfd(Frr::V8);
}

#[test]
fn a_restart_by_talos_loses_no_route_with_bfd_on_frr_10() {
    restarts_with_bfd(Frr::V10);
}

/// BIRD 2.0 beside FRR 8.4, and BIRD 2.17 beside FRR 10.3. Before the first restart routers are configured by a range,
/// before the second by their addresses. At the third, leafs and node monitor each other by BFD.
fn bird_restarts(frr: Frr) {
    let topology = Topology::new(frr);
    // For two minutes after its start FRR signals a restart of its own, and its routes are not awaited then.
    wait_seconds(121);
    build::bird(&topology.node);
    topology.node.start(&[], "");
    topology.wait_for("from the start", build::ADDRESS, true);
    topology.wait_for_both_next_hops("from the start");

    for nth in 1..=2 {
        let lost = restart(&topology, &[], build::ADDRESS, || topology.node.stop());

        assert_eq!(lost, "", "restart {nth}: {}", topology.state());
    }
    topology.leafs.iter().for_each(Leaf::enable_bfd);
    build::configure_bird(&topology.node, Some(Bfd { interval: 300, multiplier: 3 }));
    wait_for_bfd(&topology);
    topology.wait_for("with BFD", build::ADDRESS, true);
    topology.wait_for_both_next_hops("with BFD");

    let lost = restart(&topology, &[], build::ADDRESS, || stop_and_detect(&topology));

    assert_eq!(lost, "", "with BFD: {}", topology.state());
    topology.node.stop();
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
    let topology = Topology::new(Frr::V8);
    gobgp::install(&topology.node);
    topology.node.start(&variables, "");
    topology.wait_for_all("from the start");

    let lost = restart(&topology, &variables, ADDRESS, || topology.node.stop());

    assert_eq!(lost, "", "{}", topology.state());
    topology.node.stop();
}

/// The same with BFD between leafs and node.
fn gobgp_restarts_with_bfd(frr: Frr) {
    let variables = [&NAMED[..], &[("ICHOR_BACKEND", "gobgp"), ("ENABLE_BFD", "true")]].concat();
    let topology = Topology::new(frr);
    topology.leafs.iter().for_each(Leaf::enable_bfd);
    gobgp::install(&topology.node);
    topology.node.start(&variables, "");
    topology.wait_for_all("from the start");
    wait_for_bfd(&topology);

    let lost = restart(&topology, &variables, ADDRESS, || stop_and_detect(&topology));

    assert_eq!(lost, "", "{}", topology.state());
    topology.node.stop();
}

#[test]
fn a_restart_by_talos_loses_no_route_with_bfd_on_gobgp_beside_frr_8() {
    gobgp_restarts_with_bfd(Frr::V8);
}

#[test]
fn a_restart_by_talos_loses_no_route_with_bfd_on_gobgp_beside_frr_10() {
    gobgp_restarts_with_bfd(Frr::V10);
}

/// A machined whose machine runs, until it receives a reboot.
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
fn routes_of_a_leaving_node_disappear_while_the_agent_still_runs() {
    for frr in Frr::ALL {
        let topology = Topology::new(frr);
        let reboot = machined(topology.node.machine.path("/run/machined.sock"));
        topology.node.start(&NAMED, "--machined /run/machined.sock");
        topology.wait_for_all("from the start");
        let start = Instant::now();

        reboot.send(()).unwrap();

        topology.wait_for("when the node leaves", ADDRESS, false);
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
        assert!(!topology.node.processes("ichor-agent").is_empty());
        topology.node.wait_for("that it leaves", |status| status["stage"] == "leaving");
        topology.node.stop();
        topology.wait_for("when it has left", ADDRESS, false);
    }
}
