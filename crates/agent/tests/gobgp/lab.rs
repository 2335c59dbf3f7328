//! A node whose routes are the agent's.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ichor_agent::daemon::StopReason;
use ichor_agent::daemon::gobgp::{Gobgp, GobgpError};
use ichor_agent::daemon::place::{ConfigCheckError, DaemonPaths};
use ichor_agent::kernel::Kernel;
use ichor_agent::kernel::advertisement::RaSocket;
use ichor_bgp::agent::advertisement::NdpMessage;
use ichor_bgp::agent::gobgp::{BgpPath, heard, routes};
use ichor_bgp::agent::route::{MAIN, difference};
use ichor_bgp::agent::{Link, Session};
use ichor_bgp::model::BgpModel;
use ichor_bgp::render::{RenderRequest, RouterAddresses, SecretError, Service, render};
use ichor_bgp::setting::Carrier;
use ichor_core::plan::Plan;
use ichor_values::Backend;
use ipnet::IpNet;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::single::{Leaf, Scene, tended, until, up};
use ichor_testbed::lab::lab_path;
use ichor_testbed::routing::{model, service_of};
use ichor_testbed::{load_text, planned};

/// Who is told, and how the leafs are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// GoBGP 3, by address.
    Three,
    /// GoBGP 4, by port.
    Four,
}

const KINDS: [Kind; 2] = [Kind::Three, Kind::Four];

impl Kind {
    fn text(self, more: &str) -> String {
        let (version, node, neighbors) = match self {
            Self::Three => (
                "3.36",
                "{v6: \"fd00:7::/64\", v4: 10.7.0.0/24}",
                "[{address: \"fd00:7::fffe\", asn: 65101}, {address: 10.7.0.254, asn: 65102}]",
            ),
            Self::Four => ("4.8", "null", "[{link: eth0, bfd: true}, {link: eth1, bfd: false}]"),
        };
        format!(
            "cluster: {{name: lab, id: 12, talos: v1.13.9}}\n\
             network: {{node: {node}, loopback: {{v4: 10.12.10.0/24, v6: \"fd00:12::/64\"}}}}\n\
             routing:\n  backend: gobgp\n  version: {version}\n  router_id: loopback\n  \
             graceful_restart: {{time: 15}}\n  neighbors: {neighbors}\n{more}\
             nodes: [{{name: n1, index: 1}}]\n"
        )
    }

    fn service(self, more: &str) -> Service {
        service_of(&self.text(more)).unwrap()
    }

    fn model(self) -> BgpModel {
        let (cluster, plan) = planned(load_text(self.text("")));
        model(&cluster, &plan, &plan.nodes[0])
    }

    fn scene(self) -> Scene {
        let leaf = |asn, neighbor, group, address| Leaf { asn, neighbor, group, address };
        let port = " neighbor to-node interface peer-group NODES\n";
        let leafs = match self {
            Self::Three => [
                leaf(65101, " neighbor fd00:7::1 peer-group NODES\n", "", Some("fd00:7::fffe/64")),
                leaf(65102, " neighbor 10.7.0.1 peer-group NODES\n", "", Some("10.7.0.254/24")),
            ],
            Self::Four => [leaf(65101, port, " neighbor NODES bfd\n", None), leaf(65102, port, "", None)],
        };
        let scene = Scene::new(leafs, &["10.12.10.1/32", "fd00:12::1/128"]);
        match self {
            Self::Three => {
                scene.node.ask("ip address add fd00:7::1/64 dev eth0 && ip address add 10.7.0.1/24 dev eth1");
            }
            Self::Four => {}
        }
        scene
    }

    fn place(self, scene: &Scene) -> DaemonPaths {
        let root = lab_path(if self == Self::Three { "trixie" } else { "gobgp4" });
        scene.of_machine(&format!("{}/usr/bin/gobgpd", root.display()))
    }
}

