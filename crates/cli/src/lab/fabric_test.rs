//! A running fabric on trial: it is looked at whole, then without one thing after the other, and healed each time.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::lab::Prediction;
use ichor_core::lab::outage::longest_since;
use ichor_core::lab::report::time;
use ichor_core::lab::state::{FabricState, Reachability};
use ichor_core::lab::verdict::{CutMode, FailureComparison, InjectedFailure, Outage, differences, losses};
use ichor_core::prove::ProofModel;
use ichor_core::prove::failure::Failure;

use super::Lab;
use super::fault::{Fault, FaultError};
use super::observation::{self, FabricObserveError};
use super::probe::{Probe, ProbeLoad, ProbeStartError, ProbeStream};
use super::signals::TerminationSignals;

/// How much longer than until a failure is noticed it may take until everyone has found other ways.
const REROUTE_MARGIN: Duration = Duration::from_secs(20);

/// How long it may take until all is as before. Daemons try again after a time that grows.
const HEAL_TIMEOUT: Duration = Duration::from_secs(150);

/// Milliseconds that an outage may be longer than a failure is kept: everyone has to hear of it, on a machine that has much to do.
const OUTAGE_SLACK_MS: u64 = 5000;

/// In an emulated machine everything may take so much longer.
const EMULATED_FACTOR: u32 = 4;

