//! The daemon's configuration: desired, running and rejected.

use std::collections::BTreeSet;

use ichor_bgp::agent::desired_state::DesiredState;
use ichor_bgp::agent::status::ReloadStatus;
use ichor_bgp::render::Service;
use ichor_values::SoftwareVersion;
use ipnet::IpNet;
use tokio::time::Instant;

use super::host::Rejection;
use super::rejected::RejectedConfig;
use ichor_system::now;

/// The state of the routing daemon.
#[derive(Debug, Default)]
pub(super) struct DaemonState {
    /// The release that is installed.
    pub version: Option<SoftwareVersion>,
    /// Whether it was started. It is supervised from then on.
    pub is_started: bool,
    /// The desired state under present conditions.
    pub desired: Option<DesiredState>,
    /// The running configuration; none while the daemon may run parts of two.
    pub service: Option<Service>,
    /// The last rejected configuration.
    pub rejected: Option<RejectedConfig>,
    /// The result of the last reload.
    pub reload: Option<ReloadStatus>,
    /// The end of the recovery, during which routes from before the start are kept.
    pub recovery: Option<Instant>,
    /// The prefixes last exported to GoBGP's neighbours.
    pub exported: BTreeSet<IpNet>,
    /// Routes that another program removed and the agent restored.
    pub restored: u64,
}

impl DaemonState {
    /// Whether the daemon must load `service`: it does not run it and has not rejected it recently.
    pub(super) fn needs(&self, service: &Service, now: Instant) -> bool {
        let rejected = self.rejected.as_ref().is_some_and(|it| it.matches(service) && !it.is_due(now));
        self.service.as_ref() != Some(service) && !rejected
    }

    /// Whether the rejected configuration is due for a retry.
    pub(super) fn is_retry_due(&self, now: Instant) -> bool {
        self.rejected.as_ref().is_some_and(|rejected| rejected.is_due(now))
    }

    /// Records that the daemon runs `service`.
    pub(super) fn accept(&mut self, service: Service) {
        self.service = Some(service);
        self.rejected = None;
        self.reload = Some(ReloadStatus { time: now(), refused: None, again: None });
    }

    /// Records that the daemon rejected `service`. A transient rejection is retried. The daemon may run parts of both
    /// configurations, so the next desired one is loaded in any case.
    pub(super) fn reject(&mut self, service: Service, rejection: Rejection) {
        let (clock, time) = (Instant::now(), now());
        let rejected = RejectedConfig::new(service, rejection.is_transient, self.rejected.take(), clock);
        let again = rejected.wait(clock).and_then(|wait| time.after(wait));
        self.reload = Some(ReloadStatus { time, refused: Some(rejection.reason), again });
        self.service = None;
        self.rejected = Some(rejected);
    }

    /// Records the parts of its configuration that a new daemon rejected.
    pub(super) fn record_rejection(&mut self, rejection: Option<Rejection>) {
        if let Some(rejection) = rejection
            && let Some(service) = self.service.take()
        {
            self.reject(service, rejection);
        }
    }

    /// Records that the agent's new configuration is invalid and the previous one stays in use.
    pub(super) fn keep_old(&mut self, reason: &str) {
        let refused = Some(format!("{reason}; keeping the previous configuration"));
        self.reload = Some(ReloadStatus { time: now(), refused, again: None });
    }

    /// Clears the rejection, because the agent's configuration has changed.
    pub(super) fn forget_rejection(&mut self) {
        self.rejected = None;
        if self.reload.as_ref().is_some_and(|reload| reload.refused.is_some()) {
            self.reload = Some(ReloadStatus { time: now(), refused: None, again: None });
        }
    }
}
