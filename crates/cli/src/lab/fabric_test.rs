//! Tests a running fabric: observes it intact, then injects one failure at a time and heals it.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::lab::Prediction;
use ichor_core::lab::comparison::{
    CutMode, FailureComparison, InjectedFailure, Outage, describe_losses, differences,
};
use ichor_core::lab::outage::longest_since;
use ichor_core::lab::report::format_time;
use ichor_core::lab::state::{FabricState, Reachability};
use ichor_core::prove::ProofModel;
use ichor_core::prove::failure::Failure;

use super::Lab;
use super::fault::{Fault, FaultError};
use super::observation::{self, FabricObserveError};
use super::probe::{Probe, ProbeLoad, ProbeStartError, ProbeStream};
use super::signals::TerminationSignals;

/// Time limit for rerouting after a failure was detected.
const REROUTE_MARGIN: Duration = Duration::from_secs(20);

/// Time limit for healing. Daemons retry with backoff.
const HEAL_TIMEOUT: Duration = Duration::from_secs(150);

/// Milliseconds by which an outage may exceed the detection time: updates propagate slowly on a busy machine.
const OUTAGE_SLACK_MS: u64 = 5000;

/// Factor of all time limits with emulation.
const EMULATION_FACTOR: u32 = 4;

/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// Errors of a fabric test.
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
    #[error("the probe thread stopped")]
    Silent,
    #[error("interrupted; the injected failure is healed")]
    Interrupted,
}

/// The test of a fabric.
pub(crate) struct FabricTest<'t> {
    lab: &'t Lab,
    subject: &'t ProofModel,
    prediction: &'t Prediction<'t>,
    cut: CutMode,
    signals: &'t TerminationSignals,
    pub probe: Probe,
    /// Predicted and observed state of the intact fabric.
    intact: FabricState,
    observed: FabricState,
}

impl<'t> FabricTest<'t> {
    /// Starts the probes.
    pub(crate) fn start(
        lab: &'t Lab,
        subject: &'t ProofModel,
        prediction: &'t Prediction<'t>,
        cut: CutMode,
        signals: &'t TerminationSignals,
    ) -> Result<Self, FabricTestError> {
        let streams = prediction.flows.iter().zip(&prediction.watched).map(|(flow, watched)| {
            let pid = lab.record.machine_pids[lab.machine(&flow.from).map_err(FaultError::from)?];
            Ok(ProbeStream { pid, source: flow.source, to: flow.to, frequent: *watched })
        });
        let streams: Vec<ProbeStream> = streams.collect::<Result<_, FabricTestError>>()?;
        let probe =
            Probe::start(&streams, if lab.record.emulated { ProbeLoad::EMULATED } else { ProbeLoad::REAL })?;
        let intact = prediction.state(None);
        Ok(Self { lab, subject, prediction, cut, signals, probe, intact, observed: FabricState::default() })
    }

    /// Tests the intact fabric.
    pub(crate) fn test_intact(&mut self) -> Result<FailureComparison, FabricTestError> {
        let (observed, found) = self.wait_for_state(&self.intact, self.scaled_timeout(REROUTE_MARGIN))?;
        self.observed = observed;
        let up = |state: &FabricState| state.sessions.iter().filter(|up| **up).count();
        let reached =
            |state: &FabricState| state.flows.iter().filter(|reach| **reach == Reachability::All).count();
        let routes = |state: &FabricState| state.routes.values().map(|table| table.len()).sum::<usize>();
        let summary = |state: &FabricState| {
            format!("{} sessions, {} routes, {} flows answered", up(state), routes(state), reached(state))
        };
        Ok(FailureComparison {
            without: None,
            expected: summary(&self.intact),
            observed: summary(&self.observed),
            outage: None,
            healing: None,
            differences: found,
        })
    }

    /// Injects a failure, observes, and heals it.
    pub(crate) fn test_failure(&self, failure: Failure) -> Result<FailureComparison, FabricTestError> {
        let expected = self.prediction.state(Some(failure));
        let noticed = if self.cut == CutMode::Silent { self.prediction.detection_time(failure) } else { 0 };
        let cut_at = self.probe.now();
        self.probe.forget(cut_at);
        let fault = Fault::inject(self.lab, self.subject, failure, self.cut)?;
        let timeout = self.scaled_timeout(
            REROUTE_MARGIN + Duration::from_millis(self.prediction.detection_time_without_bfd(failure)),
        );
        let (observed, mut found) = self.wait_for_state(&expected, timeout)?;
        let outage = self.outage(&expected, cut_at);
        found.extend(self.outage_problem(outage.as_ref(), noticed));
        let healed_at = self.probe.now();
        fault.heal()?;
        let (_, after) = self.wait_for_state(&self.intact, self.scaled_timeout(HEAL_TIMEOUT))?;
        let healing = self.outage(&expected, healed_at);
        found.extend(after.into_iter().map(|text| format!("after healing: {text}")));
        Ok(FailureComparison {
            without: Some(InjectedFailure {
                name: self.subject.name(failure),
                kind: failure.kind(&self.subject.graph).to_owned(),
                noticed,
            }),
            expected: describe_losses(&self.intact, &expected, &self.prediction.flows),
            observed: describe_losses(&self.observed, &observed, &self.prediction.flows),
            outage,
            healing,
            differences: found,
        })
    }

    /// The problem of an outage that outlasts the detection of its cause.
    fn outage_problem(&self, outage: Option<&Outage>, noticed: u64) -> Option<String> {
        let ms = outage.filter(|_| !self.lab.record.emulated)?.ms;
        (ms > noticed + OUTAGE_SLACK_MS).then(|| {
            let (lost, limit) = (format_time(ms, false), format_time(noticed, false));
            format!("flows with a remaining path lost packets for {lost}, but failures must be detected within {limit}")
        })
    }

    fn scaled_timeout(&self, usual: Duration) -> Duration {
        if self.lab.record.emulated { usual * EMULATION_FACTOR } else { usual }
    }

    /// Waits for the expected state or a timeout; returns the observed state and the differences.
    fn wait_for_state(
        &self,
        expected: &FabricState,
        timeout: Duration,
    ) -> Result<(FabricState, Vec<String>), FabricTestError> {
        let start = Instant::now();
        self.sleep(self.probe.delay())?;
        loop {
            let over = start.elapsed() > timeout;
            let since = self.probe.now() - u64::try_from(self.probe.delay().as_millis()).unwrap_or_default();
            // Probe results are cheap, so routes are queried only once these match.
            let right = observation::flow_states(&self.probe, expected.flows.len(), since)
                .iter()
                .zip(&expected.flows)
                .all(|(observed, want)| *want == Reachability::Some || observed == want);
            if right || over {
                let observed = observation::observe(self.lab, &self.probe, expected, since)?;
                let flows = &self.prediction.flows;
                let found = differences(self.lab.topology(), flows, &self.intact, expected, &observed);
                if found.is_empty() || over {
                    return Ok((observed, found));
                }
            }
            self.sleep(POLL_INTERVAL)?;
        }
    }

    fn sleep(&self, time: Duration) -> Result<(), FabricTestError> {
        let end = Instant::now() + time;
        loop {
            if self.signals.received().map_err(FabricTestError::Signals)? {
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

    /// The longest outage since a moment of flows with a remaining path.
    fn outage(&self, expected: &FabricState, since: u64) -> Option<Outage> {
        let watched = |nth: usize| self.prediction.watched[nth];
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
        let worst = (ms > 0).then(|| self.prediction.flows[nth].clone());
        Some(Outage { ms, hit: (hit, gaps.len()), worst })
    }
}
