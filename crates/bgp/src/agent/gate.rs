//! Whether anycast addresses are announced: a gate that moves only after several answers of one kind in a row.

use std::fmt;

use super::config::HealthCheck;

/// Where the gate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateState {
    /// Anycast addresses are announced.
    Open,
    /// They are not.
    Shut,
}

impl fmt::Display for GateState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Open => "open",
            Self::Shut => "shut",
        })
    }
}

/// The gate of a node.
///
/// It begins where its maker says: shut on a node that boots; where it was on an agent that restarts, since an announcement
/// that ends for two answers is what a planned restart must not cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthGate {
    rise: u8,
    fall: u8,
    position: GateState,
    /// Answers in a row that speak for the other position.
    against: u8,
}

impl HealthGate {
    /// A gate with the numbers of `health`; none of them is taken for less than one.
    pub fn new(health: &HealthCheck, begin: GateState) -> Self {
        Self { rise: health.rise.max(1), fall: health.fall.max(1), position: begin, against: 0 }
    }

    /// Takes an answer in and says where the gate is now.
    pub fn hear(&mut self, good: bool) -> GateState {
        let (needed, other) = match self.position {
            GateState::Open => (self.fall, GateState::Shut),
            GateState::Shut => (self.rise, GateState::Open),
        };
        let agrees = good == (self.position == GateState::Open);
        self.against = if agrees { 0 } else { self.against + 1 };
        if self.against >= needed {
            (self.position, self.against) = (other, 0);
        }
        self.position
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::agent::config::HealthProbe;

    fn gate(rise: u8, fall: u8, begin: GateState) -> HealthGate {
        HealthGate::new(
            &HealthCheck { rise, fall, ..HealthCheck::of(HealthProbe::Tcp("127.0.0.1:6443".into())) },
            begin,
        )
    }

    fn hear(gate: &mut HealthGate, answers: &str) -> String {
        answers.chars().map(|it| if gate.hear(it == '+') == GateState::Open { 'o' } else { 's' }).collect()
    }

    #[test]
    fn it_opens_after_two_good_answers_and_shuts_after_three_bad_ones() {
        let mut gate = gate(2, 3, GateState::Shut);

        assert_eq!(hear(&mut gate, "+-++--+---+-++"), "sssoooooosssso");
    }

    #[test]
    fn it_begins_where_it_was() {
        assert_eq!(hear(&mut gate(2, 3, GateState::Open), "--+"), "ooo");
        assert_eq!(gate(2, 3, GateState::Open).position, GateState::Open);
    }

    #[test]
    fn no_number_is_one() {
        assert_eq!(hear(&mut gate(0, 0, GateState::Shut), "+-+"), "oso");
    }

    proptest! {
        #[test]
        fn it_moves_exactly_after_as_many_answers_in_a_row_as_are_asked_for(
            rise in 1..6u8, fall in 1..6u8, begin in any::<bool>(), answers in prop::collection::vec(any::<bool>(), 0..80),
        ) {
            let mut gate = gate(rise, fall, if begin { GateState::Open } else { GateState::Shut });
            let mut open = begin;
            let mut moved_at = 0;

            for (nth, &answer) in answers.iter().enumerate() {
                let needed = usize::from(if open { fall } else { rise });
                let row = answers[moved_at..=nth].iter().rev().take_while(|it| **it == answer).count();
                if answer != open && row >= needed {
                    (open, moved_at) = (answer, nth + 1);
                }

                prop_assert_eq!(gate.hear(answer) == GateState::Open, open, "after answer {}", nth);
            }
        }

        #[test]
        fn answers_of_one_kind_settle_it_there_for_good(
            rise: u8, fall: u8, before in prop::collection::vec(any::<bool>(), 0..40), last: bool,
        ) {
            let mut gate = gate(rise, fall, GateState::Shut);
            for answer in before {
                gate.hear(answer);
            }

            for _ in 0..255 {
                gate.hear(last);
            }

            prop_assert_eq!(gate.position == GateState::Open, last);
        }
    }
}
