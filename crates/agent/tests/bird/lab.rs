//! A node that knows its leafs by port alone.

use std::time::{Duration, Instant};

use ichor_agent::daemon::StopReason;
use ichor_agent::daemon::bird::control::ControlSocket;
use ichor_agent::daemon::bird::{Bird, BirdError, check};
use ichor_agent::daemon::place::{ConfigCheckError, DaemonPaths};
use ichor_bgp::agent::Session;
use ichor_bgp::agent::bird::Reply;
use ichor_bgp::render::Service;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::single::{Leaf, Scene, tended, until, up};
use ichor_testbed::routing::service_of;

/// A release of BIRD: what stands in a cluster file for it, and where it is.
type Release = (&'static str, fn(&Scene) -> DaemonPaths);

const RELEASES: [Release; 2] = [
    ("2.0.12", |scene| scene.of_machine("/usr/sbin/bird")),
    ("2.17", |scene| scene.of_trixie("/usr/sbin/bird")),
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

fn scene() -> Scene {
    let leaf = |asn, group| Leaf {
        asn,
        neighbor: " neighbor to-node interface peer-group NODES\n",
        group,
        address: None,
    };
    let leafs = [leaf(65101, " neighbor NODES bfd\n"), leaf(65102, "")];
    Scene::new(leafs, &["10.12.10.1/32", "fd00:12::1/128"])
}

/// BIRD with both sessions up, and what the leafs then know of the node.
async fn routed(scene: &Scene, place: &DaemonPaths, service: &Service) -> Bird {
    let bird = Bird::start(place.clone(), service).await.unwrap();
    sessions(&bird, 2).await;
    for leaf in 0..2 {
        until("the node", async || scene.rib(leaf, "ipv4"), |rib| rib.contains_key("10.12.10.1/32")).await;
        until("the node", async || scene.rib(leaf, "ipv6"), |rib| rib.contains_key("fd00:12::1/128")).await;
    }
    until("both ways", async || kernel(scene), |kernel| kernel.matches("nexthop").count() == 2).await;
    bird
}

async fn sessions(bird: &Bird, number: usize) -> Vec<Session> {
    let ask = async || bird.sessions().await.unwrap();
    until("sessions", ask, |sessions| up(sessions, number)).await
}

/// The way to what both leafs have.
fn kernel(scene: &Scene) -> String {
    scene.node.ask("ip -4 route show 10.255.0.99 proto bird")
}

#[test]
fn sessions_are_told_and_a_reload_keeps_them() {
    for (release, place) in RELEASES {
        let scene = scene();
        let place = place(&scene);
        scene.on_node(async || {
            let mut bird = routed(&scene, &place, &service(release, "")).await;

            let ask = async || bird.sessions().await.unwrap();
            let told = until("BFD", ask, |told| told.iter().any(|one| one.bfd == Some(true))).await;

            assert_eq!(told.len(), 2, "{told:#?}");
            for (session, (port, asn)) in told.iter().zip([("eth0", 65101), ("eth1", 65102)]) {
                assert_eq!((session.peer.as_str(), session.asn), (port, Some(asn)), "{told:#?}");
                assert!(session.address.as_ref().unwrap().starts_with("fe80::"), "{told:#?}");
                assert_eq!((session.received, session.sent, session.established), (3, 2, 1), "{told:#?}");
            }
            assert_eq!((told[0].bfd, told[1].bfd), (Some(true), None));
            let before = (told[0].uptime.unwrap(), scene.established(0), scene.established(1));

            let marked = service(release, "  policy: {out: {communities: [65000:7]}}\n");
            bird.reload(&marked).await.unwrap();

            let marks = async || scene.leafs[0].ask("vtysh -c 'show bgp ipv4 unicast 10.12.10.1/32'");
            until("the mark", marks, |said| said.contains("65000:7")).await;
            let told = sessions(&bird, 2).await;
            assert!(told[0].uptime.unwrap() >= before.0, "{told:#?}");
            assert_eq!((scene.established(0), scene.established(1)), (before.1, before.2), "{release}");

            let mut broken = marked.clone();
            broken.files[0].text += "protocol nonsense { }\n";
            let refused = bird.reload(&broken).await;

            let Err(BirdError::Check(ConfigCheckError::Refused { said, .. })) = refused else {
                panic!("{refused:?}")
            };
            assert!(said.contains("syntax error"), "{said}");
            assert!(std::fs::read_to_string(place.file(&marked)).unwrap() == marked.files[0].text);
            assert!(check(&place, &marked).await.is_ok());
            assert!(up(&sessions(&bird, 2).await, 2) && bird.alive().await);
            assert_eq!((scene.established(0), scene.established(1)), (before.1, before.2), "{release}");
            bird.stop(StopReason::Leaving).await;
        });
    }
}

#[test]
fn the_kernel_keeps_its_routes_through_a_planned_restart_and_a_node_that_leaves_is_gone_at_once() {
    for (release, place) in RELEASES {
        let scene = scene();
        let place = place(&scene);
        scene.on_node(async || {
            let service = service(release, "");
            let bird = routed(&scene, &place, &service).await;
            scene.node.ask("ip monitor route >/tmp/monitor 2>&1 & sleep 0.2");

            bird.stop(StopReason::Planned).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            // Until it is back: then a leaf was seen to delete the routes of a neighbour out of a range, and to take them again.
            assert!(scene.rib(1, "ipv4").contains_key("10.12.10.1/32"), "{release}");
            let bird = routed(&scene, &place, &service).await;

            let said = scene.node.ask("cat /tmp/monitor");
            let lost = said.lines().any(|line| line.starts_with("Deleted") && line.contains("10.255.0.99"));
            assert!(!lost, "{release}: {said}");
            let socket = place.run("bird.ctl");
            let status =
                async || ControlSocket::connect(&socket).await.unwrap().ask("show status").await.unwrap();
            let over = |said: &Reply| said.lines().all(|(_, line)| !line.contains("in progress"));
            until("the end of the restart", status, over).await;

            let start = Instant::now();
            bird.stop(StopReason::Leaving).await;

            until("no route", async || scene.rib(1, "ipv4"), |rib| rib.is_empty()).await;
            assert!(start.elapsed() < Duration::from_secs(3), "{release}: {:?}", start.elapsed());
            assert_eq!(kernel(&scene), "", "{release}");
        });
    }
}

/// FRR offers long-lived graceful restart, which BIRD by itself takes for a promise to come back: it kept the routes for two minutes.
#[test]
fn a_leaf_that_falls_silent_is_forgotten_when_its_hold_time_is_over() {
    for (release, place) in RELEASES {
        let scene = scene();
        let place = place(&scene);
        scene.on_node(async || {
            for restarts in ["graceful_restart: {time: 15}", "graceful_restart: false"] {
                let text = text(release, "").replace("graceful_restart: {time: 15}", restarts);
                let text = text.replace("bfd: false", "bfd: false, timers: [1, 3]");
                let bird = routed(&scene, &place, &service_of(&text).unwrap()).await;
                let start = Instant::now();

                scene.leafs[1].ask("kill -STOP $(pidof bgpd)");

                until("one way", async || kernel(&scene), |kernel| !kernel.contains("dev eth1")).await;
                assert!(
                    start.elapsed() < Duration::from_secs(6),
                    "{release}, {restarts}: {:?}",
                    start.elapsed()
                );
                bird.stop(StopReason::Leaving).await;
                scene.leafs[1].ask("kill -CONT $(pidof bgpd)");
            }
        });
    }
}

#[test]
fn one_that_was_killed_or_hangs_is_replaced() {
    for (release, place) in RELEASES {
        let scene = scene();
        let place = place(&scene);
        scene.on_node(async || {
            let mut bird = routed(&scene, &place, &service(release, "")).await;
            for (signal, reason) in [(Signal::SIGKILL, "signal: 9"), (Signal::SIGSTOP, "did not answer")] {
                let before = bird.pid().unwrap();
                kill(Pid::from_raw(before.cast_signed()), signal).unwrap();

                let why = tended(async || bird.supervise().await).await;

                assert!(why.contains(reason), "{release}: {why}");
                assert_ne!(bird.pid(), Some(before));
                sessions(&bird, 2).await;
                until("the node", async || scene.rib(1, "ipv4"), |rib| rib.contains_key("10.12.10.1/32"))
                    .await;
            }
            bird.stop(StopReason::Leaving).await;
        });
    }
}
