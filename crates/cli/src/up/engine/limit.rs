//! The end of patience.

use ichor_core::bringup::{Blocker, Decision, Next};

use super::Engine;

impl Engine {
    /// Gives nodes up that stand still.
    pub(super) fn out_of_time(&mut self, decision: &Decision) {
        for (nth, next) in decision.nodes.iter().enumerate() {
            let still =
                self.progress[nth].still.is_some_and(|still| still.elapsed() >= self.tools.node_timeout);
            if next.is_over() || self.seen.nodes[nth].busy || !still {
                continue;
            }
            let waited = match next {
                Next::Wait(wait) => wait.reason.clone(),
                _ => self.progress[nth].tries.said.clone(),
            };
            self.time_is_over(nth, &waited);
        }
    }

    fn time_is_over(&mut self, nth: usize, waited: &str) {
        let contacts = self.tools.subjects[nth].contacts();
        let tried: Vec<_> = contacts.iter().map(ToString::to_string).collect();
        let place = if tried.is_empty() {
            "no address of it is known".to_owned()
        } else {
            format!("tried {}", tried.join(", "))
        };
        let seconds = self.tools.node_timeout.as_secs();
        let reason = format!("waited {seconds} s for {waited}; {place}");
        let remedy = "see its console; what is done is recorded: run `ichor up` again, with `--node-address` if it answers elsewhere";
        let at = self.seen.nodes[nth].at;
        self.seen.nodes[nth].failed = Some(Blocker::new(at, reason, remedy));
    }

    /// Gives everything up that is not over.
    pub(super) fn give_up(&mut self, decision: &Decision, why: &str) {
        let remedy = "what is done is recorded: run `ichor up` again, with a longer `--timeout` if need be";
        for (nth, next) in decision.nodes.iter().enumerate().filter(|(_, next)| !next.is_over()) {
            let waits = match next {
                Next::Wait(wait) => format!("{why}; it waited for {}", wait.reason),
                _ => why.to_owned(),
            };
            self.seen.nodes[nth].failed = Some(Blocker::new(self.seen.nodes[nth].at, waits, remedy));
        }
        if !decision.cluster.is_over() {
            self.seen.cluster.failed = Some(Blocker::new(None, why, remedy));
        }
    }
}
