//! The health gate of anycast addresses: it changes only after several consecutive results of one kind.

use std::fmt;

use super::config::HealthCheck;

/// The state of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateState {
    /// Anycast addresses are announced.
    Open,
    /// Anycast addresses are withdrawn.
    Closed,
}

impl fmt::Display for GateState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Open => "open",
            Self::Closed => "shut",
        })
    }
}

/// The health gate of a node.
///
/// The caller decides on the initial state: closed on a node that boots; the previous one after a restart of the agent,
/// because a planned restart must not withdraw addresses for the time of two probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthGate {
    rise: u8,
    fall: u8,
    state: GateState,
    /// Consecutive results against the current state.
    against: u8,
}

impl HealthGate {
    /// A gate with the thresholds of `health`, each at least one.
    pub fn new(health: &HealthCheck, initial: GateState) -> Self {
        Self { rise: health.rise.max(1), fall: health.fall.max(1), state: initial, against: 0 }
    }

    /// Records a result and returns the new state.
    pub fn record(&mut self, good: bool) -> GateState {
        let (needed, other) = match self.state {
            GateState::Open => (self.fall, GateState::Closed),
            GateState::Closed => (self.rise, GateState::Open),
        };
        let agrees = good == (self.state == GateState::Open);
        self.against = if agrees { 0 } else { self.against + 1 };
        if self.against >= needed {
            (self.state, self.against) = (other, 0);
        }
        self.state
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::agent::config::HealthProbe;

    fn gate(rise: u8, fall: u8, initial: GateState) -> HealthGate {
        HealthGate::new(
            &HealthCheck { rise, fall, ..HealthCheck::new(HealthProbe::Tcp("127.0.0.1:6443".into())) },
            initial,
        )
    }

    fn record(gate: &mut HealthGate, answers: &str) -> String {
        answers.chars().map(|it| if gate.record(it == '+') == GateState::Open { 'o' } else { 's' }).collect()
    }

    #[test]
    fn the_gate_opens_after_two_successes_and_closes_after_three_failures() {
        let mut gate = gate(2, 3, GateState::Closed);

        assert_eq!(record(&mut gate, "+-++--+---+-++"), "sssoooooosssso");
    }

    #[test]
    fn a_gate_starts_in_its_initial_state() {
        assert_eq!(record(&mut gate(2, 3, GateState::Open), "--+"), "ooo");
        assert_eq!(gate(2, 3, GateState::Open).state, GateState::Open);
    }

    #[test]
    fn a_threshold_of_zero_counts_as_one() {
        assert_eq!(record(&mut gate(0, 0, GateState::Closed), "+-+"), "oso");
    }

    proptest! {
        #[test]
        fn the_gate_changes_exactly_at_the_threshold_of_consecutive_results(
            rise in 1..6u8, fall in 1..6u8, initial in any::<bool>(), answers in prop::collection::vec(any::<bool>(), 0..80),
        ) {
            let mut gate = gate(rise, fall, if initial { GateState::Open } else { GateState::Closed });
            let mut open = initial;
            let mut moved_at = 0;

            for (nth, &answer) in answers.iter().enumerate() {
                let needed = usize::from(if open { fall } else { rise });
                let row = answers[moved_at..=nth].iter().rev().take_while(|it| **it == answer).count();
                if answer != open && row >= needed {
                    (open, moved_at) = (answer, nth + 1);
                }

                prop_assert_eq!(gate.record(answer) == GateState::Open, open, "after answer {}", nth);
            }
        }

        #[test]
        fn a_constant_result_determines_the_state_of_the_gate(
            rise: u8, fall: u8, before in prop::collection::vec(any::<bool>(), 0..40), last: bool,
        ) {
            let mut gate = gate(rise, fall, GateState::Closed);
            for answer in before {
                gate.record(answer);
            }

            for _ in 0..255 {
                gate.record(last);
            }

            prop_assert_eq!(gate.state == GateState::Open, last);
        }
    }
}
