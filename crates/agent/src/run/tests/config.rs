//! The daemon's configuration: changed, rejected, retried, and gated by health.

use ichor_bgp::agent::config::{AgentConfig, ConfigSource, HealthCheck, HealthProbe};
use ichor_bgp::agent::health_gate::GateState;
use ichor_bgp::agent::status::{AgentStage, AgentStatus, AnycastStatus, ReloadStatus};
use ichor_values::Backend;

use super::{TestAgent, config, port, working};
use crate::run::event::SignalRequest;
use crate::run::host::Rejection;
use crate::run::state_dir::ANYCAST_OPEN;

/// The usual configuration with other timers.
fn changed() -> AgentConfig {
    let mut config = config();
    let ConfigSource::Model(bgp) = &mut config.source else { panic!("{config:?}") };
    bgp.model.fabric.neighbors.iter_mut().for_each(|neighbor| neighbor.timers = (4, 12));
    config
}

fn rejection(is_transient: bool) -> Rejection {
    Rejection { reason: "bgpd did not accept `timers 4 12`".to_owned(), is_transient }
}

fn refused(status: &AgentStatus) -> Option<&str> {
    status.reload.as_ref()?.refused.as_deref()
}

async fn started() -> TestAgent {
    let mut agent = TestAgent::start(&config(), working());
    agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;
    agent
}

#[tokio::test(start_paused = true)]
async fn a_changed_file_is_applied_by_a_reload() {
    let mut agent = started().await;

    agent.write(&changed().text(), 1);

    let accepted = |status: &AgentStatus| matches!(status.reload, Some(ReloadStatus { refused: None, .. }));
    agent.wait_for("reports a reload", accepted).await;
    let node = agent.control.node();
    assert!(node.config().contains("timers 4 12"), "{}", node.config());
    assert_eq!(node.commands, ["check", "start", "reload"]);
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_file_is_reported_and_changes_nothing() {
    let mut agent = started().await;

    agent.write("{", 1);
    agent.requests.send(SignalRequest::Reload).await.unwrap();

    let status = agent.wait_for("reports the file", |status| refused(status).is_some()).await;
    assert!(refused(&status).unwrap().ends_with("; keeping the previous configuration"), "{status:?}");
    assert_eq!(agent.control.node().count("reload"), 0);

    agent.write(&config().text(), 2);
    agent.wait_for("reports nothing", |status| refused(status).is_none()).await;
    assert_eq!(agent.control.node().count("reload"), 0);
}

#[tokio::test(start_paused = true)]
async fn another_daemon_requires_a_restart() {
    let mut agent = started().await;
    let bird = AgentConfig { backend: Backend::Bird, ..config() };

    agent.write(&bird.text(), 1);

    agent.wait_for("reports it", |status| refused(status).is_some()).await;
    assert_eq!(agent.control.node().commands, ["check", "start"]);
}

#[tokio::test(start_paused = true)]
async fn a_transient_rejection_is_retried_with_growing_pauses() {
    let mut agent = started().await;
    agent.control.node().rejection = Some(rejection(true));

    agent.write(&changed().text(), 1);

    let status = agent.wait_for("reports the rejection", |status| refused(status).is_some()).await;
    assert!(status.reload.unwrap().again.is_some());
    agent.advance(70).await;
    let reloads = agent.control.node().reloads.clone();
    let pauses: Vec<_> = reloads.windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect();
    assert_eq!(pauses, [1, 2, 4, 8, 16, 30]);

    agent.control.node().rejection = None;
    agent.wait_for("reports that it was accepted", |status| refused(status).is_none()).await;
    assert!(agent.control.node().config().contains("timers 4 12"));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_configuration_is_not_retried_and_another_one_is_applied() {
    let mut agent = started().await;
    agent.control.node().rejection = Some(rejection(false));
    agent.write(&changed().text(), 1);
    let status = agent.wait_for("reports the rejection", |status| refused(status).is_some()).await;
    assert_eq!(status.reload.unwrap().again, None);

    agent.advance(600).await;
    assert_eq!(agent.control.node().count("reload"), 1);

    agent.control.node().rejection = None;
    agent.control.node().links.retain(|link| link.name != "eth1");
    agent.links_changed().await;
    agent.wait_for("reports that it was accepted", |status| refused(status).is_none()).await;
    assert_eq!(agent.control.node().count("reload"), 2);
}

#[tokio::test(start_paused = true)]
async fn the_previous_configuration_is_loaded_again_after_a_rejection() {
    let mut node = working();
    node.links.pop();
    let mut agent = TestAgent::start(&config(), node);
    agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;
    agent.control.node().rejection = Some(rejection(false));
    agent.control.node().links.push(port(3));
    agent.links_changed().await;
    agent.wait_for("reports the rejection", |status| refused(status).is_some()).await;

    agent.control.node().rejection = None;
    agent.control.node().links.pop();
    agent.links_changed().await;

    agent.wait_for("reports that it was accepted", |status| refused(status).is_none()).await;
    assert_eq!(agent.control.node().count("reload"), 2);
}

#[tokio::test(start_paused = true)]
async fn the_health_gate_controls_the_anycast_address_only() {
    let config = AgentConfig {
        health: Some(HealthCheck::new(HealthProbe::Tcp("127.0.0.1:1".to_owned()))),
        ..config()
    };
    let mut agent = TestAgent::start(&config, working());
    let status = agent.wait_for("is running", |status| status.stage == AgentStage::Running).await;
    assert_eq!(status.anycast.unwrap().gate, GateState::Closed);
    let announces = |agent: &TestAgent, address: &str| agent.control.node().config().contains(address);
    assert!(announces(&agent, "10.0.0.1/32") && !announces(&agent, "192.0.2.53/32"));

    for (gate, is_open) in [(GateState::Open, true), (GateState::Closed, false)] {
        agent.anycast.send_replace(AnycastStatus { gate, reason: None });
        let is_there =
            |status: &AgentStatus| status.anycast.as_ref().is_some_and(|anycast| anycast.gate == gate);
        agent.wait_for("has the gate", is_there).await;
        agent.advance(1).await;
        assert_eq!(announces(&agent, "192.0.2.53/32"), is_open);
        assert!(announces(&agent, "10.0.0.1/32"));
        assert_eq!(
            agent.run.join(ANYCAST_OPEN).exists(),
            is_open,
            "a restarted agent begins with the same gate"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn ticks_alone_change_nothing() {
    let agent = started().await;

    agent.advance(3600).await;

    assert_eq!(agent.control.node().commands, ["check", "start"]);
}
