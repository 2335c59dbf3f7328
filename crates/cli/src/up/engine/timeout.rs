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
            if next.is_over() || self.seen.nodes[nth].busy || !stalled_since {
                continue;
            }
            let waited = match next {
                NextStep::Wait(wait) => wait.reason.clone(),
                _ => self.progress[nth].retries.said.clone(),
            };
            self.fail_stalled_node(nth, &waited);
        }
    }

    fn fail_stalled_node(&mut self, nth: usize, waited: &str) {
        let contacts = self.inputs.targets[nth].contacts();
        let tried: Vec<_> = contacts.iter().map(ToString::to_string).collect();
        let place = if tried.is_empty() {
            "no address is known".to_owned()
        } else {
            format!("tried {}", tried.join(", "))
        };
        let seconds = self.inputs.node_timeout.as_secs();
        let reason = format!("timed out after {seconds} s waiting for {waited}; {place}");
        let remedy = "check its console, then run `ichor up` again, with `--node-address` if it has another address; finished steps are recorded";
        let at = self.seen.nodes[nth].at;
        self.seen.nodes[nth].failed = Some(Blocker::new(at, reason, remedy));
    }

    /// Fails everything that is not finished.
    pub(super) fn fail_remaining(&mut self, decision: &BringupDecision, why: &str) {
        let remedy = "run `ichor up` again, with a longer `--timeout` if needed; finished steps are recorded";
        for (nth, next) in decision.nodes.iter().enumerate().filter(|(_, next)| !next.is_over()) {
            let waits = match next {
                NextStep::Wait(wait) => format!("{why} while waiting for {}", wait.reason),
                _ => why.to_owned(),
            };
            self.seen.nodes[nth].failed = Some(Blocker::new(self.seen.nodes[nth].at, waits, remedy));
        }
        if !decision.cluster.is_over() {
            self.seen.cluster.failed = Some(Blocker::new(None, why, remedy));
        }
    }
}
