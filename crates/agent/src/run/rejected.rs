//! A rejected configuration, and when it is retried.

use std::time::Duration;

use ichor_bgp::render::Service;
use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);
/// The maximum number of retries of the same configuration: about four minutes.
const TRIES: u32 = 12;

/// A configuration that the daemon rejected.
#[derive(Debug)]
pub(super) struct RejectedConfig {
    service: Service,
    /// The number of retries.
    tries: u32,
    again: Option<Instant>,
}

impl RejectedConfig {
    /// Records a rejection. A transient one is retried with backoff, a limited number of times.
    pub(super) fn new(service: Service, is_transient: bool, before: Option<Self>, now: Instant) -> Self {
        let before = before.filter(|before| before.matches(&service) && before.again.is_some());
        let tries = before.map_or(0, |before| before.tries + 1);
        let wait = FIRST.saturating_mul(1 << tries.min(16)).min(LONGEST);
        Self { service, tries, again: (is_transient && tries < TRIES).then(|| now + wait) }
    }

    /// Whether `service` is the rejected one.
    pub(super) fn matches(&self, service: &Service) -> bool {
        self.service == *service
    }

    /// Whether a retry is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.again.is_some_and(|again| again <= now)
    }

    /// The time until the next retry; none if there is no other.
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
    fn transient_rejections_are_retried_with_backoff_and_a_limit() {
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
    fn permanent_rejections_are_not_retried() {
        let now = Instant::now();

        let refused = RejectedConfig::new(service("frr"), false, None, now);

        assert_eq!(refused.wait(now), None);
        assert!(refused.matches(&service("frr")) && !refused.matches(&service("bird")));
    }

    #[test]
    fn the_backoff_of_another_configuration_starts_from_zero() {
        let now = Instant::now();
        let first = RejectedConfig::new(service("frr"), true, None, now);
        let second = RejectedConfig::new(service("frr"), true, Some(first), now);

        let other = RejectedConfig::new(service("bird"), true, Some(second), now);

        assert_eq!(other.wait(now), Some(FIRST));
    }
}
