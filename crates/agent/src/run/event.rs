//! What the loop waits for.

use std::time::Duration;

use ichor_bgp::agent::status::Anycast;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::RunError;
use super::host::{Host, HostEvent};
use crate::machined::Leaving;

/// Between two polls of everything.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// Something that the agent reacts to.
#[derive(Debug)]
pub(super) enum Event {
    /// Something happened on the node.
    Host(HostEvent),
    /// Talos reports that the node leaves, or that it does not.
    Leaving,
    /// The health check opened or closed the gate of anycast addresses.
    Anycast(Anycast),
    /// A second went by.
    Tick,
    /// A signal.
    Request(Request),
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Load the configuration again (SIGHUP).
    Reload,
    /// Stop the daemon and end (SIGTERM, SIGINT).
    Stop,
}

/// Everything that the agent waits for, beside the node itself.
pub(super) struct Events {
    pub requests: mpsc::Receiver<Request>,
    pub leaving: watch::Receiver<Option<Leaving>>,
    pub anycast: watch::Receiver<Anycast>,
    pub tick: Interval,
}

impl Events {
    pub(super) fn new(
        requests: mpsc::Receiver<Request>,
        leaving: watch::Receiver<Option<Leaving>>,
        anycast: watch::Receiver<Anycast>,
    ) -> Self {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { requests, leaving, anycast, tick }
    }

    /// The next event. The daemon is supervised meanwhile.
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

/// The signals of this process, as requests from now on.
pub(super) fn signals() -> Result<mpsc::Receiver<Request>, RunError> {
    let listen = |kind| signal(kind).map_err(RunError::Kernel);
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut hangup = listen(SignalKind::hangup())?;
    let (send, requests) = mpsc::channel(8);
    tokio::spawn(async move {
        loop {
            let request = tokio::select! {
                _ = terminate.recv() => Request::Stop,
                _ = interrupt.recv() => Request::Stop,
                _ = hangup.recv() => Request::Reload,
            };
            if send.send(request).await.is_err() {
                return;
            }
        }
    });
    Ok(requests)
}
