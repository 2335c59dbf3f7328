//! A node whose routes the agent installs.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ichor_agent::daemon::StopReason;
use ichor_agent::daemon::gobgp::{Gobgp, GobgpError};
use ichor_agent::daemon::paths::{ConfigCheckError, DaemonPaths};
use ichor_agent::kernel::Kernel;
use ichor_agent::kernel::advertisement::RaSocket;
use ichor_bgp::agent::advertisement::NdpMessage;
use ichor_bgp::agent::gobgp::{BgpPath, routes, without_undiscovered};
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

use crate::single::{Leaf, Topology, are_established, poll_until, supervised};
use ichor_testbed::lab::lab_path;
use ichor_testbed::routing::{model, service_of};
use ichor_testbed::{load_text, planned};

/// The release of GoBGP, and how the leafs are addressed.
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

    fn topology(self) -> Topology {
        let leaf = |asn, neighbor, group, address| Leaf { asn, neighbor, group, address };
        let port = " neighbor to-node interface peer-group NODES\n";
        let leafs = match self {
            Self::Three => [
                leaf(65101, " neighbor fd00:7::1 peer-group NODES\n", "", Some("fd00:7::fffe/64")),
                leaf(65102, " neighbor 10.7.0.1 peer-group NODES\n", "", Some("10.7.0.254/24")),
            ],
            Self::Four => [leaf(65101, port, " neighbor NODES bfd\n", None), leaf(65102, port, "", None)],
        };
        let topology = Topology::new(leafs, &["10.12.10.1/32", "fd00:12::1/128"]);
        match self {
            Self::Three => {
                topology
                    .node
                    .ask("ip address add fd00:7::1/64 dev eth0 && ip address add 10.7.0.1/24 dev eth1");
            }
            Self::Four => {}
        }
        topology
    }

    fn paths(self, topology: &Topology) -> DaemonPaths {
        let root = lab_path(if self == Self::Three { "trixie" } else { "gobgp4" });
        topology.machine_paths(&format!("{}/usr/bin/gobgpd", root.display()))
    }
}

