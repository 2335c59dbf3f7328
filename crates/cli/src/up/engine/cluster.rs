//! Cluster steps: start and result.

use std::path::PathBuf;
use std::sync::Arc;

use ichor_core::bringup::{Blocker, ClusterStep, NodeAddress, NodeProbe};
use ichor_core::cluster::section::Role;
use ichor_talos::api::cluster::ClusterInfo;
use tokio::time;

use super::retries::Retries;
use super::{Engine, EngineEvent};
use crate::up::endpoint::wait_until_ready;
use crate::up::kubeconfig;
use crate::up::labels::cluster_step_label;
use crate::up::observer::NodeTarget;
use crate::up::reporter::StepState;
use crate::up::state_dir::StateDirError;
use crate::up::talos_steps::{self, StepError};

impl Engine {
    /// Starts a cluster step.
    pub(super) fn start_cluster_step(&mut self, step: ClusterStep) {
        self.observed.cluster.busy = true;
        let on = step.node();
        let at = on.and_then(|nth| self.observed.nodes[nth].at);
        if self.retries.count == 0 {
            let name = on.map(|nth| self.desired.nodes[nth].name.as_str());
            self.reporter.report_step(name, cluster_step_label(step), StepState::Begun, at, "");
        }
        let pause = self.retries.delay();
        let events = self.events_tx.clone();
        let messages = self.events_tx.clone();
        let report = move |text: String| drop(messages.send(EngineEvent::Message(None, text)));
        let (timeout, info) = (self.inputs.node_timeout, self.cluster_info());
        let (endpoint, path) = (self.inputs.endpoint.clone(), self.inputs.kubeconfig.clone());
        let target = on.map(|nth| Arc::clone(&self.inputs.targets[nth])).zip(at);
        tokio::spawn(async move {
            let result = match (step, target) {
                (ClusterStep::Endpoint, _) => wait_until_ready(endpoint, timeout, report).await,
                (ClusterStep::Bootstrap(_), Some((target, at))) => {
                    let before = talos_steps::bootstrap(&target, at).await;
                    before.map(|before| {
                        if before { "etcd was already bootstrapped".to_owned() } else { String::new() }
                    })
                }
                (ClusterStep::Health(_), Some((target, at))) => {
                    talos_steps::health(&target, at, info, timeout, report).await.map(|()| String::new())
                }
                (ClusterStep::Kubeconfig(_), Some((target, at))) => merge(target, at, path).await,
                _ => Err(StepError::Later("the node is not reachable any more".to_owned())),
            };
            if matches!(result, Err(StepError::Later(_) | StepError::Unknown(_))) {
                time::sleep(pause).await;
            }
            let _ = events.send(EngineEvent::ClusterStepDone(step, result));
        });
    }

    /// Addresses of the nodes that are up; empty if Talos has to discover them.
    fn cluster_info(&self) -> ClusterInfo {
        let Some(planned) = &self.inputs.health_addresses else { return ClusterInfo::default() };
        let addresses_of = |role: Role| {
            let nodes = self.desired.nodes.iter().zip(&self.observed.nodes).zip(planned);
            let up = nodes.filter(|((node, observed), _)| {
                node.role == role && matches!(observed.look, Some(NodeProbe::Ours(_)))
            });
            let address = up.filter_map(|((_, observed), planned)| planned.or(Some(observed.at?.address)));
            address.map(|address| address.to_string()).collect()
        };
        ClusterInfo {
            control_plane_nodes: addresses_of(Role::Controlplane),
            worker_nodes: addresses_of(Role::Worker),
        }
    }

    /// Handles the result of a cluster step.
    pub(super) fn finish_cluster_step(
        &mut self,
        step: ClusterStep,
        result: Result<String, StepError>,
    ) -> Result<(), StateDirError> {
        let cluster = &mut self.observed.cluster;
        cluster.busy = false;
        let before = self.record.clone();
        let mut is_new = true;
        let (state, detail) = match result {
            Ok(detail) => {
                self.retries = Retries::default();
                match step {
                    ClusterStep::Bootstrap(_) => {
                        if let Some(begun) = &mut self.record.bootstrap {
                            begun.done = Some(ichor_system::now());
                        }
                    }
                    ClusterStep::Endpoint => cluster.endpoint = true,
                    ClusterStep::Health(_) => cluster.healthy = true,
                    ClusterStep::Kubeconfig(_) => cluster.kubeconfig = true,
                }
                (StepState::Done, detail)
            }
            Err(ended) => {
                // The bootstrap certainly did not happen: remove its record.
                let is_certain = matches!(ended, StepError::Later(_) | StepError::Refused(_));
                if matches!(step, ClusterStep::Bootstrap(_)) && is_certain && !self.record.is_bootstrapped() {
                    self.record.bootstrap = None;
                }
                match ended {
                    StepError::Later(reason) | StepError::Unknown(reason) => {
                        is_new = self.retries.record_failure(&reason);
                        if self.retries.since.is_some_and(|since| since.elapsed() >= self.inputs.node_timeout)
                        {
                            let seconds = self.inputs.node_timeout.as_secs();
                            let message = format!(
                                "{} did not succeed within {seconds} s: {reason}",
                                cluster_step_label(step)
                            );
                            let remedy = "run `ichor verify` to find the cause, then run `ichor up` again";
                            cluster.failed = Some(Blocker::new(None, message, remedy));
                        }
                        (StepState::Again, reason)
                    }
                    StepError::Refused(blocker) => {
                        let message = format!("{}: {}", cluster_step_label(step), blocker.issue.headline());
                        cluster.failed = Some(Blocker::new(None, message, blocker.remedy()));
                        (StepState::Failed, blocker.issue.message)
                    }
                }
            }
        };
        if before != self.record {
            self.state_dir.write(&self.record)?;
        }
        if let Some(nth) = step.node() {
            self.epochs[nth] = self.refresh_signals[nth].request_refresh();
        }
        if is_new {
            let node = step.node().map(|nth| self.desired.nodes[nth].name.as_str());
            self.reporter.report_step(node, cluster_step_label(step), state, None, &detail);
        }
        Ok(())
    }
}

/// Downloads the kubeconfig and merges it into the user's file.
async fn merge(target: Arc<NodeTarget>, at: NodeAddress, path: Option<PathBuf>) -> Result<String, StepError> {
    let Some(path) = path else { return Ok("no kubeconfig requested".to_owned()) };
    let text = talos_steps::kubeconfig(target, at).await?;
    let remedy = "fix that file, set another with `--kubeconfig`, or use `--no-kubeconfig`";
    match kubeconfig::merge_into(&path, &text) {
        Ok(()) => Ok(path.display().to_string()),
        Err(error) => Err(StepError::Refused(Blocker::new(None, format!("{error:#}"), remedy))),
    }
}