/// What the kernel side of the agent does on ports before gobgpd starts: advertisements, and routers among the neighbours.
async fn ports(kernel: &Kernel, number: u8) {
    for nth in 0..number {
        let links = kernel.links().await.unwrap();
        let link = links.into_iter().find(|link| link.name == format!("eth{nth}")).unwrap();
        hear(kernel, &link).await;
        tokio::spawn(async move {
            let port = RaSocket::open(&link).unwrap();
            loop {
                let _ = port.advertise().await;
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        });
    }
}

/// Makes the router that advertises itself on a port the only neighbour there.
async fn hear(kernel: &Kernel, link: &Link) {
    let port = RaSocket::open(link).unwrap();
    port.solicit().await.unwrap();
    loop {
        if let Ok((address, NdpMessage::Advertisement(said))) = port.hear().await {
            kernel.only_neighbour(link.index, address, said.source.unwrap()).await.unwrap();
            return;
        }
    }
}

fn own() -> BTreeSet<IpNet> {
    ["10.12.10.1/32", "fd00:12::1/128"].map(|net| net.parse().unwrap()).into()
}

async fn sessions(gobgp: &Gobgp, number: usize) -> Vec<Session> {
    let ask = async || gobgp.sessions().await.unwrap();
    until("sessions", ask, |sessions| up(sessions, number)).await
}

/// gobgpd with both sessions up, and what the leafs then know of the node.
async fn routed(scene: &Scene, place: &DaemonPaths, service: &Service) -> Gobgp {
    let gobgp = Gobgp::start(place.clone(), service, own()).await.unwrap();
    sessions(&gobgp, 2).await;
    knows(scene, true).await;
    gobgp
}

/// Waits until both leafs know the node, or do not.
async fn knows(scene: &Scene, meant: bool) {
    for leaf in 0..2 {
        let rib = async || scene.rib(leaf, "ipv4");
        until("the node", rib, |rib| rib.contains_key("10.12.10.1/32") == meant).await;
    }
}

/// Puts into the kernel what the table says.
async fn install(kernel: &Kernel, gobgp: &Gobgp, model: &BgpModel) {
    let links = kernel.links().await.unwrap();
    let wanted = routes(model, &gobgp.paths().await.unwrap(), &links);
    let errors = kernel.reconcile(&difference(&wanted, &kernel.routes(&[MAIN]).await.unwrap())).await;
    assert!(errors.is_empty(), "{errors:?}");
}

/// Packets of the node arrive and are answered: that nobody listens there.
fn reaches(scene: &Scene, address: &str) {
    let said = scene.node.run(&format!("timeout 5 bash -c '</dev/tcp/{address}/9'"));
    assert!(String::from_utf8_lossy(&said.stderr).contains("refused"), "{address}: {said:?}");
}

/// Does something on the node of a scene of each kind.
fn each(work: impl AsyncFn(Kind, &Scene, &DaemonPaths, &Kernel) + Sync) {
    for kind in KINDS {
        let scene = kind.scene();
        let place = kind.place(&scene);
        scene.on_node(async || {
            let kernel = Kernel::open().unwrap();
            if kind == Kind::Four {
                ports(&kernel, 2).await;
            }
            work(kind, &scene, &place, &kernel).await;
        });
    }
}

#[test]
fn sessions_are_told_and_a_reload_keeps_them() {
    each(async |kind, scene, place, _| {
        let mut gobgp = routed(scene, place, &kind.service("")).await;

        let ask = async || gobgp.sessions().await.unwrap();
        let told = until("prefixes", ask, |told| told.iter().all(|one| one.received > 0)).await;

        let peers: Vec<_> = told.iter().map(|one| (one.peer.as_str(), one.asn, one.established)).collect();
        let (first, second) =
            if kind == Kind::Four { ("eth0", "eth1") } else { ("10.7.0.254", "fd00:7::fffe") };
        let asn = |peer: &str| Some(if ["eth0", "fd00:7::fffe"].contains(&peer) { 65101 } else { 65102 });
        let mut sorted = peers.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [(first, asn(first), 1), (second, asn(second), 1)], "{told:#?}");
        assert!(told.iter().all(|one| one.sent > 0 && one.uptime.is_some()), "{told:#?}");
        let before = [scene.established(0), scene.established(1)];

        let marked =
            kind.service("  policy: {out: {communities: [65000:7]}, in: {allow: [10.255.0.0/24]}}\n");
        gobgp.reload(&marked).await.unwrap();

        let node = async || gobgp.paths().await.unwrap();
        until("the filter", node, |paths| {
            paths.iter().all(|path| !path.net.to_string().contains("fd00:255"))
        })
        .await;
        assert_eq!([scene.established(0), scene.established(1)], before, "{kind:?}");

        let mut broken = marked.clone();
        broken.files[0].text += "nonsense = [\n";
        let refused = gobgp.reload(&broken).await;

        assert!(matches!(refused, Err(GobgpError::Check(ConfigCheckError::Refused { .. }))), "{refused:?}");
        assert!(std::fs::read_to_string(place.file(&marked)).unwrap() == marked.files[0].text);
        assert!(gobgp.alive().await);
        sessions(&gobgp, 2).await;
        assert_eq!([scene.established(0), scene.established(1)], before, "{kind:?}");
        gobgp.stop(StopReason::Leaving).await;
    });
}

