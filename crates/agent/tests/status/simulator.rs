//! A simulator of machined's socket: `/machine.MachineService/Events` as in Talos 1.11 to 1.14.
//!
//! It simulates nothing else of machined. The messages are defined a second time, so that a wrong field number in the
//! agent is detected.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message as _;
use tokio::net::UnixListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

#[derive(Clone, PartialEq, prost::Message)]
struct EventsRequest {
    #[prost(int32, tag = "1")]
    tail_events: i32,
    #[prost(string, tag = "2")]
    tail_id: String,
    #[prost(int32, tag = "3")]
    tail_seconds: i32,
    #[prost(string, tag = "4")]
    with_actor_id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Event {
    #[prost(message, optional, tag = "2")]
    data: Option<Any>,
    #[prost(string, tag = "3")]
    id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct MachineStatusEvent {
    #[prost(int32, tag = "1")]
    stage: i32,
    #[prost(message, optional, tag = "2")]
    status: Option<MachineStatus>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct MachineStatus {
    #[prost(bool, tag = "1")]
    ready: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SequenceEvent {
    #[prost(string, tag = "1")]
    sequence: String,
    #[prost(int32, tag = "2")]
    action: i32,
}

pub const RUNNING: i32 = 4;
pub const REBOOTING: i32 = 5;
pub const SHUTTING_DOWN: i32 = 6;
pub const UPGRADING: i32 = 8;
pub const START: i32 = 1;
pub const STOP: i32 = 2;

#[derive(Default)]
struct Stream {
    past: Vec<Event>,
    watchers: Vec<UnboundedSender<Event>>,
    refused: usize,
}

/// The simulated socket, which is removed on drop.
pub struct Simulator {
    path: PathBuf,
    stream: Arc<Mutex<Stream>>,
    _tasks: JoinSet<()>,
}

impl Simulator {
    pub fn start(path: &Path) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let stream = Arc::new(Mutex::new(Stream::default()));
        let mut tasks = JoinSet::new();
        let shared = Arc::clone(&stream);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                let answer = service_fn(move |request| events(request, Arc::clone(&shared)));
                let server = http2::Builder::new(TokioExecutor::new());
                let connection = server.serve_connection(TokioIo::new(socket), answer);
                connections.spawn(async move { drop(connection.await) });
            }
        });
        Self { path: path.to_owned(), stream, _tasks: tasks }
    }

    pub fn stage(&self, stage: i32) {
        let status = Some(MachineStatus { ready: true });
        self.publish("MachineStatusEvent", MachineStatusEvent { stage, status }.encode_to_vec());
    }

    pub fn sequence(&self, sequence: &str, action: i32) {
        let event = SequenceEvent { sequence: sequence.to_owned(), action };
        self.publish("SequenceEvent", event.encode_to_vec());
    }

    /// An event without meaning for an agent.
    pub fn other(&self) {
        self.publish("TaskEvent", vec![0x0a, 1, b'x']);
    }

    pub fn is_followed(&self) -> bool {
        self.stream.lock().unwrap().watchers.iter().any(|watcher| !watcher.is_closed())
    }

    pub fn refused(&self) -> usize {
        self.stream.lock().unwrap().refused
    }

    fn publish(&self, name: &str, value: Vec<u8>) {
        let mut stream = self.stream.lock().unwrap();
        let data = Some(Any { type_url: format!("talos/runtime/machine.{name}"), value });
        let event = Event { data, id: format!("{:020}", stream.past.len()) };
        stream.past.push(event.clone());
        stream.watchers.retain(|watcher| watcher.send(event.clone()).is_ok());
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // machined recreates its socket when it starts.
        let _ = std::fs::remove_file(&self.path);
    }
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

async fn events(
    request: Request<Incoming>,
    shared: Arc<Mutex<Stream>>,
) -> Result<Response<Body>, Infallible> {
    let known = request.uri().path() == "/machine.MachineService/Events";
    // Roles come from metadata only: without any, every call is denied.
    let roles: Vec<_> = request.headers().get_all("talos-role").iter().collect();
    if !known
        || !roles.iter().any(|role| ["os:reader", "os:operator", "os:admin"].iter().any(|it| role == it))
    {
        shared.lock().unwrap().refused += 1;
        let (sender, receiver) = unbounded_channel();
        drop(sender);
        let (code, message) = if known { ("7", "not authorized") } else { ("12", "unknown method") };
        let mut answer = answer(receiver);
        answer.headers_mut().insert("grpc-status", code.parse().unwrap());
        answer.headers_mut().insert("grpc-message", message.parse().unwrap());
        return Ok(answer);
    }
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let request = EventsRequest::decode(&body[5..]).unwrap();
    let (sender, receiver) = unbounded_channel();
    // The stream starts with an empty event.
    sender.send(Event::default()).unwrap();
    let mut stream = shared.lock().unwrap();
    let skipped = match request.tail_events {
        0 => stream.past.len(),
        ..0 => 0,
        some => stream.past.len().saturating_sub(usize::try_from(some).unwrap()),
    };
    stream.past[skipped..].iter().for_each(|event| sender.send(event.clone()).unwrap());
    stream.watchers.push(sender);
    Ok(answer(receiver))
}

/// Events in frames of gRPC: no compression, the length, the message.
fn answer(receiver: UnboundedReceiver<Event>) -> Response<Body> {
    let frames = stream::unfold(receiver, |mut receiver| async {
        let message = receiver.recv().await?.encode_to_vec();
        let mut frame = vec![0];
        frame.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
        frame.extend(message);
        Some((Ok(Frame::data(Bytes::from(frame))), receiver))
    });
    let mut answer = Response::new(StreamBody::new(frames).boxed_unsync());
    answer.headers_mut().insert("content-type", "application/grpc".parse().unwrap());
    answer
}
