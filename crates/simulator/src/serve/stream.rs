//! Answers of simulated nodes that come in pieces.
#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "all of them have one form, by which a call finds its answer"
)]

use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use crate::fleet::rbac;
use crate::fleet::{
    CallError, CheckPending, ErrorCode, HealthCheck, NodeEvent, NodeEventKind, kubeconfig as text_of,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::{StreamExt as _, stream};
use ichor_talos::api::Empty;
use ichor_talos::api::cluster::{HealthCheckProgress, HealthCheckRequest};
use ichor_talos::api::common::{Any, Data};
use ichor_talos::api::cosi::{
    EventType, ListRequest, ListResponse, ResourceMessage, WatchEvent as StateEvent, WatchRequest,
    WatchResponse,
};
use ichor_talos::api::image::{PullRequest, PullResponse};
use ichor_talos::api::lifecycle::{
    LifecycleUpgradeRequest, LifecycleUpgradeResponse, Progress, UpgradeOutput,
};
use ichor_talos::api::machine::{
    DmesgRequest, EventsRequest, LogsRequest, MachineEvent, MachineStatusEvent, MachineStatusMessage,
    ReadRequest, SequenceAction, SequenceEvent,
};
use ichor_talos::secrets::kubernetes_admin_certificate;
use prost::Message as _;
use rand_core::OsRng;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{self, Instant};
use tonic::Status;

use super::talos::{ApiConnection, ResponseStream, status};

/// The lifetime of the certificate in a kubeconfig, as in Talos.
const YEAR: Duration = Duration::from_hours(8760);
/// The largest piece of bytes.
const PIECE: usize = 32 << 10;
/// The polling interval of a health check between changes.
const AGAIN: Duration = Duration::from_secs(1);

fn all<A: Send + 'static>(pieces: impl IntoIterator<Item = A>) -> ResponseStream<A> {
    let pieces: Vec<Result<A, Status>> = pieces.into_iter().map(Ok).collect();
    ResponseStream::new(stream::iter(pieces))
}

fn of_channel<A: Send + 'static>(receiver: mpsc::Receiver<Result<A, Status>>) -> ResponseStream<A> {
    ResponseStream::new(stream::unfold(receiver, |mut receiver| async move {
        Some((receiver.recv().await?, receiver))
    }))
}

fn bytes(text: &[u8]) -> Vec<Data> {
    text.chunks(PIECE).map(|piece| Data { metadata: None, bytes: piece.to_vec() }).collect()
}

/// The first piece, and then the end of the connection.
pub(super) fn cut_after_one<A: Send + 'static>(
    pieces: ResponseStream<A>,
    cut: Arc<Notify>,
) -> ResponseStream<A> {
    let after = stream::once(async move {
        // Earlier messages must arrive.
        time::sleep(Duration::from_millis(20)).await;
        cut.notify_one();
        std::future::pending().await
    });
    ResponseStream::new(pieces.take(1).chain(after))
}

/// The chunks of an endless stream, until a fault cuts the connection.
fn until_cut<A: Send + 'static>(visit: &ApiConnection, pieces: ResponseStream<A>) -> ResponseStream<A> {
    let (world, nth, cut) = (Arc::clone(&visit.world), visit.nth, Arc::clone(&visit.cut));
    let ordered = async move {
        let mut changed = world.watch();
        loop {
            changed.borrow_and_update();
            let may = world.read(|fleet| fleet.machines[nth].faults.has("reset-mid-stream"));
            if may && world.act(|fleet, _| fleet.machines[nth].faults.take_cut()) {
                cut.notify_one();
            }
            if changed.changed().await.is_err() {
                return;
            }
        }
    };
    ResponseStream::new(pieces.take_until(Box::pin(ordered)))
}