#[test]
fn what_a_signal_does_not_change_a_planned_restart_does() {
    each(async |kind, scene, place, _| {
        let mut gobgp = routed(scene, place, &kind.service("")).await;
        let before = gobgp.pid();

        // gobgpd has been seen to change the first of several neighbours alone.
        let slower = |line: &str| {
            let neighbors = line.contains("neighbors:");
            if neighbors { line.replace('}', ", timers: [2, 6]}") + "\n" } else { line.to_owned() + "\n" }
        };
        let text: String = kind.text("").lines().map(slower).collect();
        gobgp.reload(&service_of(&text).unwrap()).await.unwrap();

        assert_ne!(gobgp.pid(), before, "{kind:?}");
        sessions(&gobgp, 2).await;
        knows(scene, true).await;
        gobgp.stop(StopReason::Leaving).await;
    });
}

#[test]
fn addresses_come_and_go_and_routes_lead_to_the_leafs() {
    each(async |kind, scene, place, kernel| {
        let model = kind.model();
        let mut gobgp = routed(scene, place, &kind.service("")).await;
        let mut changes = gobgp.changes().await.unwrap();

        // GoBGP 3 takes one of several that are as good.
        let best = if kind == Kind::Four { 2 } else { 1 };
        let table = async || gobgp.paths().await.unwrap();
        let to_both = |paths: &Vec<BgpPath>, net: &str| {
            paths.iter().filter(|path| path.best && path.net.to_string() == net).count()
        };
        until("paths", table, |paths| to_both(paths, "10.255.0.99/32") == best).await;
        until("paths", table, |paths| to_both(paths, "fd00:255::1/128") == 1).await;
        install(kernel, &gobgp, &model).await;

        let said = scene.node.ask("ip -4 route show 10.255.0.99 proto bgp");
        let ways = if kind == Kind::Four { 2 } else { 0 };
        assert!(
            said.matches("nexthop").count() == ways && said.contains("src 10.12.10.1"),
            "{kind:?}: {said}"
        );
        reaches(scene, "10.255.0.99");
        reaches(scene, "fd00:255::1");

        scene.leafs[0].ask("ip address del 10.255.0.1/32 dev lo");

        tokio::time::timeout(Duration::from_secs(20), changes.next()).await.unwrap().unwrap();
        until("no path", table, |paths| paths.iter().all(|path| path.net.to_string() != "10.255.0.1/32"))
            .await;
        install(kernel, &gobgp, &model).await;
        assert_eq!(scene.node.ask("ip -4 route show 10.255.0.1"), "", "{kind:?}");

        gobgp.announce(BTreeSet::new()).await.unwrap();
        knows(scene, false).await;
        gobgp.announce(own()).await.unwrap();
        knows(scene, true).await;
        gobgp.stop(StopReason::Leaving).await;
    });
}

