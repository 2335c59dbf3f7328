//! A configuration that the daemon rejected, and when it is tried again.

use std::time::Duration;

use ichor_bgp::render::Service;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// Attempts in a row with the same configuration: some four minutes.
const TRIES: u32 = 12;

/// A configuration that the daemon rejected.
#[derive(Debug)]
pub(super) struct RejectedConfig {
    service: Service,
    /// How often it was tried again.
    tries: u32,
    again: Option<Instant>,
}

impl RejectedConfig {
    /// One that was rejected now. After a transient reason it is tried again with growing pauses, and not endlessly.
    pub(super) fn new(service: Service, is_transient: bool, before: Option<Self>, now: Instant) -> Self {
        let before = before.filter(|before| before.is(&service) && before.again.is_some());
        let tries = before.map_or(0, |before| before.tries + 1);
        let wait = FIRST.saturating_mul(1 << tries.min(16)).min(LONGEST);
        Self { service, tries, again: (is_transient && tries < TRIES).then(|| now + wait) }
    }

    /// Whether `service` is the rejected one.
    pub(super) fn is(&self, service: &Service) -> bool {
        self.service == *service
    }

    /// Whether it is time to try it again.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.again.is_some_and(|again| again <= now)
    }

    /// The time until it is tried again; none when it is not.
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
        let mut refused = RejectedConfig::new(service("frr"), true, None, now);
        let mut waits = Vec::new();

        while let Some(wait) = refused.wait(now) {
            assert!(!refused.is_due(now) && refused.is_due(now + wait));
            waits.push(wait.as_secs());
            refused = RejectedConfig::new(service("frr"), true, Some(refused), now);
        }

        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 30, 30, 30, 30, 30]);
        assert!(!refused.is_due(now + LONGEST * 100));
    }

    #[test]
    fn what_is_wrong_is_not_told_again() {
        let now = Instant::now();

        let refused = RejectedConfig::new(service("frr"), false, None, now);

        assert_eq!(refused.wait(now), None);
        assert!(refused.is(&service("frr")) && !refused.is(&service("bird")));
    }

    #[test]
    fn another_configuration_begins_anew() {
        let now = Instant::now();
        let first = RejectedConfig::new(service("frr"), true, None, now);
        let second = RejectedConfig::new(service("frr"), true, Some(first), now);

        let other = RejectedConfig::new(service("bird"), true, Some(second), now);

        assert_eq!(other.wait(now), Some(FIRST));
    }
}
