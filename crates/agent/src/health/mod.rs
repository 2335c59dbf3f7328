//! The check behind anycast addresses: asks, and moves the gate.
//!
//! [`ask`] puts one question and says in plain words what is wrong; [`watch`] asks for ever and tells where the gate is. One
//! question is under way at a time, each ends with its time, and no more is read of an answer than is needed.
//!
//! Not here: when the gate moves, which is [`ichor_bgp::agent::gate`].

mod command;
mod request;

use std::io;
use std::time::Duration;

use ichor_bgp::agent::HealthGate;
use ichor_bgp::agent::config::{HealthCheck, HealthProbe};
use ichor_bgp::agent::gate::GateState;
use ichor_bgp::agent::status::AnycastStatus;
use tokio::net::TcpStream;
use tokio::sync::watch::Sender;
use tokio::time::{self, MissedTickBehavior};

/// A bad answer.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It took too long.
    #[error("no answer from {of} within {} ms", within.as_millis())]
    Late {
        /// Who was asked.
        of: String,
        /// The time it had.
        within: Duration,
    },
    /// Nobody was there.
    #[error("cannot connect to {to}: {source}")]
    Connect {
        /// Who was asked.
        to: String,
        /// Why.
        source: io::Error,
    },
    /// The other side speaks no TLS, or none that is good enough.
    #[error("{with} does not speak TLS 1.2 or 1.3: {source}")]
    Tls {
        /// Who was asked.
        with: String,
        /// Why.
        source: io::Error,
    },
    /// The other side speaks no HTTP.
    #[error("{of} does not answer in HTTP: {source}")]
    Http {
        /// Who was asked.
        of: String,
        /// Why.
        source: hyper::Error,
    },
    /// An answer that is not 2xx.
    #[error("{of} answers {status}")]
    Status {
        /// Who was asked.
        of: String,
        /// The answer.
        status: u16,
    },
    /// A URL that cannot be asked.
    #[error("{0:?} is not a URL such as https://127.0.0.1:6443/readyz")]
    Url(String),
    /// A command that cannot be started.
    #[error("cannot run {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A command without a program.
    #[error("the command of the health check is empty")]
    Empty,
    /// A command that ended with something else than 0.
    #[error("{program} ended with {end}{said}")]
    Ended {
        /// The program.
        program: String,
        /// How: `exit status: 1`, `signal: 9`.
        end: String,
        /// The first line it said on standard error, after a colon.
        said: String,
    },
}

/// Puts one question; the answer takes at most `within`.
pub async fn ask(probe: &HealthProbe, within: Duration) -> Result<(), ProbeError> {
    let (of, answer) = match probe {
        HealthProbe::Url(url) => (url.clone(), time::timeout(within, request::ask(url)).await),
        HealthProbe::Tcp(to) => (to.clone(), time::timeout(within, connect(to)).await),
        HealthProbe::Command(words) => return command::ask(words, within).await,
    };
    answer.unwrap_or(Err(ProbeError::Late { of, within }))
}

async fn connect(to: &str) -> Result<(), ProbeError> {
    match TcpStream::connect(to).await {
        Ok(_) => Ok(()),
        Err(source) => Err(ProbeError::Connect { to: to.to_owned(), source }),
    }
}

/// Asks until nobody listens any more, and tells of the gate and the last reason.
///
/// `begin` is where the gate was before the agent restarted; shut on a node that boots.
pub async fn watch(health: HealthCheck, begin: GateState, told: Sender<AnycastStatus>) {
    let mut gate = HealthGate::new(&health, begin);
    let mut ticks = time::interval(Duration::from_millis(health.interval.max(1).into()));
    // A late answer is not made up for by many questions at once.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let within = Duration::from_millis(health.timeout.max(1).into());
    while !told.is_closed() {
        ticks.tick().await;
        let answer = ask(&health.probe, within).await;
        let now = AnycastStatus {
            gate: gate.hear(answer.is_ok()),
            reason: answer.err().map(|bad| bad.to_string()),
        };
        told.send_if_modified(|was| {
            let changed = *was != now;
            *was = now;
            changed
        });
    }
}
