//! A node that knows its leafs by port only.

use std::time::{Duration, Instant};

use ichor_agent::daemon::StopReason;
use ichor_agent::daemon::bird::control::ControlSocket;
use ichor_agent::daemon::bird::{Bird, BirdError, check};
use ichor_agent::daemon::paths::{ConfigCheckError, DaemonPaths};
use ichor_bgp::agent::Session;
use ichor_bgp::agent::bird::Reply;
use ichor_bgp::render::Service;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::single::{Leaf, Topology, are_established, poll_until, supervised};
use ichor_testbed::routing::service_of;

/// A release of BIRD: its version in a cluster file, and its paths.
type Release = (&'static str, fn(&Topology) -> DaemonPaths);

const RELEASES: [Release; 2] = [
    ("2.0.12", |topology| topology.machine_paths("/usr/sbin/bird")),
    ("2.17", |topology| topology.trixie_paths("/usr/sbin/bird")),
];

fn text(release: &str, more: &str) -> String {
    format!(
        "cluster: {{name: lab, id: 12, talos: v1.13.9}}\n\
         network: {{node: null, loopback: {{v4: 10.12.10.0/24, v6: \"fd00:12::/64\"}}}}\n\
         routing:\n  backend: bird\n  version: {release}\n  router_id: loopback\n  \
         graceful_restart: {{time: 15}}\n  neighbors: [{{link: eth0, bfd: true}}, {{link: eth1, bfd: false}}]\n{more}\
         nodes: [{{name: n1, index: 1}}]\n"
    )
}

fn service(release: &str, more: &str) -> Service {
    service_of(&text(release, more)).unwrap()
}

fn topology() -> Topology {
    let leaf = |asn, group| Leaf {
        asn,
        neighbor: " neighbor to-node interface peer-group NODES\n",
        group,
        address: None,
    };
    let leafs = [leaf(65101, " neighbor NODES bfd\n"), leaf(65102, "")];
    Topology::new(leafs, &["10.12.10.1/32", "fd00:12::1/128"])
}

/// BIRD with both sessions up, and the node's routes at the leafs.
async fn routed(topology: &Topology, paths: &DaemonPaths, service: &Service) -> Bird {
    let bird = Bird::start(paths.clone(), service).await.unwrap();
    sessions(&bird, 2).await;
    for leaf in 0..2 {
        poll_until("the node", async || topology.rib(leaf, "ipv4"), |rib| rib.contains_key("10.12.10.1/32"))
            .await;
        poll_until("the node", async || topology.rib(leaf, "ipv6"), |rib| rib.contains_key("fd00:12::1/128"))
            .await;
    }
    poll_until("both ways", async || kernel(topology), |kernel| kernel.matches("nexthop").count() == 2).await;
    bird
}

async fn sessions(bird: &Bird, number: usize) -> Vec<Session> {
    let ask = async || bird.sessions().await.unwrap();
    poll_until("sessions", ask, |sessions| are_established(sessions, number)).await
}

/// The route to the address of both leafs.
fn kernel(topology: &Topology) -> String {
    topology.node.ask("ip -4 route show 10.255.0.99 proto bird")
}

#[test]
fn sessions_are_reported_and_kept_by_a_reload() {
    for (release, paths) in RELEASES {
        let topology = topology();
        let paths = paths(&topology);
        topology.on_node(async || {
            let mut bird = routed(&topology, &paths, &service(release, "")).await;

            let ask = async || bird.sessions().await.unwrap();
            let reported =
                poll_until("BFD", ask, |reported| reported.iter().any(|one| one.bfd == Some(true))).await;

            assert_eq!(reported.len(), 2, "{reported:#?}");
            for (session, (port, asn)) in reported.iter().zip([("eth0", 65101), ("eth1", 65102)]) {
                assert_eq!((session.peer.as_str(), session.asn), (port, Some(asn)), "{reported:#?}");
                assert!(session.address.as_ref().unwrap().starts_with("fe80::"), "{reported:#?}");
                assert_eq!((session.received, session.sent, session.established), (3, 2, 1), "{reported:#?}");
            }
            assert_eq!((reported[0].bfd, reported[1].bfd), (Some(true), None));
            let before = (reported[0].uptime.unwrap(), topology.established(0), topology.established(1));

            let marked = service(release, "  policy: {out: {communities: [65000:7]}}\n");
            bird.reload(&marked).await.unwrap();

            let marks = async || topology.leafs[0].ask("vtysh -c 'show bgp ipv4 unicast 10.12.10.1/32'");
            poll_until("the mark", marks, |output| output.contains("65000:7")).await;
            let reported = sessions(&bird, 2).await;
            assert!(reported[0].uptime.unwrap() >= before.0, "{reported:#?}");
            assert_eq!((topology.established(0), topology.established(1)), (before.1, before.2), "{release}");

            let mut broken = marked.clone();
            broken.files[0].text += "protocol nonsense { }\n";
            let refused = bird.reload(&broken).await;

            let Err(BirdError::Check(ConfigCheckError::Refused { message, .. })) = refused else {
                panic!("{refused:?}")
            };
            assert!(message.contains("syntax error"), "{message}");
            assert!(std::fs::read_to_string(paths.file(&marked)).unwrap() == marked.files[0].text);
            assert!(check(&paths, &marked).await.is_ok());
            assert!(are_established(&sessions(&bird, 2).await, 2) && bird.alive().await);
            assert_eq!((topology.established(0), topology.established(1)), (before.1, before.2), "{release}");
            bird.stop(StopReason::Leaving).await;
        });
    }
}

#[test]
fn the_kernel_keeps_routes_through_a_planned_restart_and_routes_of_a_leaving_node_disappear() {
    for (release, paths) in RELEASES {
        let topology = topology();
        let paths = paths(&topology);
        topology.on_node(async || {
            let service = service(release, "");
            let bird = routed(&topology, &paths, &service).await;
            topology.node.ask("ip monitor route >/tmp/monitor 2>&1 & sleep 0.2");

            bird.stop(StopReason::Planned).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            // Only until it is back: a leaf was seen to delete the routes of a neighbour in a range, and to accept them
            // again.
            assert!(topology.rib(1, "ipv4").contains_key("10.12.10.1/32"), "{release}");
            let bird = routed(&topology, &paths, &service).await;

            let output = topology.node.ask("cat /tmp/monitor");
            let lost = output.lines().any(|line| line.starts_with("Deleted") && line.contains("10.255.0.99"));
            assert!(!lost, "{release}: {output}");
            let socket = paths.run("bird.ctl");
            let status =
                async || ControlSocket::connect(&socket).await.unwrap().query("show status").await.unwrap();
            let over = |reply: &Reply| reply.lines().all(|(_, line)| !line.contains("in progress"));
            poll_until("the end of the restart", status, over).await;

            let start = Instant::now();
            bird.stop(StopReason::Leaving).await;

            poll_until("no route", async || topology.rib(1, "ipv4"), |rib| rib.is_empty()).await;
            assert!(start.elapsed() < Duration::from_secs(3), "{release}: {:?}", start.elapsed());
            assert_eq!(kernel(&topology), "", "{release}");
        });
    }
}

/// FRR advertises long-lived graceful restart, from which BIRD by default concludes that the neighbour will come back:
/// it kept the routes for two minutes.
#[test]
fn routes_of_a_silent_leaf_are_removed_after_the_hold_time() {
    for (release, paths) in RELEASES {
        let topology = topology();
        let paths = paths(&topology);
        topology.on_node(async || {
            for restarts in ["graceful_restart: {time: 15}", "graceful_restart: false"] {
                let text = text(release, "").replace("graceful_restart: {time: 15}", restarts);
                let text = text.replace("bfd: false", "bfd: false, timers: [1, 3]");
                let bird = routed(&topology, &paths, &service_of(&text).unwrap()).await;
                let start = Instant::now();

                topology.leafs[1].ask("kill -STOP $(pidof bgpd)");

                poll_until("one way", async || kernel(&topology), |kernel| !kernel.contains("dev eth1"))
                    .await;
                assert!(
                    start.elapsed() < Duration::from_secs(6),
                    "{release}, {restarts}: {:?}",
                    start.elapsed()
                );
                bird.stop(StopReason::Leaving).await;
                topology.leafs[1].ask("kill -CONT $(pidof bgpd)");
            }
        });
    }
}

#[test]
fn a_killed_or_hung_daemon_is_replaced() {
    for (release, paths) in RELEASES {
        let topology = topology();
        let paths = paths(&topology);
        topology.on_node(async || {
            let mut bird = routed(&topology, &paths, &service(release, "")).await;
            for (signal, reason) in [(Signal::SIGKILL, "signal: 9"), (Signal::SIGSTOP, "did not answer")] {
                let before = bird.pid().unwrap();
                kill(Pid::from_raw(before.cast_signed()), signal).unwrap();

                let why = supervised(async || bird.supervise().await).await;

                assert!(why.contains(reason), "{release}: {why}");
                assert_ne!(bird.pid(), Some(before));
                sessions(&bird, 2).await;
                poll_until(
                    "the node",
                    async || topology.rib(1, "ipv4"),
                    |rib| rib.contains_key("10.12.10.1/32"),
                )
                .await;
            }
            bird.stop(StopReason::Leaving).await;
        });
    }
}
