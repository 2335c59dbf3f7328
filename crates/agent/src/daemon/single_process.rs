//! Supervision of a daemon that is one process.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::process::{Program, StartError, SupervisedProcess};

/// Between an answer and the next question whether it is there.
const ASK: Duration = Duration::from_secs(2);
/// Between an answer of no and the next question.
const AGAIN: Duration = Duration::from_millis(500);
/// How long it may leave a question unanswered. With [`ASK`] and the time of a start this is less than the 10 s within which a
/// daemon that hangs is replaced.
const PATIENCE: Duration = Duration::from_secs(5);

/// The process of a daemon, and its last failure.
#[derive(Debug, Default)]
pub struct SingleProcess {
    kept: Option<SupervisedProcess>,
    /// When it is to be asked.
    due: Option<Instant>,
    /// When it was asked the question that it has not answered so far.
    asked: Option<Instant>,
    /// What was wrong, until it is put right.
    why: Option<String>,
    /// Whether it was started, and nobody saw so far that it is as it should be.
    begun: bool,
}

impl SingleProcess {
    /// Starts a program. One that is another than before begins anew, also with waiting.
    pub fn start(&mut self, program: Program) -> Result<(), StartError> {
        (self.due, self.asked) = (None, None);
        self.begun = true;
        let kept = match self.kept.take() {
            Some(kept) if *kept.program() == program => kept,
            _ => SupervisedProcess::new(program),
        };
        self.kept.insert(kept).start()
    }

    /// The process, while there is one.
    pub fn pid(&self) -> Option<u32> {
        self.kept.as_ref().and_then(SupervisedProcess::pid)
    }

    /// Waits until the process ends, and for ever while there is none.
    pub async fn ended(&mut self) -> String {
        match &mut self.kept {
            Some(kept) => kept.ended().await,
            None => std::future::pending().await,
        }
    }

    /// Whether a process was started that is not as it should be so far: then it is to be seen to, and not to be started again.
    pub fn begun(&self) -> bool {
        self.begun && self.pid().is_some()
    }

    /// Waits until the program is to be started again or to be seen to, and says why. It is asked meanwhile, and killed when it
    /// is silent. Nothing is lost when it is not waited for any longer.
    pub async fn fails(&mut self, alive: impl AsyncFn() -> bool) -> String {
        while self.why.is_none() && !self.begun() {
            let Self { kept, due, asked, why, .. } = self;
            let Some(kept) = kept else { return std::future::pending().await };
            if kept.pid().is_none() {
                *why = Some("it does not run".to_owned());
                break;
            }
            let answered = async {
                sleep_until(*due.get_or_insert_with(|| Instant::now() + ASK)).await;
                let patience = *asked.get_or_insert_with(Instant::now) + PATIENCE;
                let asking = async {
                    while !alive().await {
                        sleep(AGAIN).await;
                    }
                };
                timeout_at(patience, asking).await.is_ok()
            };
            let (ended, answered) = tokio::select! {
                how = kept.ended() => (Some(how), true),
                answered = answered => (None, answered),
            };
            (*due, *asked) = (None, None);
            if !answered {
                kept.kill();
            }
            *why = ended.or_else(|| (!answered).then(|| "it did not answer".to_owned()));
        }
        let begun = self.begun();
        if let Some(kept) = self.kept.as_mut().filter(|_| !begun) {
            if kept.pid().is_some() {
                kept.ended().await;
            }
            kept.may_start().await;
        }
        self.why.clone().unwrap_or_default()
    }

    /// What was wrong is right again.
    pub fn healed(&mut self) {
        self.why = None;
        self.begun = false;
    }

    /// The process will not be as it should be: another is to take its place.
    pub fn abandon(&mut self) {
        self.begun = false;
        if let Some(kept) = &self.kept {
            kept.kill();
        }
    }

    /// The process, to end it.
    pub fn take(&mut self) -> Option<SupervisedProcess> {
        self.kept.take()
    }
}