/// What the agent does on ports before gobgpd starts: advertisements, and routers in the neighbour table.
async fn ports(kernel: &Kernel, number: u8) {
    for nth in 0..number {
        let links = kernel.links().await.unwrap();
        let link = links.into_iter().find(|link| link.name == format!("eth{nth}")).unwrap();
        add_router(kernel, &link).await;
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
async fn add_router(kernel: &Kernel, link: &Link) {
    let port = RaSocket::open(link).unwrap();
    port.solicit().await.unwrap();
    loop {
        if let Ok((address, NdpMessage::Advertisement(advertisement))) = port.receive().await {
            kernel.set_only_neighbour(link.index, address, advertisement.source.unwrap()).await.unwrap();
            return;
        }
    }
}

fn own() -> BTreeSet<IpNet> {
    ["10.12.10.1/32", "fd00:12::1/128"].map(|net| net.parse().unwrap()).into()
}

async fn sessions(gobgp: &Gobgp, number: usize) -> Vec<Session> {
    let ask = async || gobgp.sessions().await.unwrap();
    poll_until("sessions", ask, |sessions| are_established(sessions, number)).await
}

/// gobgpd with both sessions up, and the node's routes at the leafs.
async fn routed(topology: &Topology, paths: &DaemonPaths, service: &Service) -> Gobgp {
    let gobgp = Gobgp::start(paths.clone(), service, own()).await.unwrap();
    sessions(&gobgp, 2).await;
    wait_for_node_route(topology, true).await;
    gobgp
}

/// Waits until both leafs have a route to the node, or none has.
async fn wait_for_node_route(topology: &Topology, expected: bool) {
    for leaf in 0..2 {
        let rib = async || topology.rib(leaf, "ipv4");
        poll_until("the node", rib, |rib| rib.contains_key("10.12.10.1/32") == expected).await;
    }
}

/// Installs the routes of the table in the kernel.
async fn install(kernel: &Kernel, gobgp: &Gobgp, model: &BgpModel) {
    let links = kernel.links().await.unwrap();
    let wanted = routes(model, &gobgp.paths().await.unwrap(), &links);
    let errors = kernel.reconcile(&difference(&wanted, &kernel.routes(&[MAIN]).await.unwrap())).await;
    assert!(errors.is_empty(), "{errors:?}");
}

/// Packets of the node arrive, and the reply is that the port is closed.
fn reaches(topology: &Topology, address: &str) {
    let output = topology.node.run(&format!("timeout 5 bash -c '</dev/tcp/{address}/9'"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("refused"), "{address}: {output:?}");
}

/// Runs a test on the node of each topology.
fn each(work: impl AsyncFn(Kind, &Topology, &DaemonPaths, &Kernel) + Sync) {
    for kind in KINDS {
        let topology = kind.topology();
        let paths = kind.paths(&topology);
        topology.on_node(async || {
            let kernel = Kernel::open().unwrap();
            if kind == Kind::Four {
                ports(&kernel, 2).await;
            }
            work(kind, &topology, &paths, &kernel).await;
        });
    }
}

#[test]
fn sessions_are_reported_and_kept_by_a_reload() {
    each(async |kind, topology, paths, _| {
        let mut gobgp = routed(topology, paths, &kind.service("")).await;

        let ask = async || gobgp.sessions().await.unwrap();
        let reported =
            poll_until("prefixes", ask, |reported| reported.iter().all(|one| one.received > 0)).await;

        let peers: Vec<_> =
            reported.iter().map(|one| (one.peer.as_str(), one.asn, one.established)).collect();
        let (first, second) =
            if kind == Kind::Four { ("eth0", "eth1") } else { ("10.7.0.254", "fd00:7::fffe") };
        let asn = |peer: &str| Some(if ["eth0", "fd00:7::fffe"].contains(&peer) { 65101 } else { 65102 });
        let mut sorted = peers.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [(first, asn(first), 1), (second, asn(second), 1)], "{reported:#?}");
        assert!(reported.iter().all(|one| one.sent > 0 && one.uptime.is_some()), "{reported:#?}");
        let before = [topology.established(0), topology.established(1)];

        let marked =
            kind.service("  policy: {out: {communities: [65000:7]}, in: {allow: [10.255.0.0/24]}}\n");
        gobgp.reload(&marked).await.unwrap();

        let node = async || gobgp.paths().await.unwrap();
        poll_until("the filter", node, |paths| {
            paths.iter().all(|path| !path.net.to_string().contains("fd00:255"))
        })
        .await;
        assert_eq!([topology.established(0), topology.established(1)], before, "{kind:?}");

        let mut broken = marked.clone();
        broken.files[0].text += "nonsense = [\n";
        let refused = gobgp.reload(&broken).await;

        assert!(matches!(refused, Err(GobgpError::Check(ConfigCheckError::Refused { .. }))), "{refused:?}");
        assert!(std::fs::read_to_string(paths.file(&marked)).unwrap() == marked.files[0].text);
        assert!(gobgp.alive().await);
        sessions(&gobgp, 2).await;
        assert_eq!([topology.established(0), topology.established(1)], before, "{kind:?}");
        gobgp.stop(StopReason::Leaving).await;
    });
}

#[test]
fn settings_that_a_signal_does_not_change_need_a_planned_restart() {
    each(async |kind, topology, paths, _| {
        let mut gobgp = routed(topology, paths, &kind.service("")).await;
        let before = gobgp.pid();

        // gobgpd has been seen to change only the first of several neighbours.
        let slower = |line: &str| {
            let neighbors = line.contains("neighbors:");
            if neighbors { line.replace('}', ", timers: [2, 6]}") + "\n" } else { line.to_owned() + "\n" }
        };
        let text: String = kind.text("").lines().map(slower).collect();
        gobgp.reload(&service_of(&text).unwrap()).await.unwrap();

        assert_ne!(gobgp.pid(), before, "{kind:?}");
        sessions(&gobgp, 2).await;
        wait_for_node_route(topology, true).await;
        gobgp.stop(StopReason::Leaving).await;
    });
}

#[test]
fn addresses_are_announced_and_withdrawn_and_routes_lead_to_the_leafs() {
    each(async |kind, topology, paths, kernel| {
        let model = kind.model();
        let mut gobgp = routed(topology, paths, &kind.service("")).await;
        let mut changes = gobgp.changes().await.unwrap();

        // GoBGP 3 selects one of several equal paths.
        let best = if kind == Kind::Four { 2 } else { 1 };
        let table = async || gobgp.paths().await.unwrap();
        let to_both = |paths: &Vec<BgpPath>, net: &str| {
            paths.iter().filter(|path| path.best && path.net.to_string() == net).count()
        };
        poll_until("paths", table, |paths| to_both(paths, "10.255.0.99/32") == best).await;
        poll_until("paths", table, |paths| to_both(paths, "fd00:255::1/128") == 1).await;
        install(kernel, &gobgp, &model).await;

        let output = topology.node.ask("ip -4 route show 10.255.0.99 proto bgp");
        let ways = if kind == Kind::Four { 2 } else { 0 };
        assert!(
            output.matches("nexthop").count() == ways && output.contains("src 10.12.10.1"),
            "{kind:?}: {output}"
        );
        reaches(topology, "10.255.0.99");
        reaches(topology, "fd00:255::1");

        topology.leafs[0].ask("ip address del 10.255.0.1/32 dev lo");

        tokio::time::timeout(Duration::from_secs(20), changes.next()).await.unwrap().unwrap();
        poll_until("no path", table, |paths| {
            paths.iter().all(|path| path.net.to_string() != "10.255.0.1/32")
        })
        .await;
        install(kernel, &gobgp, &model).await;
        assert_eq!(topology.node.ask("ip -4 route show 10.255.0.1"), "", "{kind:?}");

        gobgp.announce(BTreeSet::new()).await.unwrap();
        wait_for_node_route(topology, false).await;
        gobgp.announce(own()).await.unwrap();
        wait_for_node_route(topology, true).await;
        gobgp.stop(StopReason::Leaving).await;
    });
}

#[test]
fn leafs_keep_routes_through_a_planned_restart_and_drop_those_of_a_leaving_node() {
    each(async |kind, topology, paths, _| {
        let service = kind.service("");
        let gobgp = routed(topology, paths, &service).await;
        topology.leafs[1].ask("ip monitor route >/tmp/monitor 2>&1 & sleep 0.2");

        // Talos sends SIGTERM to all processes of a service, the agent and its daemon.
        kill(Pid::from_raw(gobgp.pid().unwrap().cast_signed()), Signal::SIGTERM).unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(!gobgp.alive().await, "{kind:?}: gobgpd must end on SIGTERM");
        gobgp.stop(StopReason::Planned).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let gobgp = routed(topology, paths, &service).await;
        tokio::time::sleep(Duration::from_secs(2)).await;

        let output = topology.leafs[1].ask("cat /tmp/monitor");
        let lost = output.lines().any(|line| line.starts_with("Deleted") && line.contains("10.12.10.1"));
        assert!(!lost, "{kind:?}: {output}");

        let start = Instant::now();
        gobgp.stop(StopReason::Leaving).await;

        wait_for_node_route(topology, false).await;
        assert!(start.elapsed() < Duration::from_secs(3), "{kind:?}: {:?}", start.elapsed());
    });
}

#[test]
fn a_killed_or_hung_daemon_is_replaced() {
    each(async |kind, topology, paths, _| {
        let mut gobgp = routed(topology, paths, &kind.service("")).await;
        for (signal, reason) in [(Signal::SIGKILL, "signal: 9"), (Signal::SIGSTOP, "did not answer")] {
            let before = gobgp.pid().unwrap();
            kill(Pid::from_raw(before.cast_signed()), signal).unwrap();

            let why = supervised(async || gobgp.supervise().await).await;

            assert!(why.contains(reason), "{kind:?}: {why}");
            assert_ne!(gobgp.pid(), Some(before));
            sessions(&gobgp, 2).await;
            wait_for_node_route(topology, true).await;
        }
        gobgp.stop(StopReason::Leaving).await;
    });
}

#[test]
fn a_leaf_that_appears_late_or_with_another_address_is_peered_with() {
    let kind = Kind::Four;
    let topology = kind.topology();
    let paths = kind.paths(&topology);
    topology.on_node(async || {
        let kernel = Kernel::open().unwrap();
        ports(&kernel, 1).await;
        let (_, plan) = planned(load_text(kind.text("")));
        let render_service = |model: &BgpModel| service_for(&plan, model);
        let model = kind.model();
        let first = render_service(&without_undiscovered(&model, |port| port.as_str() == "eth0"));
        let mut gobgp = Gobgp::start(paths.clone(), &first, own()).await.unwrap();
        sessions(&gobgp, 1).await;

        ports(&kernel, 2).await;
        gobgp.reload(&render_service(&model)).await.unwrap();

        sessions(&gobgp, 2).await;
        assert_eq!(topology.established(0), 1);

        topology.leafs[1].ask(
            "ip link set to-node down && ip link set to-node address 02:00:00:00:77:77 && ip link set to-node up",
        );
        let link = kernel.links().await.unwrap().into_iter().find(|link| link.name == "eth1").unwrap();
        let other = async || {
            add_router(&kernel, &link).await;
            kernel.neighbours(link.index).await.unwrap()
        };
        let is_other = "fe80::ff:fe00:7777".parse::<std::net::Ipv6Addr>().unwrap();
        poll_until("the other address", other, |known| known.iter().any(|one| one.address == is_other)).await;
        gobgp.reload(&render_service(&model)).await.unwrap();

        // gobgpd may need a moment to drop the previous neighbour.
        let ask = async || gobgp.sessions().await.unwrap();
        let with_other = |reported: &Vec<Session>| {
            let mut second = reported.iter().filter(|one| one.peer == "eth1");
            are_established(reported, 2) && second.any(|one| one.address.as_deref() == Some("fe80::ff:fe00:7777"))
        };
        poll_until("a session with the other", ask, with_other).await;
        assert_eq!(topology.established(0), 1);
        gobgp.stop(StopReason::Leaving).await;
    });
}

/// The service of a model that differs from the plan's.
fn service_for(plan: &Plan, model: &BgpModel) -> Service {
    let decided = plan.nodes[0].routing.as_deref().unwrap();
    let request = RenderRequest {
        backend: Backend::Gobgp,
        carrier: Carrier::Ichor,
        model,
        version: decided.version.as_ref().map(|version| &version.value),
        options: &decided.options(),
        template: None,
        routers: &RouterAddresses::new(),
    };
    render(request, &|_| Err(SecretError::new("no password is written"))).unwrap().unwrap()
}
