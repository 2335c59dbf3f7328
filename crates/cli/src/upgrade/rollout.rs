//! Upgrades one node after the other and stops at the first failure.

use ichor_core::cluster::section::Role;
use ichor_core::upgrade::{UpgradeMethod, UpgradePlan, UpgradeStep, reboot_impact, verify_upgrade};
use ichor_talos::api::lifecycle::UpgradeOutput;
use ichor_talos::api::machine::{RebootMode, UpgradeRequest};
use serde_json::json;
use tokio::time::{self, Instant};

use super::UpgradeOptions;
use crate::cluster_client::{ClusterClient, ClusterError, DrainOutcome, boot_id};
use crate::up::{Reporter, StepState};
use ichor_client::talos::{NodeClient, NodeError, NodeErrorKind};

/// Interval between polls of etcd.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(500);

/// The node and step that failed.
pub(crate) struct UpgradeFailure {
    pub node: String,
    pub step: &'static str,
    pub why: String,
    /// Nodes that were not upgraded.
    pub left: Vec<String>,
}

/// Runs a plan; returns the number of upgraded nodes.
pub(crate) async fn upgrade_nodes(
    client: &ClusterClient<'_>,
    plan: &UpgradePlan,
    options: &UpgradeOptions<'_>,
    reporter: &Reporter,
) -> Result<usize, UpgradeFailure> {
    let stop = |node: &str, (step, why): (&'static str, String), left: &[UpgradeStep]| UpgradeFailure {
        node: node.to_owned(),
        step,
        why,
        left: left.iter().map(|step| step.node.clone()).collect(),
    };
    for node in &plan.uncordon {
        let upgrade = NodeUpgrade { client, options, reporter, node };
        let freed = upgrade.run_step("uncordon", client.kubernetes.uncordon(node)).await;
        freed.map_err(|why| stop(node, why, &plan.steps))?;
    }
    for (nth, step) in plan.steps.iter().enumerate() {
        let upgrade = NodeUpgrade { client, options, reporter, node: &step.node };
        upgrade.upgrade(step).await.map_err(|why| stop(&step.node, why, &plan.steps[nth + 1..]))?;
    }
    Ok(plan.steps.len())
}

/// The upgrade of one node.
struct NodeUpgrade<'w> {
    client: &'w ClusterClient<'w>,
    options: &'w UpgradeOptions<'w>,
    reporter: &'w Reporter,
    node: &'w str,
}