pub(super) fn list(
    visit: &ApiConnection,
    request: ListRequest,
) -> Result<ResponseStream<ListResponse>, CallError> {
    rbac::authorize_resource(&request.r#type, &visit.caller)?;
    visit.world.read(|fleet| fleet.check_resource_type(visit.nth, &request.r#type))?;
    let found = visit.world.read(|fleet| fleet.resources(visit.nth, &request.namespace, &request.r#type));
    Ok(all(found.into_iter().map(|resource| ListResponse { resource: Some(resource) })))
}

/// Existing resources, and every change from then on.
pub(super) fn watch(
    visit: &ApiConnection,
    request: WatchRequest,
) -> Result<ResponseStream<WatchResponse>, CallError> {
    rbac::authorize_resource(&request.r#type, &visit.caller)?;
    visit.world.read(|fleet| fleet.check_resource_type(visit.nth, &request.r#type))?;
    if request.id.is_some() && request.options.is_some_and(|options| options.bootstrap_contents) {
        let message = "bootstrap contents is not implemented for resource watch";
        return Err(CallError::new(ErrorCode::Unimplemented, message));
    }
    let (sender, receiver) = mpsc::channel(4);
    let (world, nth) = (Arc::clone(&visit.world), visit.nth);
    tokio::spawn(async move {
        let mut changed = world.watch();
        let mut known: BTreeMap<String, ResourceMessage> = BTreeMap::new();
        let bootstrap = request.options.is_some_and(|options| options.bootstrap_contents);
        let mut first = true;
        loop {
            changed.borrow_and_update();
            let found = world.read(|fleet| fleet.resources(nth, &request.namespace, &request.r#type));
            let wanted =
                |resource: &ResourceMessage| request.id.as_ref().is_none_or(|id| *id == id_of(resource));
            let now: BTreeMap<_, _> =
                found.into_iter().filter(wanted).map(|resource| (id_of(&resource), resource)).collect();
            let mut event = if first && !bootstrap { Vec::new() } else { differences(&known, &now) };
            if first && bootstrap {
                event.push(state_event(EventType::Bootstrapped, None));
            }
            (known, first) = (now, false);
            if !event.is_empty() && sender.send(Ok(WatchResponse { event })).await.is_err() {
                return;
            }
            tokio::select! {
                changed = changed.changed() => if changed.is_err() { return },
                () = sender.closed() => return,
            }
            // A watch wakes up for changes of other nodes as well: with many, all would read all the time.
            time::sleep(world.rest()).await;
        }
    });
    Ok(of_channel(receiver))
}

fn id_of(resource: &ResourceMessage) -> String {
    resource.metadata.as_ref().map(|metadata| metadata.id.clone()).unwrap_or_default()
}

fn state_event(kind: EventType, resource: Option<ResourceMessage>) -> StateEvent {
    StateEvent { resource, event_type: kind as i32, error: String::new() }
}

fn differences(
    before: &BTreeMap<String, ResourceMessage>,
    now: &BTreeMap<String, ResourceMessage>,
) -> Vec<StateEvent> {
    let mut events = Vec::new();
    for (id, resource) in now {
        match before.get(id) {
            None => events.push(state_event(EventType::Created, Some(resource.clone()))),
            Some(old) if old != resource => {
                events.push(state_event(EventType::Updated, Some(resource.clone())));
            }
            Some(_) => {}
        }
    }
    let gone = before.iter().filter(|(id, _)| !now.contains_key(*id));
    events.extend(gone.map(|(_, old)| state_event(EventType::Destroyed, Some(old.clone()))));
    events
}

pub(super) fn logs(visit: &ApiConnection, request: LogsRequest) -> Result<ResponseStream<Data>, CallError> {
    let lines = visit.world.read(|fleet| fleet.logs(visit.nth, &request.id))?;
    let from = match usize::try_from(request.tail_lines) {
        Ok(count) => lines.len().saturating_sub(count),
        Err(_) => 0,
    };
    let text = lines[from..].join("\n") + "\n";
    let pieces = all(bytes(text.as_bytes()));
    if request.follow {
        Ok(until_cut(visit, ResponseStream::new(pieces.chain(stream::pending()))))
    } else {
        Ok(pieces)
    }
}

pub(super) fn dmesg(visit: &ApiConnection, request: DmesgRequest) -> Result<ResponseStream<Data>, CallError> {
    let (world, nth) = (Arc::clone(&visit.world), visit.nth);
    let (sender, receiver) = mpsc::channel(4);
    tokio::spawn(async move {
        let mut changed = world.watch();
        let mut sent =
            if request.tail { world.read(|fleet| fleet.machines[nth].log_lines().len()) } else { 0 };
        loop {
            changed.borrow_and_update();
            let lines = world.read(|fleet| fleet.dmesg(nth));
            let new_lines = lines.get(sent..).unwrap_or_default();
            for line in new_lines {
                let data = Data { metadata: None, bytes: format!("{line}\n").into_bytes() };
                if sender.send(Ok(data)).await.is_err() {
                    return;
                }
            }
            sent = lines.len();
            if !request.follow || wait_for_change(&mut changed, &sender).await {
                return;
            }
        }
    });
    let pieces = of_channel(receiver);
    Ok(if request.follow { until_cut(visit, pieces) } else { pieces })
}

/// Waits for a change; returns whether the client is gone.
async fn wait_for_change<A>(changed: &mut watch::Receiver<u64>, sender: &mpsc::Sender<A>) -> bool {
    tokio::select! {
        changed = changed.changed() => changed.is_err(),
        () = sender.closed() => true,
    }
}

pub(super) fn read(visit: &ApiConnection, request: ReadRequest) -> Result<ResponseStream<Data>, CallError> {
    let text = visit.world.read(|fleet| fleet.file(visit.nth, &request.path))?;
    Ok(all(bytes(text.as_bytes())))
}

pub(super) fn events(
    visit: &ApiConnection,
    request: EventsRequest,
) -> Result<ResponseStream<MachineEvent>, CallError> {
    let (world, nth) = (Arc::clone(&visit.world), visit.nth);
    let (sender, receiver) = mpsc::channel(16);
    let mut from = world.read(|fleet| {
        let machine = &fleet.machines[nth];
        let known = machine.events(0).count() as u64;
        let tail = u64::try_from(request.tail_events).unwrap_or(known).min(known);
        machine.next_event() - tail
    });
    tokio::spawn(async move {
        let mut changed = world.watch();
        // The first event of a stream is empty: it confirms that the stream is open.
        let mut pending: VecDeque<MachineEvent> = VecDeque::from([MachineEvent::default()]);
        loop {
            changed.borrow_and_update();
            world.read(|fleet| {
                let machine = &fleet.machines[nth];
                pending.extend(machine.events(from).map(event_message));
                from = machine.next_event();
            });
            for event in pending.drain(..) {
                if sender.send(Ok(event)).await.is_err() {
                    return;
                }
            }
            if wait_for_change(&mut changed, &sender).await {
                return;
            }
        }
    });
    Ok(of_channel(receiver))
}

fn event_message(event: &NodeEvent) -> MachineEvent {
    let (name, value) = match &event.what {
        NodeEventKind::Stage(stage, ready) => {
            let status = Some(MachineStatusMessage { ready: *ready, unmet_conditions: Vec::new() });
            let message = MachineStatusEvent { stage: *stage as i32, status };
            ("MachineStatusEvent", message.encode_to_vec())
        }
        NodeEventKind::Sequence(word, begins) => {
            let action = if *begins { SequenceAction::Start } else { SequenceAction::Stop };
            let message = SequenceEvent { sequence: (*word).to_owned(), action: action as i32 };
            ("SequenceEvent", message.encode_to_vec())
        }
    };
    MachineEvent {
        metadata: None,
        data: Some(Any { type_url: format!("talos/runtime/machine.{name}"), value }),
        id: format!("{:020}", event.id),
    }
}

pub(super) fn kubeconfig(visit: &ApiConnection, _: Empty) -> Result<ResponseStream<Data>, CallError> {
    let intent = visit.world.read(|fleet| fleet.machines[visit.nth].intent.clone());
    let only =
        || CallError::new(ErrorCode::Unimplemented, "kubeconfig is only available on control plane nodes");
    let intent = intent.ok_or_else(only)?;
    let authorities = intent.authorities.as_ref().ok_or_else(only)?;
    let failed = |error: String| CallError::new(ErrorCode::Unknown, error);
    let admin = kubernetes_admin_certificate(&authorities.k8s, &mut OsRng, ichor_system::now(), YEAR)
        .map_err(|error| failed(format!("error generating Kubernetes client certificate: {error}")))?;
    let text = text_of(&intent, &authorities.k8s.crt, &admin);
    let packed = pack(text.as_bytes()).map_err(|error| failed(error.to_string()))?;
    Ok(all(bytes(&packed)))
}

/// A tar.gz with one file.
fn pack(text: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o600);
    archive.append_data(&mut header, "kubeconfig", text)?;
    let mut packed = archive.into_inner()?;
    packed.flush()?;
    packed.finish()
}

/// Runs the checks in sequence, and reports the pending one.
pub(super) fn health(
    visit: &ApiConnection,
    request: HealthCheckRequest,
) -> Result<ResponseStream<HealthCheckProgress>, CallError> {
    let (world, nth) = (Arc::clone(&visit.world), visit.nth);
    if !world.read(|fleet| fleet.machines[nth].is_control_plane()) {
        let message = "cluster health check is only available on control plane nodes";
        return Err(CallError::new(ErrorCode::Unimplemented, message));
    }
    let named = request.cluster_info.unwrap_or_default();
    let wait = request.wait_timeout.unwrap_or_default();
    let wait = Duration::from_secs(u64::try_from(wait.seconds).unwrap_or_default());
    let until = Instant::now() + wait;
    let (sender, receiver) = mpsc::channel(16);
    let say = |message: String| Ok(HealthCheckProgress { metadata: None, message });
    tokio::spawn(async move {
        let mut changed = world.watch();
        let nodes =
            world.read(|fleet| fleet.health_nodes(nth, &named.control_plane_nodes, &named.worker_nodes));
        if sender.send(say(nodes.discovery_message())).await.is_err() {
            return;
        }
        for check in HealthCheck::ALL {
            let mut last = format!("waiting for {}: ...", check.name);
            if sender.send(say(last.clone())).await.is_err() {
                return;
            }
            loop {
                changed.borrow_and_update();
                let (line, done) = match world.read(|fleet| check.run(fleet, &nodes)) {
                    Ok(()) => (format!("waiting for {}: OK", check.name), true),
                    Err(CheckPending::Skipped) => (format!("waiting for {}: SKIP", check.name), true),
                    Err(CheckPending::For(why)) => (format!("waiting for {}: {why}", check.name), false),
                };
                if line != last && sender.send(say(line.clone())).await.is_err() {
                    return;
                }
                last = line;
                if done {
                    break;
                }
                if Instant::now() >= until {
                    let error = CallError::new(ErrorCode::DeadlineExceeded, "context deadline exceeded");
                    let _ = sender.send(Err(status(&error))).await;
                    return;
                }
                tokio::select! {
                    _ = changed.changed() => {}
                    () = time::sleep(AGAIN.min(until.saturating_duration_since(Instant::now()))) => {}
                    () = sender.closed() => return,
                }
            }
        }
    });
    Ok(of_channel(receiver))
}

pub(super) fn pull(
    visit: &ApiConnection,
    request: PullRequest,
) -> Result<ResponseStream<PullResponse>, CallError> {
    let name = visit.world.act(|fleet, _| fleet.pull(visit.nth, &request.image_ref))?;
    Ok(all([PullResponse { name: Some(name) }]))
}

/// The installer runs for as long as an installation takes.
pub(super) fn lifecycle_upgrade(
    visit: &ApiConnection,
    request: LifecycleUpgradeRequest,
) -> Result<ResponseStream<LifecycleUpgradeResponse>, CallError> {
    let image = request.source.unwrap_or_default().image_name;
    let (release, delay, code) = visit.world.act(|fleet, _| {
        let release = fleet.install_upgrade(visit.nth, &image)?;
        let code = i32::from(fleet.machines[visit.nth].faults.has("fail-install"));
        Ok((release, fleet.delays.install, code))
    })?;
    let say = |said| LifecycleUpgradeResponse { progress: Some(Progress { response: Some(said) }) };
    let first = say(UpgradeOutput::Message(format!("running Talos installer {release}")));
    let last = stream::once(async move {
        time::sleep(delay).await;
        Ok(say(UpgradeOutput::ExitCode(code)))
    });
    Ok(ResponseStream::new(all([first]).chain(last)))
}
