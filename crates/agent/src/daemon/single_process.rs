//! Supervision of a daemon with a single process.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::process::{Program, StartError, SupervisedProcess};

/// The pause between a successful probe and the next one.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);
/// The pause between a failed probe and the next one.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// How long it may not respond. With [`PROBE_INTERVAL`] and the time of a start, this is less than the 10 s within
/// which a hung daemon is replaced.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The process of a daemon, and its last failure.
#[derive(Debug, Default)]
pub struct SingleProcess {
    process: Option<SupervisedProcess>,
    /// When the next probe is due.
    due: Option<Instant>,
    /// When the unanswered probe was sent.
    probed_at: Option<Instant>,
    /// What was wrong, until it has recovered.
    failure: Option<String>,
    /// Whether it was started and has not been seen to respond yet.
    awaits_response: bool,
}

impl SingleProcess {
    /// Starts a program. Another program than before starts with a fresh backoff.
    pub fn start(&mut self, program: Program) -> Result<(), StartError> {
        (self.due, self.probed_at) = (None, None);
        self.awaits_response = true;
        let process = match self.process.take() {
            Some(process) if *process.program() == program => process,
            _ => SupervisedProcess::new(program),
        };
        self.process.insert(process).start()
    }

    /// The process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().and_then(SupervisedProcess::pid)
    }

    /// Waits until the process ends; pending without one.
    pub async fn ended(&mut self) -> String {
        match &mut self.process {
            Some(process) => process.ended().await,
            None => std::future::pending().await,
        }
    }

    /// Whether a process was started and does not respond yet: then it must be awaited, and not be started again.
    pub fn is_starting(&self) -> bool {
        self.awaits_response && self.pid().is_some()
    }

    /// Waits until the program has to be started again or awaited, and returns why. The daemon is probed meanwhile, and
    /// killed when it does not respond. Cancel safe.
    pub async fn wait_for_failure(&mut self, alive: impl AsyncFn() -> bool) -> String {
        while self.failure.is_none() && !self.is_starting() {
            let Self { process, due, probed_at, failure, .. } = self;
            let Some(process) = process else { return std::future::pending().await };
            if process.pid().is_none() {
                *failure = Some("it does not run".to_owned());
                break;
            }
            let responded = async {
                sleep_until(*due.get_or_insert_with(|| Instant::now() + PROBE_INTERVAL)).await;
                let deadline = *probed_at.get_or_insert_with(Instant::now) + RESPONSE_TIMEOUT;
                let probing = async {
                    while !alive().await {
                        sleep(RETRY_INTERVAL).await;
                    }
                };
                timeout_at(deadline, probing).await.is_ok()
            };
            let (ended, responded) = tokio::select! {
                status = process.ended() => (Some(status), true),
                responded = responded => (None, responded),
            };
            (*due, *probed_at) = (None, None);
            if !responded {
                process.kill();
            }
            *failure = ended.or_else(|| (!responded).then(|| "it did not answer".to_owned()));
        }
        let is_starting = self.is_starting();
        if let Some(process) = self.process.as_mut().filter(|_| !is_starting) {
            if process.pid().is_some() {
                process.ended().await;
            }
            process.may_start().await;
        }
        self.failure.clone().unwrap_or_default()
    }

    /// Records that the daemon has recovered.
    pub fn record_recovery(&mut self) {
        self.failure = None;
        self.awaits_response = false;
    }

    /// Gives up on the process, so that another one is started.
    pub fn abandon(&mut self) {
        self.awaits_response = false;
        if let Some(process) = &self.process {
            process.kill();
        }
    }

    /// Takes the process, to stop it.
    pub fn take(&mut self) -> Option<SupervisedProcess> {
        self.process.take()
    }
}