/// Errors of an upgrade step.
#[derive(Debug, thiserror::Error)]
enum UpgradeError {
    #[error(transparent)]
    Crew(#[from] ClusterError),
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A problem of etcd, or of the installed software.
    #[error("{0}")]
    Unsound(String),
    #[error("the node pulled {0} but did not report its name")]
    Nameless(String),
    #[error("the installer failed with exit code {code}: {last}")]
    Installer { code: i32, last: String },
    #[error("the connection to the installer broke")]
    BrokenOff,
}

type StepResult<T> = Result<T, (&'static str, String)>;

impl NodeUpgrade<'_> {
    async fn upgrade(&self, step: &UpgradeStep) -> StepResult<()> {
        self.run_step("check", self.check_preconditions(step)).await?;
        let (node, before) = self.run_step("connect", self.connect()).await?;
        let drained = match step.way {
            UpgradeMethod::Whole => {
                self.run_step("upgrade", self.upgrade_in_one_call(&node, step)).await?;
                DrainOutcome::AlreadyCordoned
            }
            UpgradeMethod::Parts => self.install_and_reboot(&node, step).await?,
        };
        let report = |message: &str| self.report(message);
        let back = async {
            let release =
                self.client.wait_for_reboot(self.node, &before, self.options.timeout, &report).await?;
            let has = self.client.extensions(self.node).await;
            verify_upgrade(step, &release, has.as_deref())
                .map_err(|error| UpgradeError::Unsound(error.to_string()))
        };
        self.run_step("come back", back).await?;
        if drained == DrainOutcome::Cordoned {
            self.run_step("uncordon", self.client.kubernetes.uncordon(self.node)).await?;
        }
        self.run_step("health", self.wait_until_healthy(step)).await
    }

    /// Connects to the node and reads its boot ID.
    async fn connect(&self) -> Result<(NodeClient, String), UpgradeError> {
        let node = self.client.connect(self.node).await?;
        let before = boot_id(&node).await?;
        Ok((node, before))
    }

    /// Checks that the cluster is healthy and can do without the node.
    async fn check_preconditions(&self, step: &UpgradeStep) -> Result<(), UpgradeError> {
        if step.role == Role::Controlplane {
            let etcd = self.client.etcd().await?;
            let problems = etcd.problems();
            if !problems.is_empty() {
                return Err(UpgradeError::Unsound(problems.join("; ")));
            }
            reboot_impact(Some(&etcd), self.node, step.role, self.options.outage)
                .map_err(|obstacle| UpgradeError::Unsound(obstacle.message))?;
        }
        Ok(self.client.wait_until_healthy(self.options.timeout, &|message| self.report(message)).await?)
    }

    /// Upgrades with the single API call of Talos up to 1.12.
    async fn upgrade_in_one_call(&self, node: &NodeClient, step: &UpgradeStep) -> Result<(), NodeError> {
        // Without `preserve` a control plane node also leaves etcd gracefully; data is kept in any case since 1.8.
        let request = UpgradeRequest { image: step.image.clone() };
        match node.upgrade(request).await {
            // The node may reboot before it answers; the result is verified after the reboot.
            Err(error) if error.kind() == NodeErrorKind::Lost => Ok(()),
            done => done,
        }
    }

    async fn install_and_reboot(&self, node: &NodeClient, step: &UpgradeStep) -> StepResult<DrainOutcome> {
        let image = self.run_step("pull", self.pull(node, &step.image)).await?;
        self.run_step("install", self.install(node, &image)).await?;
        let reason = format!("upgrade to {}", step.to);
        let report = |message: &str| self.report(message);
        let drain = self.client.drain(self.node, &reason, self.options.drain_timeout, &report);
        let drained = self.run_step("drain", drain).await?;
        if step.role == Role::Controlplane {
            // Best effort: without a handover the members elect a new leader.
            if let Ok(leader) = node.etcd_forfeit().await
                && !leader.is_empty()
            {
                self.report("etcd leadership was handed over");
            }
        }
        self.run_step("reboot", self.reboot(node)).await?;
        Ok(drained)
    }

    async fn pull(&self, node: &NodeClient, image: &str) -> Result<String, UpgradeError> {
        let mut stream = node.pull(image);
        let mut name = None;
        while let Some(message) = stream.next().await? {
            if let Some(pulled) = message.name {
                name = Some(pulled);
            }
        }
        name.ok_or_else(|| UpgradeError::Nameless(image.to_owned()))
    }

    async fn install(&self, node: &NodeClient, image: &str) -> Result<(), UpgradeError> {
        let mut stream = node.install(image);
        let (mut code, mut last) = (None, String::new());
        while let Some(message) = stream.next().await? {
            match message.progress.and_then(|progress| progress.response) {
                Some(UpgradeOutput::Message(line)) => {
                    self.report(line.trim_end());
                    line.trim_end().clone_into(&mut last);
                }
                Some(UpgradeOutput::ExitCode(ended)) => code = Some(ended),
                None => {}
            }
        }
        match code {
            Some(0) => Ok(()),
            Some(code) => Err(UpgradeError::Installer { code, last }),
            None => Err(UpgradeError::BrokenOff),
        }
    }

    async fn reboot(&self, node: &NodeClient) -> Result<(), NodeError> {
        match node.reboot(RebootMode::Default).await {
            Err(error) if error.kind() == NodeErrorKind::Lost => Ok(()),
            done => done,
        }
    }

    /// Waits until etcd has all its members and Talos's health check succeeds.
    async fn wait_until_healthy(&self, step: &UpgradeStep) -> Result<(), UpgradeError> {
        let end = Instant::now() + self.options.timeout;
        loop {
            if step.role != Role::Controlplane {
                break;
            }
            let problems = match self.client.etcd().await {
                Ok(etcd) => etcd.problems(),
                Err(error) => vec![error.to_string()],
            };
            if problems.is_empty() {
                break;
            }
            if Instant::now() + POLL_INTERVAL >= end {
                return Err(UpgradeError::Unsound(problems.join("; ")));
            }
            time::sleep(POLL_INTERVAL).await;
        }
        let rest = end.saturating_duration_since(Instant::now());
        Ok(self.client.wait_until_healthy(rest, &|message| self.report(message)).await?)
    }

    async fn run_step<T, E: ToString>(
        &self,
        step: &'static str,
        act: impl Future<Output = Result<T, E>>,
    ) -> StepResult<T> {
        self.reporter.report_step(Some(self.node), step, StepState::Begun, None, "");
        match act.await {
            Ok(done) => {
                self.reporter.report_step(Some(self.node), step, StepState::Done, None, "");
                Ok(done)
            }
            Err(error) => {
                let why = error.to_string();
                self.reporter.report_step(Some(self.node), step, StepState::Failed, None, &why);
                Err((step, why))
            }
        }
    }

    fn report(&self, message: &str) {
        let line = format!("{}: {message}", self.node);
        self.reporter.emit("message", json!({"node": self.node, "message": message}), Some(line));
    }
}
