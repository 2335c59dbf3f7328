//! Node steps: record, start and result.

use std::sync::Arc;

use ichor_core::bringup::{AppliedConfig, NodeProbe, NodeStep};
use tokio::time::{self, Instant};

use super::retries::Retries;
use super::{Engine, EngineEvent};
use crate::up::labels::node_step_label;
use crate::up::machine;
use crate::up::reporter::StepState;
use crate::up::state_dir::StateDirError;
use crate::up::talos_steps::{self, StepError};

impl Engine {
    /// Records a step before it starts; false if it needs no record.
    pub(super) fn record_intent(&mut self, nth: usize, step: NodeStep) -> bool {
        let node = &self.desired.nodes[nth];
        match (step, &self.observed.nodes[nth].look) {
            (NodeStep::Apply, Some(NodeProbe::Maintenance(facts))) => {
                let applied = AppliedConfig {
                    config: node.config.clone(),
                    machine: facts.clone(),
                    at: ichor_system::now(),
                };
                self.record.nodes.entry(node.name.clone()).or_default().applied = Some(applied);
            }
            (NodeStep::Attach, _) => self.record.nodes.entry(node.name.clone()).or_default().media = true,
            _ => return false,
        }
        true
    }

    /// Starts a node step.
    pub(super) fn start_node_step(&mut self, nth: usize, step: NodeStep) {
        let observed = &mut self.observed.nodes[nth];
        observed.busy = true;
        let at = observed.at.filter(|_| matches!(step, NodeStep::Apply | NodeStep::Reconfigure));
        let name = self.desired.nodes[nth].name.clone();
        if self.progress[nth].retries.count == 0 {
            self.reporter.report_step(Some(&name), node_step_label(step), StepState::Begun, at, "");
        }
        self.reporter.set_activity(&name, Some(node_step_label(step)));
        let target = Arc::clone(&self.inputs.targets[nth]);
        let machine = self.inputs.machines[nth].clone();
        let (events, probe) = (self.events_tx.clone(), observed.look.clone());
        let pause = self.progress[nth].retries.delay();
        tokio::spawn(async move {
            let result = match (step, at, probe, machine) {
                (NodeStep::Apply, Some(at), Some(NodeProbe::Maintenance(facts)), _) => {
                    talos_steps::apply(&target, at, &facts).await
                }
                (NodeStep::Reconfigure, Some(at), ..) => talos_steps::reconfigure(&target, at).await,
                (step, _, _, Some(machine)) => {
                    let messages = events.clone();
                    machine
                        .run_step(step, move |text| {
                            drop(messages.send(EngineEvent::Message(Some(nth), text)));
                        })
                        .await
                        .map(|()| Vec::new())
                }
                _ => Err(StepError::Later("the node is not reachable any more".to_owned())),
            };
            if matches!(result, Err(StepError::Later(_) | StepError::Unknown(_))) {
                time::sleep(pause).await;
            }
            let _ = events.send(EngineEvent::NodeStepDone(nth, step, result));
        });
    }

    /// Handles the result of a node step.
    pub(super) fn finish_node_step(
        &mut self,
        nth: usize,
        step: NodeStep,
        result: Result<Vec<String>, StepError>,
    ) -> Result<(), StateDirError> {
        let name = self.desired.nodes[nth].name.clone();
        let observed = &mut self.observed.nodes[nth];
        observed.busy = false;
        let progress = &mut self.progress[nth];
        let mut is_new = true;
        let (state, detail) = match result {
            Ok(warnings) => {
                (progress.retries, progress.stalled_since) = (Retries::default(), Some(Instant::now()));
                match step {
                    NodeStep::Make => observed.machine = observed.machine.map(machine::mark_created),
                    NodeStep::Attach => observed.attached = true,
                    NodeStep::Start => observed.machine = observed.machine.map(machine::mark_started),
                    NodeStep::Apply => (observed.applied, observed.left) = (observed.applied + 1, false),
                    NodeStep::Reconfigure => observed.reconfigured = true,
                    NodeStep::Eject => self.record.nodes.entry(name.clone()).or_default().media = false,
                }
                (StepState::Done, warnings.join("; "))
            }
            Err(StepError::Later(reason) | StepError::Unknown(reason)) => {
                is_new = progress.retries.record_failure(&reason);
                (StepState::Again, reason)
            }
            Err(StepError::Refused(blocker)) => {
                let reason = blocker.issue.message.clone();
                observed.failed = Some(blocker);
                (StepState::Failed, reason)
            }
        };
        // Earlier observations are outdated.
        if matches!(step, NodeStep::Apply | NodeStep::Reconfigure) {
            observed.look = None;
            self.epochs[nth] = self.refresh_signals[nth].request_refresh();
        }
        if step == NodeStep::Eject && state == StepState::Done {
            self.state_dir.write(&self.record)?;
        }
        if is_new {
            self.reporter.report_step(Some(&name), node_step_label(step), state, None, &detail);
        }
        Ok(())
    }
}
