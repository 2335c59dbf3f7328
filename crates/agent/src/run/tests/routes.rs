//! Routes in the kernel: restored for FRR, installed for GoBGP.

use std::collections::BTreeSet;
use std::time::Duration;

use ichor_bgp::agent::config::{AgentConfig, ConfigSource};
use ichor_bgp::agent::route::{MAIN, NextHop, Route};
use ichor_bgp::agent::status::AgentStage;
use ichor_bgp::agent::{frr, gobgp};
use ichor_values::Backend;
use tokio::time::sleep;

use super::fake::Node;
use super::{TestAgent, config, with_gobgp, working};
use crate::kernel::KernelChange;
use crate::machined::LeaveReason;
use crate::run::host::{DaemonRoutes, HostEvent};
use crate::run::ra::RouterAdvertisement;

fn hops() -> BTreeSet<NextHop> {
    BTreeSet::from([NextHop { via: Some("fe80::1".parse().unwrap()), link: 2 }])
}

/// A route that FRR reports as installed.
fn installed_route() -> frr::InstalledRoute {
    frr::InstalledRoute {
        domain: None,
        prefix: "198.51.100.0/24".parse().unwrap(),
        hops: hops(),
        source: None,
    }
}

async fn with_frr() -> TestAgent {
    let mut node = working();
    node.daemon_routes = Some(DaemonRoutes::Installed(vec![installed_route()]));
    let mut agent = TestAgent::start(&config(), node);
    agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;
    agent
}

async fn routes_changed(agent: &TestAgent) {
    agent.control.send(HostEvent::Kernel(BTreeSet::from([KernelChange::Routes]))).await;
}

#[tokio::test(start_paused = true)]
async fn a_route_that_another_program_removed_is_restored() {
    let mut agent = with_frr().await;

    routes_changed(&agent).await;

    agent.wait_for("counts the route", |status| status.restored == 1).await;
    assert_eq!(agent.control.node().routes, [installed_route().in_kernel(None).unwrap()]);
    routes_changed(&agent).await;
    agent.advance(10).await;
    assert_eq!(agent.status.borrow().restored, 1, "a route that is there is left alone");
}

#[tokio::test(start_paused = true)]
async fn a_route_that_the_daemon_repairs_itself_is_not_restored() {
    let agent = with_frr().await;

    routes_changed(&agent).await;
    sleep(Duration::from_millis(100)).await;
    agent.control.node().routes = vec![installed_route().in_kernel(None).unwrap()];
    agent.advance(10).await;

    assert_eq!(agent.status.borrow().restored, 0);
    assert_eq!(agent.control.node().routes.len(), 1);
}

/// A GoBGP on a node with a stale route of its last run.
async fn started_with_gobgp(received: u32) -> TestAgent {
    let mut config = AgentConfig { backend: Backend::Gobgp, ..config() };
    let ConfigSource::Model(bgp) = &mut config.source else { panic!("{config:?}") };
    bgp.model.fabric.neighbors.truncate(1);
    bgp.model.fabric.graceful_restart = Some(120);
    let mut node = Node { received, ..with_gobgp() };
    node.routes = vec![Route::from_agent(MAIN, "203.0.113.0/24".parse().unwrap(), None, hops())];
    let mut agent = TestAgent::start(&config, node);
    let router =
        RouterAdvertisement { port: "eth0".to_owned(), router: "fe80::1".parse().unwrap(), mac: None };
    agent.control.send(HostEvent::Router(router)).await;
    agent
        .wait_for("waits for nothing", |status| {
            status.stage == AgentStage::Running && status.waiting.is_empty()
        })
        .await;
    agent
}

fn prefixes(agent: &TestAgent) -> Vec<String> {
    agent.control.node().routes.iter().map(|route| route.prefix.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn stale_routes_of_gobgp_stay_until_its_neighbours_have_sent_theirs() {
    let agent = started_with_gobgp(0).await;
    let path = gobgp::BgpPath {
        net: "198.51.100.0/24".parse().unwrap(),
        hops: vec!["fe80::1".parse().unwrap()],
        from: Some("fe80::1%eth0".to_owned()),
        best: true,
    };
    agent.control.node().daemon_routes = Some(DaemonRoutes::Table(vec![path]));

    agent.control.send(HostEvent::Table).await;
    agent.advance(60).await;
    assert_eq!(prefixes(&agent), ["203.0.113.0/24", "198.51.100.0/24"]);

    agent.control.node().received = 1;
    agent.advance(2).await;
    assert_eq!(prefixes(&agent), ["198.51.100.0/24"]);
}

#[tokio::test(start_paused = true)]
async fn stale_routes_of_gobgp_stay_no_longer_than_a_graceful_restart() {
    let agent = started_with_gobgp(0).await;
    agent.control.node().daemon_routes = Some(DaemonRoutes::Table(Vec::new()));

    agent.advance(110).await;
    assert_eq!(prefixes(&agent), ["203.0.113.0/24"]);

    agent.advance(15).await;
    assert!(prefixes(&agent).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_leaving_node_removes_the_routes_that_it_installed_for_gobgp() {
    let agent = started_with_gobgp(1).await;
    assert_eq!(prefixes(&agent), ["203.0.113.0/24"]);

    agent.leaving.send_replace(Some(LeaveReason::Reset));
    let control = agent.stop().await;

    assert!(control.node().routes.is_empty());
    assert_eq!(control.node().commands.last().unwrap(), "stop Leaving");
}

#[tokio::test(start_paused = true)]
async fn a_restarting_agent_keeps_the_routes_of_gobgp() {
    let agent = started_with_gobgp(1).await;

    let control = agent.stop().await;

    assert_eq!(control.node().routes.len(), 1);
}
