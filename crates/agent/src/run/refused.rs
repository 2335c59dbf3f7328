//! What the daemon did not take, and when it is told once more.

use std::time::Duration;

use ichor_bgp::render::Service;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// Times in a row that the same is told again: some four minutes.
const TRIES: u32 = 12;

/// A configuration that the daemon refused.
#[derive(Debug)]
pub(super) struct Refused {
    service: Service,
    /// Times that it was told again.
    tries: u32,
    again: Option<Instant>,
}

impl Refused {
    /// One that was refused now; `passes` when what was in the way passes. The same that was refused before is told later and
    /// later, and not for ever.
    pub(super) fn new(service: Service, passes: bool, before: Option<Self>, now: Instant) -> Self {
        let before = before.filter(|before| before.is(&service) && before.again.is_some());
        let tries = before.map_or(0, |before| before.tries + 1);
        let wait = FIRST.saturating_mul(1 << tries.min(16)).min(LONGEST);
        Self { service, tries, again: (passes && tries < TRIES).then(|| now + wait) }
    }

    /// Whether it is this one.
    pub(super) fn is(&self, service: &Service) -> bool {
        self.service == *service
    }

    /// Whether it is time to tell it again.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.again.is_some_and(|again| again <= now)
    }

    /// The time until it is told again; none when it is not.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        self.again.map(|again| again.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(name: &'static str) -> Service {
        Service { name, version: (10, 3), folder: "/etc", files: Vec::new() }
    }

    #[test]
    fn what_passes_is_told_again_later_and_later_and_not_for_ever() {
        let now = Instant::now();
        let mut refused = Refused::new(service("frr"), true, None, now);
        let mut waits = Vec::new();

        while let Some(wait) = refused.wait(now) {
            assert!(!refused.is_due(now) && refused.is_due(now + wait));
            waits.push(wait.as_secs());
            refused = Refused::new(service("frr"), true, Some(refused), now);
        }

        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30, 30]);
        assert!(!refused.is_due(now + LONGEST * 100));
    }

    #[test]
    fn what_is_wrong_is_not_told_again() {
        let now = Instant::now();

        let refused = Refused::new(service("frr"), false, None, now);

        assert_eq!(refused.wait(now), None);
        assert!(refused.is(&service("frr")) && !refused.is(&service("bird")));
    }

    #[test]
    fn another_configuration_begins_anew() {
        let now = Instant::now();
        let first = Refused::new(service("frr"), true, None, now);
        let second = Refused::new(service("frr"), true, Some(first), now);

        let other = Refused::new(service("bird"), true, Some(second), now);

        assert_eq!(other.wait(now), Some(FIRST));
    }
}
