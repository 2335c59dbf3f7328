//! Outages: intervals in which a sequence of echo requests had no replies.

use serde::Serialize;

/// An echo request: when it was sent, and whether it was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoSample {
    /// The time at which it was sent, in milliseconds.
    pub at: u64,
    /// Whether it was answered.
    pub answered: bool,
}

/// An interval without replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LossInterval {
    /// The time of the first request without a reply.
    pub start: u64,
    /// The time until the next answered request, or until the last request if none was answered.
    pub length: u64,
}

/// The intervals without replies, in order.
pub fn loss_intervals(samples: &[EchoSample]) -> Vec<LossInterval> {
    let mut intervals = Vec::new();
    let mut lost: Option<u64> = None;
    for sample in samples {
        match (lost, sample.answered) {
            (None, false) => lost = Some(sample.at),
            (Some(start), true) => {
                intervals.push(LossInterval { start, length: sample.at - start });
                lost = None;
            }
            _ => {}
        }
    }
    if let (Some(start), Some(last)) = (lost, samples.last()) {
        intervals.push(LossInterval { start, length: last.at - start });
    }
    intervals
}

/// The longest interval without replies that began at `since` or later.
pub fn longest_since(samples: &[EchoSample], since: u64) -> Option<LossInterval> {
    loss_intervals(samples).into_iter().filter(|gap| gap.start >= since).max_by_key(|gap| gap.length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(marks: &str) -> Vec<EchoSample> {
        (0..)
            .zip(marks.bytes())
            .map(|(nth, byte)| EchoSample { at: nth * 10, answered: byte == b'!' })
            .collect()
    }

    #[test]
    fn a_loss_interval_ends_with_the_next_answered_packet() {
        assert_eq!(
            loss_intervals(&samples("!!...!.!")),
            [LossInterval { start: 20, length: 30 }, LossInterval { start: 60, length: 10 }]
        );
    }

    #[test]
    fn an_open_loss_interval_ends_with_the_last_packet() {
        assert_eq!(loss_intervals(&samples("!....")), [LossInterval { start: 10, length: 30 }]);
    }

    #[test]
    fn earlier_losses_do_not_count() {
        let samples = samples("!.....!..!!");

        assert_eq!(longest_since(&samples, 60), Some(LossInterval { start: 70, length: 20 }));
        assert_eq!(longest_since(&samples, 90), None);
    }
}
