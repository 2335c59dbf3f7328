//! Talos' events: whether the node is leaving.
//!
//! A service is stopped in the same way after an edit of its document and before a reboot. Only machined knows the
//! difference, and reports it in its events before it stops anything. [`follow`] receives them over machined's socket.

mod machine;
mod message;

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::sync::watch::Sender;
use tokio::time;

use crate::grpc::{GrpcClient, GrpcError, MessageStream};
use crate::log;
use crate::run::chain;
pub use machine::LeaveReason;
use machine::MachineState;
use message::{EventsRequest, MachineEvent};

/// machined's socket, on the node and in an extension that mounts it.
pub const SOCKET: &str = "/system/run/machined/machine.sock";

/// The method that streams events.
const EVENTS: &str = "/machine.MachineService/Events";

/// The first and the longest pause before machined is called again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Past events arrive without a pause: after this silence, or this long a stream, events are new.
const QUIET: Duration = Duration::from_millis(50);
const PAST: Duration = Duration::from_secs(1);

/// Why no events are received.
#[derive(Debug, thiserror::Error)]
enum EventsError {
    #[error(
        "{0} is missing, so a leaving node cannot be distinguished from a restart; \
         mount it into the service and make the service depend on it"
    )]
    Missing(String),
    #[error("cannot connect to machined")]
    Connect(#[source] GrpcError),
    #[error("cannot read machined's events: {0}")]
    Refused(String),
    #[error("machined ended the stream of its events")]
    Ended,
}

/// Publishes whether the node is leaving, and why, until the receiver is dropped.
///
/// The last value is kept when machined is gone: it ends before the node does.
pub async fn follow(socket: &Path, sender: &Sender<Option<LeaveReason>>) {
    let mut pause = PAUSES.0;
    let mut last_warning = None;
    loop {
        let error = tokio::select! {
            error = listen(socket, sender, &mut last_warning, &mut pause) => error,
            () = sender.closed() => return,
        };
        // Once for each reason, which may persist for hours.
        let warning = chain(&error);
        if last_warning.as_ref() != Some(&warning) {
            log::warn(&warning);
            last_warning = Some(warning);
        }
        tokio::select! {
            () = time::sleep(pause) => {}
            () = sender.closed() => return,
        }
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Receives events until the stream ends.
async fn listen(
    socket: &Path,
    sender: &Sender<Option<LeaveReason>>,
    last_warning: &mut Option<String>,
    pause: &mut Duration,
) -> EventsError {
    let mut events = match open(socket).await {
        Ok(events) => events,
        Err(error) => return error,
    };
    let (mut machine, mut past, start) = (MachineState::default(), true, Instant::now());
    loop {
        let next = if past { time::timeout(QUIET, events.next()).await } else { Ok(events.next().await) };
        match next {
            Ok(Ok(Some(event))) => {
                if last_warning.take().is_some() {
                    log::info("receiving machined's events again");
                }
                *pause = PAUSES.0;
                if let Some(data) = event.data {
                    machine.handle(&data);
                }
                past &= start.elapsed() < PAST;
            }
            Ok(Ok(None)) => return EventsError::Ended,
            Ok(Err(error)) => return EventsError::Refused(chain(&error)),
            Err(_) => past = false,
        }
        // Of past events, only the final state counts: a reboot that failed this morning is not one that starts now.
        if !past {
            let now = machine.leaving();
            sender.send_if_modified(|was| std::mem::replace(was, now) != now);
        }
    }
}

/// The machine's events since it booted, and from then on each as it happens.
async fn open(socket: &Path) -> Result<MessageStream<MachineEvent>, EventsError> {
    let path = socket.display().to_string();
    if !socket.exists() {
        return Err(EventsError::Missing(path));
    }
    let client = GrpcClient::connect(socket).await.map_err(EventsError::Connect)?;
    let mut client = client.with_metadata("talos-role", "os:reader");
    let request = EventsRequest { tail_events: -1 };
    client.stream(EVENTS, &request).await.map_err(|error| EventsError::Refused(chain(&error)))
}
