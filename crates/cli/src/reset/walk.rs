//! From node to node, until one does not do what it is told.

use std::time::Duration;

use ichor_core::cluster::section::Role;
use ichor_core::etcd::Departure;
use ichor_core::reset::{Seen, Step, Subject, Wipe, consider};
use ichor_talos::api::machine::{PartitionToWipe, ResetRequest};
use tokio::time::{self, Instant};

use super::Order;
use crate::crew::{Answers, Crew, CrewError, is_found_unconfigured};
use crate::up::{State, Teller};
use ichor_client::talos::{Kind, Node, NodeError};

/// What Talos keeps on its disk besides what boots.
const KEPT: [&str; 2] = ["STATE", "EPHEMERAL"];

/// How long between two looks.
const AGAIN: Duration = Duration::from_millis(500);

/// Whether a machine is switched off in the end: one that has nothing to boot need not try.
pub(crate) fn goes_off(step: &Step, order: &Order<'_>) -> bool {
    order.power_off || step.stranded
}

/// Why a node was not reset.
#[derive(Debug, thiserror::Error)]
enum ResetError {
    #[error(transparent)]
    Crew(#[from] CrewError),
    /// The cluster cannot do without it any more.
    #[error("{0}")]
    Refused(String),
    #[error("{step}: {error}")]
    Step { step: &'static str, error: CrewError },
}

/// Where it stopped.
pub(crate) struct Stopped {
    pub node: String,
    pub why: String,
    /// Whose turn did not come.
    pub left: Vec<String>,
}

/// Resets one node after the other; how many, if all of it was done.
pub(crate) async fn walk(
    crew: &Crew<'_>,
    subjects: &[Subject],
    steps: &[Step],
    order: &Order<'_>,
    teller: &Teller,
) -> Result<usize, Stopped> {
    for (nth, step) in steps.iter().enumerate() {
        let subject = subjects.iter().find(|subject| subject.name == step.node);
        let Some(subject) = subject else { continue };
        if let Err(error) = one(crew, subject, step, order, teller).await {
            let left = steps[nth + 1..].iter().map(|step| step.node.clone()).collect();
            return Err(Stopped { node: step.node.clone(), why: error.to_string(), left });
        }
    }
    Ok(steps.len())
}

async fn one(
    crew: &Crew<'_>,
    subject: &Subject,
    planned: &Step,
    order: &Order<'_>,
    teller: &Teller,
) -> Result<(), ResetError> {
    let name = planned.node.as_str();
    let ends = planned.departure == Departure::Last;
    if subject.role == Role::Controlplane && !ends {
        // Those before it have left meanwhile.
        let etcd = crew.etcd().await?;
        consider(subject, Some(&etcd), order.wipe, order.allowed)
            .map_err(|obstacle| ResetError::Refused(obstacle.message))?;
    }
    if subject.seen == Seen::Runs {
        let how = How { graceful: !ends, wipe: order.wipe, off: goes_off(planned, order) };
        told(teller, name, "reset", forget(crew, name, how, order.timeout)).await?;
    }
    if ends {
        return Ok(());
    }
    if subject.role == Role::Controlplane {
        told(teller, name, "leave etcd", crew.remove_member(name)).await?;
    }
    let gone = async { crew.kubernetes.forget(name).await.map_err(CrewError::from) };
    told(teller, name, "leave Kubernetes", gone).await.map(drop)
}

/// How a node is told to forget.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// Whether it leaves etcd and lets its pods go first. The last member cannot leave.
    pub graceful: bool,
    pub wipe: Wipe,
    /// Whether it is switched off in the end.
    pub off: bool,
}

/// What became of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forgotten {
    /// It waits for a configuration.
    Maintenance,
    /// It does not answer any more, as is meant, or where it will answer is not known.
    Silent,
}

/// Tells a node to forget, and waits until it has.
pub(crate) async fn forget(
    crew: &Crew<'_>,
    name: &str,
    how: How,
    patience: Duration,
) -> Result<Forgotten, CrewError> {
    let node = crew.connect(name).await?;
    ask(&node, how).await?;
    drop(node);
    let plan = crew.project().plan.node(name).ok_or(CrewError::UnknownNode)?;
    let found = !how.off && is_found_unconfigured(plan);
    let end = Instant::now() + patience;
    loop {
        let waits = match crew.look(plan).await {
            Answers::Maintenance(_) if !how.off => return Ok(Forgotten::Maintenance),
            Answers::Nobody(_) if !found => return Ok(Forgotten::Silent),
            Answers::Maintenance(at) => format!("it is in maintenance mode at {at} and not off"),
            Answers::Nobody(why) => format!("it has not come back yet: {why}"),
            Answers::Node(_) => "it still runs as a node".to_owned(),
        };
        if Instant::now() + AGAIN >= end {
            return Err(CrewError::NotForgotten { seconds: patience.as_secs(), waits });
        }
        time::sleep(AGAIN).await;
    }
}

async fn ask(node: &Node, how: How) -> Result<(), NodeError> {
    let partitions = match how.wipe {
        Wipe::System => KEPT.map(|label| PartitionToWipe { label: label.to_owned(), wipe: true }).to_vec(),
        Wipe::Disk => Vec::new(),
    };
    let request =
        ResetRequest { graceful: how.graceful, reboot: !how.off, system_partitions_to_wipe: partitions };
    match node.reset(request).await {
        // It may be gone before its answer is here; whether it did what it should is seen then.
        Err(error) if error.kind() == Kind::Lost => Ok(()),
        done => done,
    }
}

async fn told<T>(
    teller: &Teller,
    node: &str,
    step: &'static str,
    act: impl Future<Output = Result<T, CrewError>>,
) -> Result<T, ResetError> {
    teller.step(Some(node), step, State::Begun, None, "");
    let done = act.await;
    match &done {
        Ok(_) => teller.step(Some(node), step, State::Done, None, ""),
        Err(error) => teller.step(Some(node), step, State::Failed, None, &error.to_string()),
    }
    done.map_err(|error| ResetError::Step { step, error })
}
