//! A log that is followed, also across reboots and connections that break.
//!
//! What a node tells again after it was lost is compared by [`Seam`] with what was shown, and only the rest of it is shown.

use std::io::{self, Write};
use std::time::Duration;

use ichor_core::observe::seam::{REMEMBERED, Seam};
use ichor_core::plan::NodePlan;
use ichor_talos::api::common::Data;
use tokio::time::{self, Instant};

use crate::crew::boot_id;
use crate::reach::{Reach, UnreachedError};
use crate::style;
use ichor_client::talos::machine::LogTail;
use ichor_client::talos::{Node, NodeError, Stream};

/// How long to wait before a node is looked for again, at first and at most.
const AGAIN: Duration = Duration::from_millis(500);
const LONGEST_AGAIN: Duration = Duration::from_secs(5);
/// A connection that held for so long was a good one.
const HELD: Duration = Duration::from_secs(10);
/// When a node pauses for so long, it has told what it had kept; also when it goes on and on.
const CAUGHT_UP: Duration = Duration::from_millis(300);
const LONGEST_CATCH: Duration = Duration::from_secs(3);

/// What is followed.
#[derive(Clone, Copy)]
pub(crate) enum Log<'l> {
    /// The log of a service, and how many of its last lines are shown first.
    Service(&'l str, Option<u32>),
    /// What the kernel and Talos itself write; what is past only if it is wanted.
    Kernel { past: bool },
}

impl Log<'_> {
    fn open(self, node: &Node, again: bool) -> Stream<Data> {
        match self {
            Self::Service(service, lines) => {
                let remembered = u32::try_from(REMEMBERED).ok();
                let lines = if again { remembered } else { lines };
                node.logs(service, LogTail { lines, follow: true })
            }
            Self::Kernel { past } => node.dmesg(true, !past && !again),
        }
    }
}

/// Follows a log until it cannot be shown any more, and says why not; an error is one of the first connection.
pub(crate) async fn follow(
    reach: &Reach,
    plan: &NodePlan,
    node: Node,
    log: Log<'_>,
    out: &mut dyn Write,
) -> Result<io::Error, NodeError> {
    let name = plan.name.as_str();
    let mut seam = Seam::default();
    let mut boot = boot_id(&node).await.ok();
    let mut stream = log.open(&node, false);
    let (mut first, mut pause, mut since) = (true, AGAIN, Instant::now());
    loop {
        let lost = match stream.next().await {
            Ok(Some(data)) => {
                first = false;
                if let Err(error) = show(&data.bytes, &mut seam, out) {
                    return Ok(error);
                }
                continue;
            }
            // Whoever asked for something that is not there is told so.
            Err(error) if first => return Err(error),
            Err(error) => error.answer().to_owned(),
            Ok(None) => "it ended its log".to_owned(),
        };
        if seam.break_off()
            && let Err(error) = writeln!(out).and_then(|()| out.flush())
        {
            return Ok(error);
        }
        style::say(&format!("lost {name}: {lost}; looking for it until Ctrl-C"));
        if since.elapsed() > HELD {
            pause = AGAIN;
        }
        let found = find(reach, plan, log, &mut pause).await;
        style::say(&format!("found {name} again at {}", found.at));
        let same = boot.is_some() && boot == found.boot;
        if let Err(error) = show(&found.kept[seam.fresh(&found.kept, same)..], &mut seam, out) {
            return Ok(error);
        }
        (stream, boot, since, first) = (found.stream, found.boot, Instant::now(), false);
    }
}

fn show(bytes: &[u8], seam: &mut Seam, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(bytes)?;
    out.flush()?;
    seam.show(bytes);
    Ok(())
}

/// A log that was found again.
struct Found {
    at: String,
    boot: Option<String>,
    stream: Stream<Data>,
    /// What the node had kept of it.
    kept: Vec<u8>,
}

/// Looks for a node until it tells its log.
async fn find(reach: &Reach, plan: &NodePlan, log: Log<'_>, pause: &mut Duration) -> Found {
    let mut said = String::new();
    loop {
        time::sleep(*pause).await;
        *pause = (*pause * 2).min(LONGEST_AGAIN);
        match look(reach, plan, log).await {
            Ok(found) => return found,
            Err(error) => {
                let why = error.to_string();
                if why != said {
                    style::say(&format!("{}: not yet: {why}", plan.name));
                    said = why;
                }
            }
        }
    }
}

/// Why a log cannot be followed again yet.
#[derive(Debug, thiserror::Error)]
enum LostError {
    #[error(transparent)]
    Unreached(#[from] UnreachedError),
    #[error("{}", .0.answer())]
    Untold(#[source] NodeError),
}

async fn look(reach: &Reach, plan: &NodePlan, log: Log<'_>) -> Result<Found, LostError> {
    let reached = reach.node(plan).await;
    let at = reached.contact().map(|at| at.to_string()).unwrap_or_default();
    let node = reached.node(plan.name.as_str())?;
    let boot = boot_id(&node).await.ok();
    let mut stream = log.open(&node, true);
    let kept = catch_up(&mut stream).await.map_err(LostError::Untold)?;
    Ok(Found { at, boot, stream, kept })
}

/// What a node has kept of a log: everything until it pauses.
async fn catch_up(stream: &mut Stream<Data>) -> Result<Vec<u8>, NodeError> {
    let end = Instant::now() + LONGEST_CATCH;
    let mut kept = Vec::new();
    while let Ok(told) = time::timeout_at(end.min(Instant::now() + CAUGHT_UP), stream.next()).await {
        match told? {
            Some(data) => kept.extend(data.bytes),
            None => break,
        }
    }
    Ok(kept)
}
