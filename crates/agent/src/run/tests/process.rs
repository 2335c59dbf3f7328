//! The daemon's process: missing, dead, replaced, stopped.

use ichor_bgp::agent::status::{AgentStage, AgentStatus};

use super::fake::Node;
use super::{TestAgent, config, working};
use crate::machined::LeaveReason;
use crate::run::host::Rejection;

#[tokio::test(start_paused = true)]
async fn a_missing_daemon_is_reported_and_started_once_it_is_installed() {
    let node = Node { installed: None, ..working() };
    let mut agent = TestAgent::start(&config(), node);
    let status = agent.wait_for("reports it", |status| !status.waiting.is_empty()).await;
    assert!(status.waiting[0].starts_with("bgpd is not installed"), "{:?}", status.waiting);
    assert_eq!(status.stage, AgentStage::Starting);
    assert!(!agent.control.node().links[0].addresses.is_empty(), "links need no daemon");

    agent.control.node().installed = working().installed;

    let status = agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;
    assert!(status.waiting.is_empty(), "{:?}", status.waiting);
}

#[tokio::test(start_paused = true)]
async fn a_daemon_that_dies_is_replaced_and_its_restart_counted() {
    let mut agent = TestAgent::start(&config(), working());
    let before = agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;
    assert_eq!((before.daemons[0].pid, before.daemons[0].restarts), (Some(100), 0));

    agent.control.kill_daemon();

    let after = agent.wait_for("has a restart", |status| status.daemons[0].restarts == 1).await;
    assert_eq!((after.daemons[0].pid, after.daemons[0].answers), (Some(200), true));
    assert_eq!(after.reload, None);
}

#[tokio::test(start_paused = true)]
async fn the_rejection_of_a_replaced_daemon_is_reported_and_retried() {
    let mut agent = TestAgent::start(&config(), working());
    agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;

    let reason = "could not lock".to_owned();
    agent.control.node().rejection = Some(Rejection { reason: reason.clone(), is_transient: true });
    agent.control.kill_daemon();

    let rejected = |refused: Option<String>| {
        move |status: &AgentStatus| status.reload.as_ref().is_some_and(|it| it.refused == refused)
    };
    agent.wait_for("reports the rejection", rejected(Some(reason))).await;
    agent.control.node().rejection = None;
    agent.wait_for("reports that it was accepted", rejected(None)).await;
    assert_eq!(agent.control.node().count("start"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_leaving_node_withdraws_everything_and_its_daemon_closes_its_sessions() {
    let mut agent = TestAgent::start(&config(), working());
    agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;
    assert!(agent.control.node().config().contains("10.0.0.1/32"));

    agent.leaving.send_replace(Some(LeaveReason::Reboots));

    let status = agent.wait_for("is leaving", |status| status.stage == AgentStage::Leaving).await;
    assert_eq!(status.reason.as_deref(), Some("the node reboots"));
    let config = agent.control.node().config();
    assert!(!config.contains("10.0.0.1/32") && config.contains("neighbor eth0 interface"), "{config}");
    assert_eq!(agent.stop().await.node().commands.last().unwrap(), "stop Leaving");
}

#[tokio::test(start_paused = true)]
async fn a_reboot_that_failed_announces_everything_again() {
    let mut agent = TestAgent::start(&config(), working());
    agent.leaving.send_replace(Some(LeaveReason::Reboots));
    agent.wait_for("is leaving", |status| status.stage == AgentStage::Leaving).await;

    agent.leaving.send_replace(None);

    agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;
    assert!(agent.control.node().config().contains("10.0.0.1/32"));
}

#[tokio::test(start_paused = true)]
async fn a_restart_of_the_agent_is_a_planned_stop() {
    let mut agent = TestAgent::start(&config(), working());
    agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;

    let control = agent.stop().await;

    assert_eq!(control.node().commands.last().unwrap(), "stop Planned");
}
