//! What the agent waits for.

use std::collections::BTreeSet;
use std::time::Duration;

use ichor_bgp::agent::status::Anycast;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::RunError;
use super::agent::Agent;
use super::ears::Heard;
use crate::daemon::Any;
use crate::daemon::gobgp::api::Changes;
use crate::kernel::{Change, Watch, number};
use crate::machined::Leaving;
use crate::say;

/// Between two looks at everything.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// Something happened.
#[derive(Debug)]
pub(super) enum Event {
    /// The kernel has something new.
    Kernel(BTreeSet<Change>),
    /// A router spoke.
    Heard(Heard),
    /// Something was wrong with a process, and was put right.
    Healed(String),
    /// The table of a daemon that installs no routes changed.
    Paths,
    /// Talos says that the node leaves, or that it does not.
    Leaving,
    /// The health check says whether anycast addresses are announced.
    Anycast(Anycast),
    /// Some time went by.
    Tick,
    /// The configuration is to be read again.
    Reread,
    /// The agent is to end.
    End,
}

/// All that can happen.
pub(super) struct Events {
    watch: Watch,
    heard: mpsc::Receiver<Heard>,
    leaving: watch::Receiver<Option<Leaving>>,
    anycast: watch::Receiver<Anycast>,
    tick: Interval,
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    paths: Option<Changes>,
    inside: Option<Inside>,
}

/// The namespace of the link to the speaker.
struct Inside {
    /// The kernel's number of it.
    number: u64,
    /// Of its links: routes and neighbours there are the daemon's.
    watch: Watch,
}

impl Events {
    /// Listens for everything.
    pub(super) fn open(agent: &Agent, heard: mpsc::Receiver<Heard>) -> Result<Self, RunError> {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let on = |kind| signal(kind).map_err(RunError::Kernel);
        let (leaving, anycast) = agent.told();
        Ok(Self {
            watch: Watch::open().map_err(RunError::Kernel)?,
            heard,
            leaving,
            anycast,
            tick,
            terminate: on(SignalKind::terminate())?,
            interrupt: on(SignalKind::interrupt())?,
            hangup: on(SignalKind::hangup())?,
            paths: None,
            inside: None,
        })
    }

    /// The next thing that happens. The daemon is looked after meanwhile.
    pub(super) async fn next(&mut self, daemon: Option<&mut Any>) -> Event {
        let tend = async {
            match daemon {
                Some(daemon) => daemon.tend().await,
                None => std::future::pending().await,
            }
        };
        let paths = async {
            match &mut self.paths {
                Some(paths) => paths.next().await,
                None => std::future::pending().await,
            }
        };
        let inside = async {
            match &mut self.inside {
                Some(inside) => inside.watch.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = self.terminate.recv() => Event::End,
            _ = self.interrupt.recv() => Event::End,
            _ = self.hangup.recv() => Event::Reread,
            Ok(()) = self.leaving.changed() => Event::Leaving,
            Ok(()) = self.anycast.changed() => Event::Anycast(self.anycast.borrow_and_update().clone()),
            why = tend => Event::Healed(why),
            Some(heard) = self.heard.recv() => Event::Heard(heard),
            changes = self.watch.next() => Event::Kernel(self.kernel(changes)),
            told = inside => {
                if told.is_err() {
                    self.inside = None;
                }
                Event::Kernel(BTreeSet::from([Change::Links]))
            }
            told = paths => {
                if told.is_err() {
                    self.paths = None;
                }
                Event::Paths
            }
            _ = self.tick.tick() => Event::Tick,
        }
    }

    /// What changed; where the kernel does not tell any more, anything may have.
    fn kernel(&mut self, changes: std::io::Result<BTreeSet<Change>>) -> BTreeSet<Change> {
        changes.unwrap_or_else(|error| {
            say::error(format_args!("{error}; everything is looked at again"));
            match Watch::open() {
                Ok(watch) => self.watch = watch,
                Err(error) => say::error(format_args!("cannot listen to the kernel: {error}")),
            }
            BTreeSet::from(Change::ALL)
        })
    }

    /// Listens to what is there only since something was done.
    pub(super) async fn follow(&mut self, agent: &mut Agent) {
        self.enter(agent.namespace());
        if self.paths.is_none()
            && let Some(daemon) = agent.daemon()
        {
            self.paths = daemon.changes().await.ok().flatten();
        }
    }

    /// Listens to the kernel in a namespace. One that is gone is let go: it lasts as long as somebody listens.
    fn enter(&mut self, name: Option<&str>) {
        let number = name.and_then(number);
        if self.inside.as_ref().map(|inside| inside.number) == number {
            return;
        }
        self.inside = None;
        if let (Some(name), Some(number)) = (name, number) {
            match Watch::links_in(name) {
                Ok(watch) => self.inside = Some(Inside { number, watch }),
                Err(error) => say::debug(format_args!("cannot listen in namespace {name}: {error}")),
            }
        }
    }
}
