//! A running fabric on trial: it is looked at whole, then without one thing after the other, and healed each time.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::lab::Foreseen;
use ichor_core::lab::outage::longest_since;
use ichor_core::lab::report::time;
use ichor_core::lab::state::{Reach, State};
use ichor_core::lab::verdict::{Cut, Outage, Row, Without, differences, losses};
use ichor_core::prove::Subject;
use ichor_core::prove::failure::Failure;

use super::Lab;
use super::fault::{Fault, FaultError};
use super::observed::{self, ObserveError};
use super::probe::{Load, Probe, ProbeError, Stream};
use super::signals::Signals;

/// How much longer than until a failure is noticed it may take until everyone has found other ways.
const MARGIN: Duration = Duration::from_secs(20);

/// How long it may take until all is as before. Daemons try again after a time that grows.
const HEALING: Duration = Duration::from_secs(150);

/// Milliseconds that an outage may be longer than a failure is kept: everyone has to hear of it, on a machine that has much to do.
const SLACK: u64 = 5000;

/// In an emulated machine everything may take so much longer.
const EMULATED: u32 = 4;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(150);

/// What kept the trial from its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrialError {
    #[error(transparent)]
    Fault(#[from] FaultError),
    #[error(transparent)]
    Observe(#[from] ObserveError),
    #[error(transparent)]
    Probe(#[from] ProbeError),
    #[error("cannot hear signals")]
    Signals(#[source] io::Error),
    #[error("the thread that sends packets ended")]
    Silent,
    #[error("interrupted; what was cut works again")]
    Interrupted,
}

/// A fabric on trial.
pub(crate) struct Trial<'t> {
    lab: &'t Lab,
    subject: &'t Subject,
    foreseen: &'t Foreseen<'t>,
    cut: Cut,
    signals: &'t Signals,
    pub probe: Probe,
    /// What is foreseen while nothing fails, and what was seen then.
    whole: State,
    seen: State,
}

impl<'t> Trial<'t> {
    /// Begins to send packets.
    pub(crate) fn begin(
        lab: &'t Lab,
        subject: &'t Subject,
        foreseen: &'t Foreseen<'t>,
        cut: Cut,
        signals: &'t Signals,
    ) -> Result<Self, TrialError> {
        let streams = foreseen.flows.iter().zip(&foreseen.watched).map(|(flow, watched)| {
            let pid = lab.record.machines[lab.machine(&flow.from).map_err(FaultError::from)?];
            Ok(Stream { pid, source: flow.source, to: flow.to, often: *watched })
        });
        let streams: Vec<Stream> = streams.collect::<Result<_, TrialError>>()?;
        let probe = Probe::start(&streams, if lab.record.emulated { Load::EMULATED } else { Load::REAL })?;
        let whole = foreseen.state(None);
        Ok(Self { lab, subject, foreseen, cut, signals, probe, whole, seen: State::default() })
    }

    /// Looks at the whole fabric.
    pub(crate) fn whole(&mut self) -> Result<Row, TrialError> {
        let (seen, found) = self.settle(&self.whole, self.patience(MARGIN))?;
        self.seen = seen;
        let up = |state: &State| state.sessions.iter().filter(|up| **up).count();
        let reached = |state: &State| state.flows.iter().filter(|reach| **reach == Reach::All).count();
        let routes = |state: &State| state.routes.values().map(|table| table.len()).sum::<usize>();
        let told = |state: &State| {
            format!("{} sessions, {} routes, {} flows answered", up(state), routes(state), reached(state))
        };
        Ok(Row {
            without: None,
            expected: told(&self.whole),
            observed: told(&self.seen),
            outage: None,
            healing: None,
            differences: found,
        })
    }

    /// Takes something away, looks, and gives it back.
    pub(crate) fn without(&self, failure: Failure) -> Result<Row, TrialError> {
        let expected = self.foreseen.state(Some(failure));
        let noticed = if self.cut == Cut::Silent { self.foreseen.noticed(failure) } else { 0 };
        let cut_at = self.probe.now();
        self.probe.forget(cut_at);
        let fault = Fault::make(self.lab, self.subject, failure, self.cut)?;
        let patience = self.patience(MARGIN + Duration::from_millis(self.foreseen.kept(failure)));
        let (seen, mut found) = self.settle(&expected, patience)?;
        let outage = self.outage(&expected, cut_at);
        found.extend(self.too_long(outage.as_ref(), noticed));
        let healed_at = self.probe.now();
        fault.heal()?;
        let (_, after) = self.settle(&self.whole, self.patience(HEALING))?;
        let healing = self.outage(&expected, healed_at);
        found.extend(after.into_iter().map(|words| format!("after it came back: {words}")));
        Ok(Row {
            without: Some(Without {
                name: self.subject.name(failure),
                kind: failure.kind(&self.subject.graph).to_owned(),
                noticed,
            }),
            expected: losses(&self.whole, &expected, &self.foreseen.flows),
            observed: losses(&self.seen, &seen, &self.foreseen.flows),
            outage,
            healing,
            differences: found,
        })
    }

    /// What is to be said of an outage that outlasts what caused it.
    fn too_long(&self, outage: Option<&Outage>, noticed: u64) -> Option<String> {
        let ms = outage.filter(|_| !self.lab.record.emulated)?.ms;
        (ms > noticed + SLACK).then(|| {
            let (lost, meant) = (time(ms, false), time(noticed, false));
            format!("packets to which a way is left were lost for {lost}, and nobody shall keep what failed for more than {meant}")
        })
    }

    fn patience(&self, usual: Duration) -> Duration {
        if self.lab.record.emulated { usual * EMULATED } else { usual }
    }

    /// Waits until all is as expected, or patience is over: what is seen then, and how it differs.
    fn settle(&self, expected: &State, patience: Duration) -> Result<(State, Vec<String>), TrialError> {
        let start = Instant::now();
        self.sleep(self.probe.delay())?;
        loop {
            let over = start.elapsed() > patience;
            let since = self.probe.now() - u64::try_from(self.probe.delay().as_millis()).unwrap_or_default();
            // Packets are cheap to look at: routes are asked for when these are right.
            let right = observed::flows(&self.probe, expected.flows.len(), since)
                .iter()
                .zip(&expected.flows)
                .all(|(seen, meant)| *meant == Reach::Some || seen == meant);
            if right || over {
                let seen = observed::look(self.lab, &self.probe, expected, since)?;
                let flows = &self.foreseen.flows;
                let found = differences(self.lab.scene(), flows, &self.whole, expected, &seen);
                if found.is_empty() || over {
                    return Ok((seen, found));
                }
            }
            self.sleep(PAUSE)?;
        }
    }

    fn sleep(&self, time: Duration) -> Result<(), TrialError> {
        let end = Instant::now() + time;
        loop {
            if self.signals.came().map_err(TrialError::Signals)? {
                return Err(TrialError::Interrupted);
            }
            if self.probe.is_broken() {
                return Err(TrialError::Silent);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(PAUSE));
        }
    }

    /// The longest outage since a moment, of flows to which a way is left.
    fn outage(&self, expected: &State, since: u64) -> Option<Outage> {
        let watched = |nth: usize| self.foreseen.watched[nth];
        let lasting = expected.flows.iter().enumerate();
        let lasting = lasting.filter(|(nth, reach)| **reach == Reach::All && watched(*nth));
        let gaps: Vec<(usize, u64)> = lasting
            .map(|(nth, _)| {
                let gap = longest_since(&self.probe.since(nth, since), since);
                (nth, gap.map_or(0, |gap| gap.length.max(1)))
            })
            .collect();
        let (nth, ms) = gaps.iter().copied().max_by_key(|(_, length)| *length)?;
        let hit = gaps.iter().filter(|(_, length)| *length > 0).count();
        let worst = (ms > 0).then(|| self.foreseen.flows[nth].clone());
        Some(Outage { ms, hit: (hit, gaps.len()), worst })
    }
}
