//! Resets nodes one at a time and stops at the first failure.

use std::time::Duration;

use ichor_core::cluster::section::Role;
use ichor_core::etcd::RemovalImpact;
use ichor_core::reset::{ResetStep, ResetTarget, TargetState, Wipe, plan_node};
use ichor_talos::api::machine::{PartitionToWipe, ResetRequest};
use tokio::time::{self, Instant};

use super::ResetOptions;
use crate::cluster_client::{ClusterClient, ClusterError, NodeLookup, is_found_unconfigured};
use crate::up::{Reporter, StepState};
use ichor_client::talos::{NodeClient, NodeError, NodeErrorKind};

/// Partitions with state, besides the boot partitions.
const SYSTEM_PARTITIONS: [&str; 2] = ["STATE", "EPHEMERAL"];

/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Whether a machine is powered off at the end, even if it has nothing to boot from.
pub(crate) fn powers_off(step: &ResetStep, options: &ResetOptions<'_>) -> bool {
    options.power_off || step.stranded
}

/// Errors of resetting a node.
#[derive(Debug, thiserror::Error)]
enum ResetError {
    #[error(transparent)]
    Crew(#[from] ClusterError),
    /// The cluster would lose quorum or its last node.
    #[error("{0}")]
    Refused(String),
    #[error("{step}: {error}")]
    Step { step: &'static str, error: ClusterError },
}

/// The node whose reset failed.
pub(crate) struct ResetFailure {
    pub node: String,
    pub why: String,
    /// Nodes that were not reset.
    pub left: Vec<String>,
}

/// Resets one node after the other; returns their number.
pub(crate) async fn reset_nodes(
    client: &ClusterClient<'_>,
    subjects: &[ResetTarget],
    steps: &[ResetStep],
    options: &ResetOptions<'_>,
    reporter: &Reporter,
) -> Result<usize, ResetFailure> {
    for (nth, step) in steps.iter().enumerate() {
        let subject = subjects.iter().find(|subject| subject.name == step.node);
        let Some(subject) = subject else { continue };
        if let Err(error) = reset_and_remove(client, subject, step, options, reporter).await {
            let left = steps[nth + 1..].iter().map(|step| step.node.clone()).collect();
            return Err(ResetFailure { node: step.node.clone(), why: error.to_string(), left });
        }
    }
    Ok(steps.len())
}

async fn reset_and_remove(
    client: &ClusterClient<'_>,
    subject: &ResetTarget,
    planned: &ResetStep,
    options: &ResetOptions<'_>,
    reporter: &Reporter,
) -> Result<(), ResetError> {
    let name = planned.node.as_str();
    let ends = planned.departure == RemovalImpact::Last;
    if subject.role == Role::Controlplane && !ends {
        // The nodes before it have left etcd in the meantime.
        let etcd = client.etcd().await?;
        plan_node(subject, Some(&etcd), options.wipe, options.allowed)
            .map_err(|obstacle| ResetError::Refused(obstacle.message))?;
    }
    if subject.seen == TargetState::Runs {
        let mode = ResetMode { graceful: !ends, wipe: options.wipe, off: powers_off(planned, options) };
        report_step(reporter, name, "reset", reset_node(client, name, mode, options.timeout)).await?;
    }
    if ends {
        return Ok(());
    }
    if subject.role == Role::Controlplane {
        report_step(reporter, name, "leave etcd", client.remove_etcd_member(name)).await?;
    }
    let gone = async { client.kubernetes.forget(name).await.map_err(ClusterError::from) };
    report_step(reporter, name, "leave Kubernetes", gone).await.map(drop)
}

/// Options of a reset request.
#[derive(Clone, Copy)]
pub(crate) struct ResetMode {
    /// Leave etcd and drain the node first. The last etcd member cannot leave.
    pub graceful: bool,
    pub wipe: Wipe,
    /// Power off at the end.
    pub off: bool,
}

/// Result of a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResetOutcome {
    /// The machine is in maintenance mode.
    Maintenance,
    /// The machine does not answer: it is off, or its new address is unknown.
    Silent,
}

/// Resets a node and waits until that is done.
pub(crate) async fn reset_node(
    client: &ClusterClient<'_>,
    name: &str,
    mode: ResetMode,
    timeout: Duration,
) -> Result<ResetOutcome, ClusterError> {
    let node = client.connect(name).await?;
    request_reset(&node, mode).await?;
    drop(node);
    let plan = client.project().plan.node(name).ok_or(ClusterError::UnknownNode)?;
    let found = !mode.off && is_found_unconfigured(plan);
    let end = Instant::now() + timeout;
    loop {
        let waits = match client.locate(plan).await {
            NodeLookup::Maintenance(_) if !mode.off => return Ok(ResetOutcome::Maintenance),
            NodeLookup::Unreachable(_) if !found => return Ok(ResetOutcome::Silent),
            NodeLookup::Maintenance(at) => format!("in maintenance mode at {at}, not powered off"),
            NodeLookup::Unreachable(why) => format!("not back yet: {why}"),
            NodeLookup::Node(_) => "still running as a node".to_owned(),
        };
        if Instant::now() + POLL_INTERVAL >= end {
            return Err(ClusterError::ResetTimeout { seconds: timeout.as_secs(), waits });
        }
        time::sleep(POLL_INTERVAL).await;
    }
}

async fn request_reset(node: &NodeClient, mode: ResetMode) -> Result<(), NodeError> {
    let partitions = match mode.wipe {
        Wipe::System => {
            SYSTEM_PARTITIONS.map(|label| PartitionToWipe { label: label.to_owned(), wipe: true }).to_vec()
        }
        Wipe::Disk => Vec::new(),
    };
    let request =
        ResetRequest { graceful: mode.graceful, reboot: !mode.off, system_partitions_to_wipe: partitions };
    match node.reset(request).await {
        // The node may reboot before it answers; the result is verified afterwards.
        Err(error) if error.kind() == NodeErrorKind::Lost => Ok(()),
        done => done,
    }
}

async fn report_step<T>(
    reporter: &Reporter,
    node: &str,
    step: &'static str,
    act: impl Future<Output = Result<T, ClusterError>>,
) -> Result<T, ResetError> {
    reporter.report_step(Some(node), step, StepState::Begun, None, "");
    let done = act.await;
    match &done {
        Ok(_) => reporter.report_step(Some(node), step, StepState::Done, None, ""),
        Err(error) => reporter.report_step(Some(node), step, StepState::Failed, None, &error.to_string()),
    }
    done.map_err(|error| ResetError::Step { step, error })
}
