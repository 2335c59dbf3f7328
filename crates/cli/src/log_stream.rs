//! Follows logs across reboots and broken connections.
//!
//! After a reconnect the node sends stored lines again. A [`LogCursor`] finds the lines that were printed already.

use std::io::{self, Write};
use std::time::Duration;

use ichor_core::observe::log_cursor::{LogCursor, STORED_LINES};
use ichor_core::plan::NodePlan;
use ichor_talos::api::common::Data;
use tokio::time::{self, Instant};

use crate::cluster_client::boot_id;
use crate::connect::{NodeConnector, UnreachableError};
use crate::style;
use ichor_client::talos::machine::LogTail;
use ichor_client::talos::{NodeClient, NodeError, ResponseStream};

/// First and longest delay before a reconnect.
const RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);
/// After this time a connection counts as stable and resets the delay.
const STABLE_AFTER: Duration = Duration::from_secs(10);
/// After this pause the node has sent its stored lines, at the latest after the longest time.
const QUIET_AFTER: Duration = Duration::from_millis(300);
const MAX_CATCH_UP: Duration = Duration::from_secs(3);

/// A log of a node.
#[derive(Clone, Copy)]
pub(crate) enum LogSource<'l> {
    /// Log of a service, with the number of past lines to show.
    Service(&'l str, Option<u32>),
    /// Log of the kernel and Talos, optionally with past lines.
    Kernel { past: bool },
}

impl LogSource<'_> {
    fn open(self, node: &NodeClient, again: bool) -> ResponseStream<Data> {
        match self {
            Self::Service(service, lines) => {
                let remembered = u32::try_from(STORED_LINES).ok();
                let lines = if again { remembered } else { lines };
                node.logs(service, LogTail { lines, follow: true })
            }
            Self::Kernel { past } => node.dmesg(true, !past && !again),
        }
    }
}

/// Follows a log until the output fails, and returns that error. Fails if the first connection fails.
pub(crate) async fn follow_log(
    connector: &NodeConnector,
    plan: &NodePlan,
    node: NodeClient,
    log: LogSource<'_>,
    out: &mut dyn Write,
) -> Result<io::Error, NodeError> {
    let name = plan.name.as_str();
    let mut cursor = LogCursor::default();
    let mut boot = boot_id(&node).await.ok();
    let mut stream = log.open(&node, false);
    let (mut first, mut pause, mut since) = (true, RETRY_DELAY, Instant::now());
    loop {
        let lost = match stream.next().await {
            Ok(Some(data)) => {
                first = false;
                if let Err(error) = write_log(&data.bytes, &mut cursor, out) {
                    return Ok(error);
                }
                continue;
            }
            // An error of the first request goes to the caller.
            Err(error) if first => return Err(error),
            Err(error) => error.answer().to_owned(),
            Ok(None) => "the log stream ended".to_owned(),
        };
        if cursor.drop_partial_line()
            && let Err(error) = writeln!(out).and_then(|()| out.flush())
        {
            return Ok(error);
        }
        style::say(&format!("lost {name}: {lost}; reconnecting until Ctrl-C"));
        if since.elapsed() > STABLE_AFTER {
            pause = RETRY_DELAY;
        }
        let found = find_log(connector, plan, log, &mut pause).await;
        style::say(&format!("reconnected to {name} at {}", found.at));
        let same = boot.is_some() && boot == found.boot;
        if let Err(error) = write_log(&found.stored[cursor.find_new(&found.stored, same)..], &mut cursor, out)
        {
            return Ok(error);
        }
        (stream, boot, since, first) = (found.stream, found.boot, Instant::now(), false);
    }
}

fn write_log(bytes: &[u8], cursor: &mut LogCursor, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(bytes)?;
    out.flush()?;
    cursor.record(bytes);
    Ok(())
}

/// A log after a reconnect.
struct ResumedLog {
    at: String,
    boot: Option<String>,
    stream: ResponseStream<Data>,
    /// Lines stored by the node.
    stored: Vec<u8>,
}

/// Reconnects to a node's log until that succeeds.
async fn find_log(
    connector: &NodeConnector,
    plan: &NodePlan,
    log: LogSource<'_>,
    pause: &mut Duration,
) -> ResumedLog {
    let mut reported = String::new();
    loop {
        time::sleep(*pause).await;
        *pause = (*pause * 2).min(MAX_RETRY_DELAY);
        match resume_log(connector, plan, log).await {
            Ok(found) => return found,
            Err(error) => {
                let why = error.to_string();
                if why != reported {
                    style::say(&format!("{}: still not connected: {why}", plan.name));
                    reported = why;
                }
            }
        }
    }
}

/// Errors of reconnecting to a log.
#[derive(Debug, thiserror::Error)]
enum ResumeError {
    #[error(transparent)]
    Unreached(#[from] UnreachableError),
    #[error("{}", .0.answer())]
    Unreadable(#[source] NodeError),
}

async fn resume_log(
    connector: &NodeConnector,
    plan: &NodePlan,
    log: LogSource<'_>,
) -> Result<ResumedLog, ResumeError> {
    let reached = connector.find_node(plan).await;
    let at = reached.contact().map(|at| at.to_string()).unwrap_or_default();
    let node = reached.node(plan.name.as_str())?;
    let boot = boot_id(&node).await.ok();
    let mut stream = log.open(&node, true);
    let stored = catch_up(&mut stream).await.map_err(ResumeError::Unreadable)?;
    Ok(ResumedLog { at, boot, stream, stored })
}

/// Reads the stored lines of a log: everything until a pause.
async fn catch_up(stream: &mut ResponseStream<Data>) -> Result<Vec<u8>, NodeError> {
    let end = Instant::now() + MAX_CATCH_UP;
    let mut stored = Vec::new();
    while let Ok(received) = time::timeout_at(end.min(Instant::now() + QUIET_AFTER), stream.next()).await {
        match received? {
            Some(data) => stored.extend(data.bytes),
            None => break,
        }
    }
    Ok(stored)
}
