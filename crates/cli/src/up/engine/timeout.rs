//! Timeouts of nodes and of the run.

use ichor_core::bringup::{Blocker, BringupDecision, NextStep};

use super::Engine;

impl Engine {
    /// Fails nodes without progress for `node_timeout`.
    pub(super) fn fail_stalled_nodes(&mut self, decision: &BringupDecision) {
        for (nth, next) in decision.nodes.iter().enumerate() {
            let stalled_since = self.progress[nth]
                .stalled_since
                .is_some_and(|stalled_since| stalled_since.elapsed() >= self.inputs.node_timeout);
            if next.is_over() || self.observed.nodes[nth].busy || !stalled_since {
                continue;
            }
            let reason = match next {
                NextStep::Wait(wait) => wait.reason.clone(),
                _ => self.progress[nth].retries.message.clone(),
            };
            self.fail_stalled_node(nth, &reason);
        }
    }

    fn fail_stalled_node(&mut self, nth: usize, reason: &str) {
        let contacts = self.inputs.targets[nth].contacts();
        let tried: Vec<_> = contacts.iter().map(ToString::to_string).collect();
        let addresses = if tried.is_empty() {
            "no address is known".to_owned()
        } else {
            format!("tried {}", tried.join(", "))
        };
        let seconds = self.inputs.node_timeout.as_secs();
        let reason = format!("timed out after {seconds} s waiting for {reason}; {addresses}");
        let remedy = "check the console of the node, then run `ichor up` again, with `--node-address` if the address differs; finished steps are recorded";
        let at = self.observed.nodes[nth].at;
        self.observed.nodes[nth].failed = Some(Blocker::new(at, reason, remedy));
    }

    /// Fails everything that is not finished.
    pub(super) fn fail_remaining(&mut self, decision: &BringupDecision, why: &str) {
        let remedy = "run `ichor up` again, with a longer `--timeout` if needed; finished steps are recorded";
        for (nth, next) in decision.nodes.iter().enumerate().filter(|(_, next)| !next.is_over()) {
            let waits = match next {
                NextStep::Wait(wait) => format!("{why} while waiting for {}", wait.reason),
                _ => why.to_owned(),
            };
            self.observed.nodes[nth].failed = Some(Blocker::new(self.observed.nodes[nth].at, waits, remedy));
        }
        if !decision.cluster.is_over() {
            self.observed.cluster.failed = Some(Blocker::new(None, why, remedy));
        }
    }
}
