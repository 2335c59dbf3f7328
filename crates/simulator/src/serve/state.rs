//! The simulated nodes and their clock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::fleet::{Fleet, NodeEventKind, stage_word};
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::time::{self, Instant};

use super::journal::Journal;

/// How long something may wait for its time, so that what comes at once is looked at once.
const BREATH: Duration = Duration::from_millis(2);

/// For each node, how long a watch rests.
const FOR_EACH: Duration = Duration::from_micros(100);

/// All nodes, and who wants to know that something changed.
pub struct SimulatorState {
    fleet: Mutex<Fleet>,
    began: Instant,
    changed: watch::Sender<u64>,
    stirred: Notify,
    /// Every call, in order.
    pub(crate) journal: Journal,
}

impl SimulatorState {
    /// Starts the clock of `fleet`.
    pub(crate) fn new(fleet: Fleet, journal: Journal) -> Arc<Self> {
        Arc::new(Self {
            fleet: Mutex::new(fleet),
            began: Instant::now(),
            changed: watch::Sender::new(0),
            stirred: Notify::new(),
            journal,
        })
    }

    /// How long it has run.
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Looks at the nodes.
    pub fn look<T>(&self, look: impl FnOnce(&Fleet) -> T) -> T {
        look(&self.fleet())
    }

    /// Does something with the nodes.
    pub(crate) fn act<T>(&self, act: impl FnOnce(&mut Fleet, Duration) -> T) -> T {
        let done = act(&mut self.fleet(), self.now());
        self.stirred.notify_one();
        done
    }

    /// Tells that something changed, from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// How long whoever watches one node rests between two looks: the longer, the more nodes there are.
    pub(crate) fn rest(&self) -> Duration {
        FOR_EACH * u32::try_from(self.look(|fleet| fleet.machines.len())).unwrap_or(u32::MAX)
    }

    /// Lets time pass.
    pub(crate) async fn run(&self) {
        let mut told = vec![0; self.look(|fleet| fleet.machines.len())];
        loop {
            let now = self.now();
            let next = {
                let mut fleet = self.fleet();
                fleet.advance(now);
                self.tell(&fleet, &mut told);
                fleet.next()
            };
            self.changed.send_modify(|count| *count += 1);
            time::sleep(BREATH).await;
            match next {
                Some(at) => {
                    let _ = time::timeout_at(self.began + at, self.stirred.notified()).await;
                }
                None => self.stirred.notified().await,
            }
        }
    }

    /// Puts the stages that nodes have come to into the journal.
    fn tell(&self, fleet: &Fleet, told: &mut [u64]) {
        for (machine, from) in fleet.machines.iter().zip(told) {
            for event in machine.events(*from) {
                if let NodeEventKind::Stage(stage, ready) = event.what {
                    let stage = stage_word(stage);
                    let name = &machine.hardware.name;
                    self.journal.write(event.at, json!({"node": name, "stage": stage, "ready": ready}));
                }
            }
            *from = machine.next_event();
        }
    }

    fn fleet(&self) -> MutexGuard<'_, Fleet> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
