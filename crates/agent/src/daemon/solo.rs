//! A daemon that is one process: run, looked after, started again.

use std::time::Duration;

use tokio::time::sleep;

use super::process::{Kept, Program, StartError};

/// Between two questions whether it is there.
const ASK: Duration = Duration::from_secs(2);
/// Questions without an answer after which it is replaced.
const PATIENCE: u8 = 2;

/// The process of a daemon, and how it was with it.
#[derive(Debug, Default)]
pub struct Solo {
    kept: Option<Kept>,
    silent: u8,
    /// What was wrong, until it is put right.
    why: Option<String>,
}

impl Solo {
    /// Starts a program. One that is another than before begins anew, also with waiting.
    pub fn start(&mut self, program: Program) -> Result<(), StartError> {
        self.silent = 0;
        let kept = match self.kept.take() {
            Some(kept) if *kept.program() == program => kept,
            _ => Kept::new(program),
        };
        self.kept.insert(kept).start()
    }

    /// The process, while there is one.
    pub fn pid(&self) -> Option<u32> {
        self.kept.as_ref().and_then(Kept::pid)
    }

    /// Waits until the process ends, and for ever while there is none.
    pub async fn ended(&mut self) -> String {
        match &mut self.kept {
            Some(kept) => kept.ended().await,
            None => std::future::pending().await,
        }
    }

    /// Waits until the program is to be started again, and says why. It is asked meanwhile, and killed when it is silent.
    /// Nothing is lost when it is not waited for any longer.
    pub async fn fails(&mut self, alive: impl AsyncFn() -> bool) -> String {
        while self.why.is_none() {
            let Some(kept) = &mut self.kept else { return std::future::pending().await };
            if kept.pid().is_none() {
                self.why = Some("it does not run".to_owned());
                break;
            }
            tokio::select! {
                how = kept.ended() => self.why = Some(how),
                () = sleep(ASK) => {
                    self.silent = if alive().await { 0 } else { self.silent + 1 };
                    if self.silent >= PATIENCE {
                        kept.kill();
                        self.why = Some("it did not answer".to_owned());
                    }
                }
            }
        }
        if let Some(kept) = &mut self.kept {
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
    }

    /// The process, to end it.
    pub fn take(&mut self) -> Option<Kept> {
        self.kept.take()
    }
}