/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// What kept the trial from its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FabricTestError {
    #[error(transparent)]
    Fault(#[from] FaultError),
    #[error(transparent)]
    Observe(#[from] FabricObserveError),
    #[error(transparent)]
    Probe(#[from] ProbeStartError),
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    #[error("the thread that sends packets ended")]
    Silent,
    #[error("interrupted; what was cut works again")]
    Interrupted,
}

/// A fabric on trial.
pub(crate) struct FabricTest<'t> {
    lab: &'t Lab,
    subject: &'t ProofModel,
    foreseen: &'t Prediction<'t>,
    cut: CutMode,
    signals: &'t TerminationSignals,
    pub probe: Probe,
    /// What is foreseen while nothing fails, and what was seen then.
    whole: FabricState,
    seen: FabricState,
}

impl<'t> FabricTest<'t> {
    /// Begins to send packets.
    pub(crate) fn start(
        lab: &'t Lab,
        subject: &'t ProofModel,
        foreseen: &'t Prediction<'t>,
        cut: CutMode,
        signals: &'t TerminationSignals,
    ) -> Result<Self, FabricTestError> {
        let streams = foreseen.flows.iter().zip(&foreseen.watched).map(|(flow, watched)| {
            let pid = lab.record.machines[lab.machine(&flow.from).map_err(FaultError::from)?];
            Ok(ProbeStream { pid, source: flow.source, to: flow.to, frequent: *watched })
        });
        let streams: Vec<ProbeStream> = streams.collect::<Result<_, FabricTestError>>()?;
        let probe = Probe::start(
            &streams,
            if lab.record.emulated { ProbeLoad::EMULATED_FACTOR } else { ProbeLoad::REAL },
        )?;
        let whole = foreseen.state(None);
        Ok(Self { lab, subject, foreseen, cut, signals, probe, whole, seen: FabricState::default() })
    }

    /// Looks at the whole fabric.
    pub(crate) fn test_intact(&mut self) -> Result<FailureComparison, FabricTestError> {
        let (seen, found) = self.wait_for_state(&self.whole, self.scaled_timeout(REROUTE_MARGIN))?;
        self.seen = seen;
        let up = |state: &FabricState| state.sessions.iter().filter(|up| **up).count();
        let reached =
            |state: &FabricState| state.flows.iter().filter(|reach| **reach == Reachability::All).count();
        let routes = |state: &FabricState| state.routes.values().map(|table| table.len()).sum::<usize>();
        let summary = |state: &FabricState| {
            format!("{} sessions, {} routes, {} flows answered", up(state), routes(state), reached(state))
        };
        Ok(FailureComparison {
            without: None,
            expected: summary(&self.whole),
            observed: summary(&self.seen),
            outage: None,
            healing: None,
            differences: found,
        })
    }

    /// Takes something away, looks, and gives it back.
    pub(crate) fn test_failure(&self, failure: Failure) -> Result<FailureComparison, FabricTestError> {
        let expected = self.foreseen.state(Some(failure));
        let noticed = if self.cut == CutMode::Silent { self.foreseen.noticed(failure) } else { 0 };
        let cut_at = self.probe.now();
        self.probe.forget(cut_at);
        let fault = Fault::inject(self.lab, self.subject, failure, self.cut)?;
        let patience =
            self.scaled_timeout(REROUTE_MARGIN + Duration::from_millis(self.foreseen.kept(failure)));
        let (seen, mut found) = self.wait_for_state(&expected, patience)?;
        let outage = self.outage(&expected, cut_at);
        found.extend(self.outage_problem(outage.as_ref(), noticed));
        let healed_at = self.probe.now();
        fault.heal()?;
        let (_, after) = self.wait_for_state(&self.whole, self.scaled_timeout(HEAL_TIMEOUT))?;
        let healing = self.outage(&expected, healed_at);
        found.extend(after.into_iter().map(|words| format!("after it came back: {words}")));
        Ok(FailureComparison {
            without: Some(InjectedFailure {
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
    fn outage_problem(&self, outage: Option<&Outage>, noticed: u64) -> Option<String> {
        let ms = outage.filter(|_| !self.lab.record.emulated)?.ms;
        (ms > noticed + OUTAGE_SLACK_MS).then(|| {
            let (lost, meant) = (time(ms, false), time(noticed, false));
            format!("packets to which a way is left were lost for {lost}, and nobody shall keep what failed for more than {meant}")
        })
    }

    fn scaled_timeout(&self, usual: Duration) -> Duration {
        if self.lab.record.emulated { usual * EMULATED_FACTOR } else { usual }
    }

    /// Waits until all is as expected, or patience is over: what is seen then, and how it differs.
    fn wait_for_state(
        &self,
        expected: &FabricState,
        patience: Duration,
    ) -> Result<(FabricState, Vec<String>), FabricTestError> {
        let start = Instant::now();
        self.sleep(self.probe.delay())?;
        loop {
            let over = start.elapsed() > patience;
            let since = self.probe.now() - u64::try_from(self.probe.delay().as_millis()).unwrap_or_default();
            // Packets are cheap to look at: routes are asked for when these are right.
            let right = observation::flow_states(&self.probe, expected.flows.len(), since)
                .iter()
                .zip(&expected.flows)
                .all(|(seen, meant)| *meant == Reachability::Some || seen == meant);
            if right || over {
                let seen = observation::observe(self.lab, &self.probe, expected, since)?;
                let flows = &self.foreseen.flows;
                let found = differences(self.lab.scene(), flows, &self.whole, expected, &seen);
                if found.is_empty() || over {
                    return Ok((seen, found));
                }
            }
            self.sleep(POLL_INTERVAL)?;
        }
    }

    fn sleep(&self, time: Duration) -> Result<(), FabricTestError> {
        let end = Instant::now() + time;
        loop {
            if self.signals.came().map_err(FabricTestError::Signals)? {
                return Err(FabricTestError::Interrupted);
            }
            if self.probe.is_broken() {
                return Err(FabricTestError::Silent);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(POLL_INTERVAL));
        }
    }

    /// The longest outage since a moment, of flows to which a way is left.
    fn outage(&self, expected: &FabricState, since: u64) -> Option<Outage> {
        let watched = |nth: usize| self.foreseen.watched[nth];
        let lasting = expected.flows.iter().enumerate();
        let lasting = lasting.filter(|(nth, reach)| **reach == Reachability::All && watched(*nth));
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
