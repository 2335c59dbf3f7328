//! The events that the agent waits for.

use std::time::Duration;

use ichor_bgp::agent::status::AnycastStatus;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::RunError;
use super::host::{Host, HostEvent};
use crate::machined::LeaveReason;

/// The interval between polls.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// Something that the agent reacts to.
#[derive(Debug)]
pub(super) enum Event {
    /// Something happened on the node.
    Host(HostEvent),
    /// Talos reports that the node leaves, or no longer leaves.
    Leaving,
    /// The health check changed whether anycast addresses are announced.
    Anycast(AnycastStatus),
    /// The poll interval has elapsed.
    Tick,
    /// A signal.
    Request(SignalRequest),
}

/// A request by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignalRequest {
    /// Reload the configuration (SIGHUP).
    Reload,
    /// Stop the daemon and exit (SIGTERM, SIGINT).
    Stop,
}

/// The sources of events, apart from the host.
pub(super) struct Events {
    pub requests: mpsc::Receiver<SignalRequest>,
    pub leaving: watch::Receiver<Option<LeaveReason>>,
    pub anycast: watch::Receiver<AnycastStatus>,
    pub tick: Interval,
}

impl Events {
    pub(super) fn new(
        requests: mpsc::Receiver<SignalRequest>,
        leaving: watch::Receiver<Option<LeaveReason>>,
        anycast: watch::Receiver<AnycastStatus>,
    ) -> Self {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { requests, leaving, anycast, tick }
    }

    /// Waits for the next event and supervises the daemon meanwhile.
    pub(super) async fn next(&mut self, host: &mut impl Host) -> Event {
        tokio::select! {
            biased;
            Some(request) = self.requests.recv() => Event::Request(request),
            Ok(()) = self.leaving.changed() => Event::Leaving,
            Ok(()) = self.anycast.changed() => Event::Anycast(self.anycast.borrow_and_update().clone()),
            event = host.next_event() => Event::Host(event),
            _ = self.tick.tick() => Event::Tick,
        }
    }
}

/// Installs signal handlers and returns their requests.
pub(super) fn signals() -> Result<mpsc::Receiver<SignalRequest>, RunError> {
    let listen = |kind| signal(kind).map_err(RunError::Kernel);
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut hangup = listen(SignalKind::hangup())?;
    let (send, requests) = mpsc::channel(8);
    tokio::spawn(async move {
        loop {
            let request = tokio::select! {
                _ = terminate.recv() => SignalRequest::Stop,
                _ = interrupt.recv() => SignalRequest::Stop,
                _ = hangup.recv() => SignalRequest::Reload,
            };
            if send.send(request).await.is_err() {
                return;
            }
        }
    });
    Ok(requests)
}
