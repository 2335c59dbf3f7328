//! The simulated nodes and their clock.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::fleet::{Fleet, NodeEventKind, stage_word};
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::time::{self, Instant};

use super::journal::Journal;

/// A short pause between events, so that changes at the same time are handled together.
const BREATH: Duration = Duration::from_millis(2);

/// For each node, how long a watch rests.
const FOR_EACH: Duration = Duration::from_micros(100);

/// All nodes, and notification of changes.
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

    /// The time since the start.
    pub fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Reads the nodes.
    pub fn read<T>(&self, read: impl FnOnce(&Fleet) -> T) -> T {
        read(&self.fleet())
    }

    /// Does something with the nodes.
    pub(crate) fn act<T>(&self, act: impl FnOnce(&mut Fleet, Duration) -> T) -> T {
        let done = act(&mut self.fleet(), self.now());
        self.stirred.notify_one();
        done
    }

    /// Subscribes to changes from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// How long a watch of one node sleeps between two reads: the more nodes, the longer.
    pub(crate) fn rest(&self) -> Duration {
        FOR_EACH * u32::try_from(self.read(|fleet| fleet.machines.len())).unwrap_or(u32::MAX)
    }

    /// Lets time pass.
    pub(crate) async fn run(&self) {
        let mut reported = vec![0; self.read(|fleet| fleet.machines.len())];
        loop {
            let now = self.now();
            let next = {
                let mut fleet = self.fleet();
                fleet.advance(now);
                self.record_stages(&fleet, &mut reported);
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
    fn record_stages(&self, fleet: &Fleet, reported: &mut [u64]) {
        for (machine, from) in fleet.machines.iter().zip(reported) {
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