#[test]
fn leafs_keep_routes_through_a_planned_restart_and_forget_a_node_that_leaves() {
    each(async |kind, scene, place, _| {
        let service = kind.service("");
        let gobgp = routed(scene, place, &service).await;
        scene.leafs[1].ask("ip monitor route >/tmp/monitor 2>&1 & sleep 0.2");

        // Talos tells all processes of a service to end, the agent and its daemon.
        kill(Pid::from_raw(gobgp.pid().unwrap().cast_signed()), Signal::SIGTERM).unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(!gobgp.alive().await, "{kind:?}: gobgpd is to end when it is told to");
        gobgp.stop(StopReason::Planned).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let gobgp = routed(scene, place, &service).await;
        tokio::time::sleep(Duration::from_secs(2)).await;

        let said = scene.leafs[1].ask("cat /tmp/monitor");
        let lost = said.lines().any(|line| line.starts_with("Deleted") && line.contains("10.12.10.1"));
        assert!(!lost, "{kind:?}: {said}");

        let start = Instant::now();
        gobgp.stop(StopReason::Leaving).await;

        knows(scene, false).await;
        assert!(start.elapsed() < Duration::from_secs(3), "{kind:?}: {:?}", start.elapsed());
    });
}

#[test]
fn one_that_was_killed_or_hangs_is_replaced() {
    each(async |kind, scene, place, _| {
        let mut gobgp = routed(scene, place, &kind.service("")).await;
        for (signal, reason) in [(Signal::SIGKILL, "signal: 9"), (Signal::SIGSTOP, "did not answer")] {
            let before = gobgp.pid().unwrap();
            kill(Pid::from_raw(before.cast_signed()), signal).unwrap();

            let why = tended(async || gobgp.supervise().await).await;

            assert!(why.contains(reason), "{kind:?}: {why}");
            assert_ne!(gobgp.pid(), Some(before));
            sessions(&gobgp, 2).await;
            knows(scene, true).await;
        }
        gobgp.stop(StopReason::Leaving).await;
    });
}

#[test]
fn a_leaf_that_is_heard_late_or_comes_back_as_another_is_peered_with() {
    let kind = Kind::Four;
    let scene = kind.scene();
    let place = kind.place(&scene);
    scene.on_node(async || {
        let kernel = Kernel::open().unwrap();
        ports(&kernel, 1).await;
        let (_, plan) = planned(load_text(kind.text("")));
        let order = |model: &BgpModel| service_for(&plan, model);
        let model = kind.model();
        let first = order(&heard(&model, |port| port.as_str() == "eth0"));
        let mut gobgp = Gobgp::start(place.clone(), &first, own()).await.unwrap();
        sessions(&gobgp, 1).await;

        ports(&kernel, 2).await;
        gobgp.reload(&order(&model)).await.unwrap();

        sessions(&gobgp, 2).await;
        assert_eq!(scene.established(0), 1);

        scene.leafs[1].ask(
            "ip link set to-node down && ip link set to-node address 02:00:00:00:77:77 && ip link set to-node up",
        );
        let link = kernel.links().await.unwrap().into_iter().find(|link| link.name == "eth1").unwrap();
        let other = async || {
            hear(&kernel, &link).await;
            kernel.neighbours(link.index).await.unwrap()
        };
        let is_other = "fe80::ff:fe00:7777".parse::<std::net::Ipv6Addr>().unwrap();
        until("the other address", other, |known| known.iter().any(|one| one.address == is_other)).await;
        gobgp.reload(&order(&model)).await.unwrap();

        // gobgpd may need a moment to part with the one before.
        let ask = async || gobgp.sessions().await.unwrap();
        let with_other = |told: &Vec<Session>| {
            let mut second = told.iter().filter(|one| one.peer == "eth1");
            up(told, 2) && second.any(|one| one.address.as_deref() == Some("fe80::ff:fe00:7777"))
        };
        until("a session with the other", ask, with_other).await;
        assert_eq!(scene.established(0), 1);
        gobgp.stop(StopReason::Leaving).await;
    });
}

/// The service of a model that is another than the plan's.
fn service_for(plan: &Plan, model: &BgpModel) -> Service {
    let decided = plan.nodes[0].routing.as_deref().unwrap();
    let order = RenderRequest {
        backend: Backend::Gobgp,
        carrier: Carrier::Ichor,
        model,
        version: decided.version.as_ref().map(|version| &version.value),
        options: &decided.options(),
        template: None,
        routers: &RouterAddresses::new(),
    };
    render(order, &|_| Err(SecretError::new("no password is written"))).unwrap().unwrap()
}
