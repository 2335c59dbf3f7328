//! What Talos tells: whether the node is leaving.
//!
//! A service is stopped in the same way whether its document was edited or the machine reboots. Only machined knows which,
//! and says so in its events before it stops anything. [`follow`] listens to them over machined's socket.

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

/// Where machined listens, on the node and in an extension that mounts it.
pub const SOCKET: &str = "/system/run/machined/machine.sock";

/// The method that tells events.
const EVENTS: &str = "/machine.MachineService/Events";

/// The pause before machined is asked again, and the longest it grows to.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Past events come without a pause: after so long a silence, or so long a stream, what comes is new.
const SILENCE: Duration = Duration::from_millis(50);
const PAST: Duration = Duration::from_secs(1);

/// Why machined is not heard.
#[derive(Debug, thiserror::Error)]
enum EventsError {
    #[error(
        "{0} is not there: a node that leaves cannot be told from a restart; \
         mount it into the service and let the service depend on it"
    )]
    Missing(String),
    #[error("cannot connect to machined")]
    Connect(#[source] GrpcError),
    #[error("machined refuses to tell its events: {0}")]
    Refused(String),
    #[error("machined ended the stream of its events")]
    Ended,
}

/// Tells for ever whether the node is leaving, and why; ends when nobody listens any more.
///
/// What was told stays when machined is gone: it ends before the node does.
pub async fn follow(socket: &Path, told: &Sender<Option<LeaveReason>>) {
    let mut pause = PAUSES.0;
    let mut said = None;
    loop {
        let deaf = tokio::select! {
            deaf = listen(socket, told, &mut said, &mut pause) => deaf,
            () = told.closed() => return,
        };
        // Once for each reason: it may be so for hours.
        let words = chain(&deaf);
        if said.as_ref() != Some(&words) {
            log::warn(&words);
            said = Some(words);
        }
        tokio::select! {
            () = time::sleep(pause) => {}
            () = told.closed() => return,
        }
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Listens until there is nothing to be heard any more.
async fn listen(
    socket: &Path,
    told: &Sender<Option<LeaveReason>>,
    said: &mut Option<String>,
    pause: &mut Duration,
) -> EventsError {
    let mut events = match open(socket).await {
        Ok(events) => events,
        Err(deaf) => return deaf,
    };
    let (mut machine, mut past, start) = (MachineState::default(), true, Instant::now());
    loop {
        let next = if past { time::timeout(SILENCE, events.next()).await } else { Ok(events.next().await) };
        match next {
            Ok(Ok(Some(event))) => {
                if said.take().is_some() {
                    log::info("machined tells its events again");
                }
                *pause = PAUSES.0;
                if let Some(data) = event.data {
                    machine.hear(&data);
                }
                past &= start.elapsed() < PAST;
            }
            Ok(Ok(None)) => return EventsError::Ended,
            Ok(Err(error)) => return EventsError::Refused(chain(&error)),
            Err(_) => past = false,
        }
        // Of what is past only the end counts: a reboot that failed this morning is not one that begins now.
        if !past {
            let now = machine.leaving();
            told.send_if_modified(|was| std::mem::replace(was, now) != now);
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
