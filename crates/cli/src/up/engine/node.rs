//! Steps of a node: written down, begun, and what came of them.

use std::sync::Arc;

use ichor_core::bringup::{Applied, Look, NodeStep};
use tokio::time::{self, Instant};

use super::tries::Tries;
use super::{Engine, Told};
use crate::up::act::{self, Ended};
use crate::up::machine;
use crate::up::place::PlaceError;
use crate::up::tell::State;
use crate::up::words::word;

impl Engine {
    /// Writes down what is about to be done; false where that need not be.
    pub(super) fn intend(&mut self, nth: usize, step: NodeStep) -> bool {
        let node = &self.wanted.nodes[nth];
        match (step, &self.seen.nodes[nth].look) {
            (NodeStep::Apply, Some(Look::Maintenance(facts))) => {
                let applied =
                    Applied { config: node.config.clone(), machine: facts.clone(), at: ichor_system::now() };
                self.record.nodes.entry(node.name.clone()).or_default().applied = Some(applied);
            }
            (NodeStep::Attach, _) => self.record.nodes.entry(node.name.clone()).or_default().media = true,
            _ => return false,
        }
        true
    }

    /// Begins a step of a node.
    pub(super) fn begin(&mut self, nth: usize, step: NodeStep) {
        let seen = &mut self.seen.nodes[nth];
        seen.busy = true;
        let at = seen.at.filter(|_| matches!(step, NodeStep::Apply | NodeStep::Reconfigure));
        let name = self.wanted.nodes[nth].name.clone();
        if self.progress[nth].tries.count == 0 {
            self.teller.step(Some(&name), word(step), State::Begun, at, "");
        }
        self.teller.doing(&name, Some(word(step)));
        let subject = Arc::clone(&self.tools.subjects[nth]);
        let machine = self.tools.machines[nth].clone();
        let (tell, look) = (self.tell.clone(), seen.look.clone());
        let pause = self.progress[nth].tries.pause();
        tokio::spawn(async move {
            let result = match (step, at, look, machine) {
                (NodeStep::Apply, Some(at), Some(Look::Maintenance(facts)), _) => {
                    act::apply(&subject, at, &facts).await
                }
                (NodeStep::Reconfigure, Some(at), ..) => act::reconfigure(&subject, at).await,
                (step, _, _, Some(machine)) => {
                    let said = tell.clone();
                    machine
                        .act(step, move |text| drop(said.send(Told::Said(Some(nth), text))))
                        .await
                        .map(|()| Vec::new())
                }
                _ => Err(Ended::Later("it is gone".to_owned())),
            };
            if matches!(result, Err(Ended::Later(_) | Ended::Unknown(_))) {
                time::sleep(pause).await;
            }
            let _ = tell.send(Told::Node(nth, step, result));
        });
    }

    /// Hears how a step of a node ended.
    pub(super) fn stepped(
        &mut self,
        nth: usize,
        step: NodeStep,
        result: Result<Vec<String>, Ended>,
    ) -> Result<(), PlaceError> {
        let name = self.wanted.nodes[nth].name.clone();
        let seen = &mut self.seen.nodes[nth];
        seen.busy = false;
        let progress = &mut self.progress[nth];
        let mut new = true;
        let (state, said) = match result {
            Ok(warnings) => {
                (progress.tries, progress.still) = (Tries::default(), Some(Instant::now()));
                match step {
                    NodeStep::Make => seen.machine = seen.machine.map(machine::made),
                    NodeStep::Attach => seen.attached = true,
                    NodeStep::Start => seen.machine = seen.machine.map(machine::started),
                    NodeStep::Apply => (seen.applied, seen.left) = (seen.applied + 1, false),
                    NodeStep::Reconfigure => seen.reconfigured = true,
                    NodeStep::Eject => self.record.nodes.entry(name.clone()).or_default().media = false,
                }
                (State::Done, warnings.join("; "))
            }
            Err(Ended::Later(reason) | Ended::Unknown(reason)) => {
                new = progress.tries.again(&reason);
                (State::Again, reason)
            }
            Err(Ended::Refused(blocker)) => {
                let reason = blocker.issue.message.clone();
                seen.failed = Some(blocker);
                (State::Failed, reason)
            }
        };
        // What was seen before is old.
        if matches!(step, NodeStep::Apply | NodeStep::Reconfigure) {
            seen.look = None;
            self.epochs[nth] = self.bells[nth].ring();
        }
        if step == NodeStep::Eject && state == State::Done {
            self.place.write(&self.record)?;
        }
        if new {
            self.teller.step(Some(&name), word(step), state, None, &said);
        }
        Ok(())
    }
}
