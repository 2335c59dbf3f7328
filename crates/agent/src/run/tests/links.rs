//! Links and ports: applied first, waited for, and tried again.

use std::fs;
use std::io::ErrorKind;

use ichor_bgp::agent::status::AgentStage;
use ichor_values::Backend;

use super::fake::Node;
use super::{TestAgent, config, mac, port, with_gobgp, working};
use crate::run::host::HostEvent;
use crate::run::ra::RouterAdvertisement;

#[tokio::test(start_paused = true)]
async fn a_start_applies_links_and_then_runs_the_rendered_configuration() {
    let mut agent = TestAgent::start(&config(), working());

    let status = agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;

    assert!(status.waiting.is_empty(), "{:?}", status.waiting);
    assert_eq!(status.version.as_deref(), Some("10.3"));
    assert_eq!(status.sessions.len(), 1);
    let node = agent.control.node();
    assert_eq!(node.links[0].addresses, ["10.0.0.1/32".parse().unwrap()]);
    assert_eq!(node.sysctls["net/ipv4/ip_forward"], "1");
    assert_eq!(node.commands, ["check", "start"]);
    assert_eq!(node.ports, ["eth0", "eth1"]);
    let config = node.config();
    for line in ["router bgp 65001", "neighbor eth0 interface", "neighbor eth1 interface", "10.0.0.1/32"] {
        assert!(config.contains(line), "{line}\n{config}");
    }
    assert_eq!(fs::read_to_string(agent.run.join("frr.conf")).unwrap(), config);
}

#[tokio::test(start_paused = true)]
async fn a_complete_node_is_left_alone() {
    let mut agent = TestAgent::start(&config(), working());
    agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;
    let before = agent.control.node().steps.clone();

    agent.links_changed().await;
    agent.advance(300).await;

    let node = agent.control.node();
    assert_eq!(node.steps, before);
    assert_eq!(node.commands, ["check", "start"]);
}

#[tokio::test(start_paused = true)]
async fn a_port_that_appears_late_is_added_to_the_running_daemon() {
    let mut node = working();
    node.links.pop();
    let mut agent = TestAgent::start(&config(), node);
    let status = agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;
    assert_eq!(status.waiting, ["no port has the MAC address 02:00:00:00:00:03 (eth1)"]);
    assert!(!agent.control.node().config().contains("eth1"));

    agent.control.node().links.push(port(3));
    agent.links_changed().await;

    agent.wait_for("waits for nothing", |status| status.waiting.is_empty()).await;
    let node = agent.control.node();
    assert!(node.config().contains("neighbor eth1 interface"), "{}", node.config());
    assert_eq!(node.commands, ["check", "start", "reload"]);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_step_is_reported_and_retried_while_the_daemon_runs() {
    let node = Node { step_error: Some(ErrorKind::PermissionDenied), ..working() };
    let mut agent = TestAgent::start(&config(), node);

    let status = agent.wait_for("reports the step", |status| !status.waiting.is_empty()).await;

    let reason = &status.waiting[0];
    assert!(reason.starts_with("cannot set net/ipv4/ip_forward = 1: "), "{reason}");
    assert!(reason.contains("CAP_NET_ADMIN"), "{reason}");
    assert_eq!(status.stage, AgentStage::Running);

    agent.control.node().step_error = None;
    agent.wait_for("waits for nothing", |status| status.waiting.is_empty()).await;
    assert_eq!(agent.control.node().links[0].addresses, ["10.0.0.1/32".parse().unwrap()]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_to_list_links_is_reported_and_retried() {
    let node = Node { links_error: Some(ErrorKind::PermissionDenied), ..working() };
    let mut agent = TestAgent::start(&config(), node);
    let status = agent.wait_for("reports it", |status| !status.waiting.is_empty()).await;
    assert!(status.waiting[0].starts_with("cannot list links: "), "{:?}", status.waiting);
    assert_eq!((status.stage, agent.control.node().count("start")), (AgentStage::Starting, 0));

    agent.control.node().links_error = None;

    let status = agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;
    assert!(status.waiting.is_empty(), "{:?}", status.waiting);
}

#[tokio::test(start_paused = true)]
async fn a_router_becomes_gobgps_only_neighbour_before_its_session_is_configured() {
    let mut config = config();
    config.backend = Backend::Gobgp;
    let mut agent = TestAgent::start(&config, with_gobgp());
    let waits = ["no router advertisement on port eth0", "no router advertisement on port eth1"];
    agent.wait_for("waits for routers", |status| status.waiting == waits).await;

    let (port, router) = ("eth0".to_owned(), "fe80::1".parse().unwrap());
    let mac = Some(mac(9));
    agent.control.send(HostEvent::Router(RouterAdvertisement { port, router, mac })).await;

    agent.wait_for("waits for one router", |status| status.waiting == waits[1..]).await;
    let node = agent.control.node();
    assert_eq!(node.neighbours, [(2, router)]);
    assert!(node.config().contains("eth0") && !node.config().contains("eth1"), "{}", node.config());
}
