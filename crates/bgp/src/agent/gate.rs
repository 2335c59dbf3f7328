//! Whether anycast addresses are announced: a gate that moves only after several answers of one kind in a row.

use std::fmt;

use super::config::Health;

/// Where the gate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Anycast addresses are announced.
    Open,
    /// They are not.
    Shut,
}

impl fmt::Display for Position {
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
pub struct Gate {
    rise: u8,
    fall: u8,
    position: Position,
    /// Answers in a row that speak for the other position.
    against: u8,
}

impl Gate {
    /// A gate with the numbers of `health`; none of them is taken for less than one.
    pub fn new(health: &Health, begin: Position) -> Self {
        Self { rise: health.rise.max(1), fall: health.fall.max(1), position: begin, against: 0 }
    }

    /// Takes an answer in and says where the gate is now.
    pub fn hear(&mut self, good: bool) -> Position {
        let (needed, other) = match self.position {
            Position::Open => (self.fall, Position::Shut),
            Position::Shut => (self.rise, Position::Open),
        };
        let agrees = good == (self.position == Position::Open);
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
    use crate::agent::config::Probe;

    fn gate(rise: u8, fall: u8, begin: Position) -> Gate {
        Gate::new(&Health { rise, fall, ..Health::of(Probe::Tcp("127.0.0.1:6443".into())) }, begin)
    }

    fn hear(gate: &mut Gate, answers: &str) -> String {
        answers.chars().map(|it| if gate.hear(it == '+') == Position::Open { 'o' } else { 's' }).collect()
    }

    #[test]
    fn it_opens_after_two_good_answers_and_shuts_after_three_bad_ones() {
        let mut gate = gate(2, 3, Position::Shut);

        assert_eq!(hear(&mut gate, "+-++--+---+-++"), "sssoooooosssso");
    }

    #[test]
    fn it_begins_where_it_was() {
        assert_eq!(hear(&mut gate(2, 3, Position::Open), "--+"), "ooo");
        assert_eq!(gate(2, 3, Position::Open).position, Position::Open);
    }

    #[test]
    fn no_number_is_one() {
        assert_eq!(hear(&mut gate(0, 0, Position::Shut), "+-+"), "oso");
    }

    proptest! {
        #[test]
        fn it_moves_exactly_after_as_many_answers_in_a_row_as_are_asked_for(
            rise in 1..6u8, fall in 1..6u8, begin in any::<bool>(), answers in prop::collection::vec(any::<bool>(), 0..80),
        ) {
            let mut gate = gate(rise, fall, if begin { Position::Open } else { Position::Shut });
            let mut open = begin;
            let mut moved_at = 0;

            for (nth, &answer) in answers.iter().enumerate() {
                let needed = usize::from(if open { fall } else { rise });
                let row = answers[moved_at..=nth].iter().rev().take_while(|it| **it == answer).count();
                if answer != open && row >= needed {
                    (open, moved_at) = (answer, nth + 1);
                }

                prop_assert_eq!(gate.hear(answer) == Position::Open, open, "after answer {}", nth);
            }
        }

        #[test]
        fn answers_of_one_kind_settle_it_there_for_good(
            rise: u8, fall: u8, before in prop::collection::vec(any::<bool>(), 0..40), last: bool,
        ) {
            let mut gate = gate(rise, fall, Position::Shut);
            for answer in before {
                gate.hear(answer);
            }

            for _ in 0..255 {
                gate.hear(last);
            }

            prop_assert_eq!(gate.position == Position::Open, last);
        }
    }
}
