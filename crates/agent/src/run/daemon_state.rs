//! What the agent knows of the daemon's configuration: desired, running and rejected.

use std::collections::BTreeSet;

use ichor_bgp::agent::scene::Scene;
use ichor_bgp::agent::status::Reload;
use ichor_bgp::render::Service;
use ichor_values::SoftwareVersion;
use ipnet::IpNet;
use tokio::time::Instant;

use super::host::Rejection;
use super::rejected::RejectedConfig;
use ichor_system::now;

/// The routing daemon, as the agent last left it.
#[derive(Debug, Default)]
pub(super) struct DaemonState {
    /// The release that is installed.
    pub version: Option<SoftwareVersion>,
    /// Whether it was started. From then on it is supervised.
    pub is_started: bool,
    /// What it should do under the present conditions.
    pub desired: Option<Scene>,
    /// The configuration that it runs; none while it may run parts of two.
    pub service: Option<Service>,
    /// The configuration that it rejected last.
    pub rejected: Option<RejectedConfig>,
    /// The outcome of the last change of its configuration.
    pub reload: Option<Reload>,
    /// Until when routes from before its start are kept.
    pub recovery: Option<Instant>,
    /// The prefixes that GoBGP's neighbours were last sent.
    pub exported: BTreeSet<IpNet>,
    /// Routes that another program removed and the agent restored.
    pub restored: u64,
}

impl DaemonState {
    /// Whether the daemon is to be given `service`: it does not run it, and has not rejected it just now.
    pub(super) fn needs(&self, service: &Service, now: Instant) -> bool {
        let rejected = self.rejected.as_ref().is_some_and(|it| it.is(service) && !it.is_due(now));
        self.service.as_ref() != Some(service) && !rejected
    }

    /// Whether it is time to try the rejected configuration again.
    pub(super) fn is_retry_due(&self, now: Instant) -> bool {
        self.rejected.as_ref().is_some_and(|rejected| rejected.is_due(now))
    }

    /// Records that the daemon runs `service`.
    pub(super) fn accept(&mut self, service: Service) {
        self.service = Some(service);
        self.rejected = None;
        self.reload = Some(Reload { time: now(), refused: None, again: None });
    }

    /// Records that the daemon did not take `service`. A transient rejection is retried. The daemon may run parts of both
    /// configurations, so it is given whatever is desired next, also the one it had before.
    pub(super) fn reject(&mut self, service: Service, rejection: Rejection) {
        let (clock, time) = (Instant::now(), now());
        let rejected = RejectedConfig::new(service, rejection.is_transient, self.rejected.take(), clock);
        let again = rejected.wait(clock).and_then(|wait| time.after(wait));
        self.reload = Some(Reload { time, refused: Some(rejection.reason), again });
        self.service = None;
        self.rejected = Some(rejected);
    }

    /// Records what a daemon that was just started did not take.
    pub(super) fn record_rejection(&mut self, rejection: Option<Rejection>) {
        if let Some(rejection) = rejection
            && let Some(service) = self.service.take()
        {
            self.reject(service, rejection);
        }
    }

    /// Records that the agent's own new configuration cannot be used.
    pub(super) fn keep_old(&mut self, reason: &str) {
        let refused = Some(format!("{reason}; the old one runs on"));
        self.reload = Some(Reload { time: now(), refused, again: None });
    }

    /// Forgets what was rejected: the agent's own configuration is another now.
    pub(super) fn forget_rejection(&mut self) {
        self.rejected = None;
        if self.reload.as_ref().is_some_and(|reload| reload.refused.is_some()) {
            self.reload = Some(Reload { time: now(), refused: None, again: None });
        }
    }
}
