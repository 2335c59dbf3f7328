//! Packets that were sent one after the other, and how long none came back.

use serde::Serialize;

/// A packet that was sent: when, in milliseconds, and whether its answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoSample {
    /// When it was sent.
    pub at: u64,
    /// Whether it was answered.
    pub answered: bool,
}

/// A time without answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LossInterval {
    /// When the first packet was sent that nobody answered.
    pub start: u64,
    /// How long it took until one was sent that was answered; until the last one, where none was.
    pub length: u64,
}

/// The times without answers, in their order.
pub fn gaps(samples: &[EchoSample]) -> Vec<LossInterval> {
    let mut gaps = Vec::new();
    let mut lost: Option<u64> = None;
    for sample in samples {
        match (lost, sample.answered) {
            (None, false) => lost = Some(sample.at),
            (Some(start), true) => {
                gaps.push(LossInterval { start, length: sample.at - start });
                lost = None;
            }
            _ => {}
        }
    }
    if let (Some(start), Some(last)) = (lost, samples.last()) {
        gaps.push(LossInterval { start, length: last.at - start });
    }
    gaps
}

/// The longest time without answers that began at a moment or later.
pub fn longest_since(samples: &[EchoSample], since: u64) -> Option<LossInterval> {
    gaps(samples).into_iter().filter(|gap| gap.start >= since).max_by_key(|gap| gap.length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(told: &str) -> Vec<EchoSample> {
        (0..)
            .zip(told.bytes())
            .map(|(nth, byte)| EchoSample { at: nth * 10, answered: byte == b'!' })
            .collect()
    }

    #[test]
    fn a_gap_lasts_until_the_next_packet_that_is_answered() {
        assert_eq!(
            gaps(&samples("!!...!.!")),
            [LossInterval { start: 20, length: 30 }, LossInterval { start: 60, length: 10 }]
        );
    }

    #[test]
    fn a_gap_without_an_end_lasts_until_the_last_packet() {
        assert_eq!(gaps(&samples("!....")), [LossInterval { start: 10, length: 30 }]);
    }

    #[test]
    fn what_was_lost_before_does_not_count() {
        let samples = samples("!.....!..!!");

        assert_eq!(longest_since(&samples, 60), Some(LossInterval { start: 70, length: 20 }));
        assert_eq!(longest_since(&samples, 90), None);
    }
}
