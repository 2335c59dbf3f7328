//! The health check behind anycast addresses.
//!
//! [`run_probe`] runs one probe and describes its failure; [`watch`] probes regularly and publishes the state of the
//! gate. One probe runs at a time, each has a timeout, and no more of a response is read than necessary.
//!
//! Not here: when the gate changes, which is [`ichor_bgp::agent::health_gate`].

mod command;
mod request;

use std::io;
use std::time::Duration;

use ichor_bgp::agent::HealthGate;
use ichor_bgp::agent::config::{HealthCheck, HealthProbe};
use ichor_bgp::agent::health_gate::GateState;
use ichor_bgp::agent::status::AnycastStatus;
use tokio::net::TcpStream;
use tokio::sync::watch::Sender;
use tokio::time::{self, MissedTickBehavior};

/// A failed probe.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It timed out.
    #[error("no answer from {of} within {} ms", within.as_millis())]
    Late {
        /// The target.
        of: String,
        /// The timeout.
        within: Duration,
    },
    /// The connection failed.
    #[error("cannot connect to {to}: {source}")]
    Connect {
        /// The target.
        to: String,
        /// The cause.
        source: io::Error,
    },
    /// The target does not speak TLS, or no supported version.
    #[error("{with} does not speak TLS 1.2 or 1.3: {source}")]
    Tls {
        /// The target.
        with: String,
        /// The cause.
        source: io::Error,
    },
    /// The target does not speak HTTP.
    #[error("{of} does not answer in HTTP: {source}")]
    Http {
        /// The target.
        of: String,
        /// The cause.
        source: hyper::Error,
    },
    /// The response is not 2xx.
    #[error("{of} answers {status}")]
    Status {
        /// The target.
        of: String,
        /// The HTTP status.
        status: u16,
    },
    /// An invalid URL.
    #[error("{0:?} is not a URL such as https://127.0.0.1:6443/readyz")]
    Url(String),
    /// A command that cannot be started.
    #[error("cannot run {program}: {source}")]
    Start {
        /// The program.
        program: String,
        /// The cause.
        source: io::Error,
    },
    /// A command without a program.
    #[error("the command of the health check is empty")]
    Empty,
    /// A command that did not exit with 0.
    #[error("{program} ended with {end}{message}")]
    Ended {
        /// The program.
        program: String,
        /// Its exit status: `exit status: 1`, `signal: 9`.
        end: String,
        /// The first line of its error output, after a colon.
        message: String,
    },
}

/// Runs one probe, which takes at most `within`.
pub async fn run_probe(probe: &HealthProbe, within: Duration) -> Result<(), ProbeError> {
    let (of, result) = match probe {
        HealthProbe::Url(url) => (url.clone(), time::timeout(within, request::get_url(url)).await),
        HealthProbe::Tcp(to) => (to.clone(), time::timeout(within, connect(to)).await),
        HealthProbe::Command(words) => return command::run_command(words, within).await,
    };
    result.unwrap_or(Err(ProbeError::Late { of, within }))
}

async fn connect(to: &str) -> Result<(), ProbeError> {
    match TcpStream::connect(to).await {
        Ok(_) => Ok(()),
        Err(source) => Err(ProbeError::Connect { to: to.to_owned(), source }),
    }
}

/// Probes until the receiver is dropped, and publishes the state of the gate and the last failure.
///
/// `begin` is the state of the gate before the agent restarted; closed on a node that boots.
pub async fn watch(health: HealthCheck, initial: GateState, sender: Sender<AnycastStatus>) {
    let mut gate = HealthGate::new(&health, initial);
    let mut ticks = time::interval(Duration::from_millis(health.interval.max(1).into()));
    // A late probe is not followed by a burst.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let within = Duration::from_millis(health.timeout.max(1).into());
    while !sender.is_closed() {
        ticks.tick().await;
        let result = run_probe(&health.probe, within).await;
        let now = AnycastStatus {
            gate: gate.record(result.is_ok()),
            reason: result.err().map(|error| error.to_string()),
        };
        sender.send_if_modified(|was| {
            let changed = *was != now;
            *was = now;
            changed
        });
    }
}
