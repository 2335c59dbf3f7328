//! Talos' API of a simulated node: calls by their paths, over HTTP/2.
//!
//! [`crate::fleet`] decides what a call does; here calls are decoded, authorized, recorded in the journal and answered.

use std::convert::Infallible;
use std::future::{Future, ready};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::fleet::rbac;
use crate::fleet::rbac::Caller;
use crate::fleet::{CallError, Fleet, ServiceAction, no_such_resource};
use futures_util::Stream;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request as HttpRequest, Response as HttpResponse};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use ichor_talos::api::machine::{
    ApplyConfigurationRequest, DmesgRequest, EtcdForfeitLeadership, EtcdForfeitLeadershipResponse,
    EtcdRemoveMemberByIdRequest, EventsRequest, LogsRequest, MetaDeleteRequest, MetaWriteRequest,
    ReadRequest, RebootRequest, ResetRequest, ServiceRequest, ShutdownRequest, UpgradeRequest,
};
use ichor_talos::api::{Empty, cluster, cosi, image, lifecycle, method};
use ichor_talos::secrets::roles;
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time;
use tokio_rustls::server::TlsStream;
use tonic::body::Body;
use tonic::server::Grpc;
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower_service::Service;

use super::state::SimulatorState;
use super::stream;

/// As much as Talos takes.
const LARGEST_MESSAGE: usize = 32 << 20;

/// A connection of a client to a node.
#[derive(Clone)]
pub(crate) struct ApiConnection {
    pub(super) world: Arc<SimulatorState>,
    pub(super) nth: usize,
    pub(super) caller: Caller,
    from: SocketAddr,
    /// Cuts the connection.
    pub(super) cut: Arc<Notify>,
    /// The number of calls that wait for their response, or for its start.
    under_way: Arc<watch::Sender<usize>>,
}

/// How long a finished response may take to be sent.
const FLUSH: Duration = Duration::from_millis(20);

type BoxedResponse = Pin<Box<dyn Future<Output = HttpResponse<Body>> + Send>>;

/// Pieces of an answer.
pub(super) struct ResponseStream<A>(Pin<Box<dyn Stream<Item = Result<A, Status>> + Send>>);

impl<A> ResponseStream<A> {
    pub(super) fn new(pieces: impl Stream<Item = Result<A, Status>> + Send + 'static) -> Self {
        Self(Box::pin(pieces))
    }
}

impl<A> Stream for ResponseStream<A> {
    type Item = Result<A, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

/// Answers on a connection until it ends, the door closes, or it is cut.
pub(crate) async fn serve(
    visit: ApiConnection,
    stream: TlsStream<TcpStream>,
    mut closing: watch::Receiver<bool>,
    farewell: Duration,
) {
    let (cut, mut under_way) = (Arc::clone(&visit.cut), visit.under_way.subscribe());
    let service = service_fn(move |request| visit.clone().serve_request(request));
    let mut server = http2::Builder::new(TokioExecutor::new());
    server.timer(TokioTimer::new());
    let mut connection = pin!(server.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = cut.notified() => return,
        _ = closing.wait_for(|closed| *closed) => {}
    }
    connection.as_mut().graceful_shutdown();
    // A pending call gets its response, even on a busy machine; an endless stream is cut.
    let answered = async {
        let _ = time::timeout(farewell, under_way.wait_for(|calls| *calls == 0)).await;
        time::sleep(FLUSH).await;
    };
    tokio::select! {
        biased;
        _ = connection => {}
        () = answered => {}
    }
}

/// A call that waits for its response, as long as this exists.
struct PendingCall(Arc<watch::Sender<usize>>);

impl PendingCall {
    fn begin(calls: &Arc<watch::Sender<usize>>) -> Self {
        calls.send_modify(|calls| *calls += 1);
        Self(Arc::clone(calls))
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        self.0.send_modify(|calls| *calls -= 1);
    }
}

impl ApiConnection {
    pub(crate) fn new(
        world: Arc<SimulatorState>,
        nth: usize,
        certificate: Option<&[u8]>,
        from: SocketAddr,
    ) -> Self {
        let caller = certificate.map_or(Caller::Anyone, |der| Caller::Known(roles(der)));
        let under_way = Arc::new(watch::Sender::new(0));
        Self { world, nth, caller, from, cut: Arc::new(Notify::new()), under_way }
    }

    fn serve_request(
        self,
        request: HttpRequest<Incoming>,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse<Body>, Infallible>> + Send>> {
        let under_way = PendingCall::begin(&self.under_way);
        Box::pin(async move {
            let _under_way = under_way;
            let path = request.uri().path().to_owned();
            let (admitted, slow) = self.world.read(|fleet| {
                let machine = &fleet.machines[self.nth];
                (rbac::authorize_call(&path, &self.caller, &machine.release), machine.faults.slow())
            });
            if let Some(slow) = slow {
                time::sleep(slow).await;
            }
            if let Err(error) = admitted {
                self.record(&path, Err(&error), Value::Null);
                return Ok(status(&error).into_http());
            }
            Ok(self.answer(&path, request).await)
        })
    }

    fn answer(self, path: &str, request: HttpRequest<Incoming>) -> BoxedResponse {
        let nth = self.nth;
        let caller = self.caller.clone();
        match path {
            method::VERSION => self.read_call(request, move |fleet, _: Empty| Ok(fleet.version(nth))),
            method::SERVICE_LIST => {
                self.read_call(request, move |fleet, _: Empty| Ok(fleet.service_list(nth)))
            }
            method::APPLY_CONFIGURATION => {
                let note = |request: &ApplyConfigurationRequest| json!({"dry_run": request.dry_run});
                self.act_with_note(request, note, move |fleet, request: ApplyConfigurationRequest, now| {
                    fleet.apply(nth, &caller, &request, now)
                })
            }
            method::BOOTSTRAP => self.act(request, move |fleet, _: Empty, now| fleet.bootstrap(nth, now)),
            method::REBOOT => self.act(request, move |fleet, _: RebootRequest, now| fleet.reboot(nth, now)),
            method::SHUTDOWN => {
                self.act(request, move |fleet, _: ShutdownRequest, now| fleet.shutdown(nth, now))
            }
            method::RESET => {
                self.act(request, move |fleet, request: ResetRequest, now| fleet.reset(nth, &request, now))
            }
            method::UPGRADE => {
                let note = |request: &UpgradeRequest| json!({"image": request.image});
                self.act_with_note(request, note, move |fleet, request: UpgradeRequest, now| {
                    fleet.upgrade(nth, &request, now)
                })
            }
            method::SERVICE_START => self.service(request, ServiceAction::Start),
            method::SERVICE_STOP => self.service(request, ServiceAction::Stop),
            method::SERVICE_RESTART => self.service(request, ServiceAction::Restart),
            method::META_WRITE => self.act(request, move |fleet, request: MetaWriteRequest, _| {
                fleet.meta_write(nth, request.key, request.value)
            }),
            method::META_DELETE => self.act(request, move |fleet, request: MetaDeleteRequest, _| {
                fleet.meta_delete(nth, request.key)
            }),
            method::ETCD_MEMBER_LIST => {
                self.read_call(request, move |fleet, _: Empty| fleet.etcd_members(nth))
            }
            method::ETCD_STATUS => self.read_call(request, move |fleet, _: Empty| fleet.etcd_status(nth)),
            method::ETCD_ALARM_LIST => self.read_call(request, move |fleet, _: Empty| fleet.etcd_alarms(nth)),
            method::ETCD_LEAVE_CLUSTER => self.act(request, move |fleet, _: Empty, _| fleet.etcd_leave(nth)),
            method::ETCD_REMOVE_MEMBER_BY_ID => {
                self.act(request, move |fleet, request: EtcdRemoveMemberByIdRequest, _| {
                    fleet.etcd_remove(nth, request.member_id)
                })
            }
            method::ETCD_FORFEIT_LEADERSHIP => self.act(request, move |fleet, _: Empty, _| {
                let member = fleet.etcd_forfeit(nth)?;
                let message = EtcdForfeitLeadership { metadata: None, member };
                Ok(EtcdForfeitLeadershipResponse { messages: vec![message] })
            }),
            method::STATE_GET => self.read_call(request, move |fleet, request: cosi::GetRequest| {
                rbac::authorize_resource(&request.r#type, &caller)?;
                fleet.check_resource_type(nth, &request.r#type)?;
                let found = fleet.resource(nth, &request.namespace, &request.r#type, &request.id);
                let resource = Some(
                    found
                        .ok_or_else(|| no_such_resource(&request.namespace, &request.r#type, &request.id))?,
                );
                Ok(cosi::GetResponse { resource })
            }),
            method::STATE_LIST => self.stream(request, stream::list),
            method::STATE_WATCH => self.stream(request, stream::watch),
            method::LOGS => self.stream::<LogsRequest, _>(request, stream::logs),
            method::DMESG => self.stream::<DmesgRequest, _>(request, stream::dmesg),
            method::READ => self.stream::<ReadRequest, _>(request, stream::read),
            method::EVENTS => self.stream::<EventsRequest, _>(request, stream::events),
            method::KUBECONFIG => self.stream::<Empty, _>(request, stream::kubeconfig),
            method::HEALTH_CHECK => self.stream::<cluster::HealthCheckRequest, _>(request, stream::health),
            method::IMAGE_PULL => self.stream::<image::PullRequest, _>(request, stream::pull),
            method::LIFECYCLE_UPGRADE => {
                self.stream::<lifecycle::LifecycleUpgradeRequest, _>(request, stream::lifecycle_upgrade)
            }
            method::IMAGE_IMPORT => self.import(request),
            _ => Box::pin(async { Status::new(Code::Unimplemented, "unknown method").into_http() }),
        }
    }

    fn service(self, request: HttpRequest<Incoming>, handling: ServiceAction) -> BoxedResponse {
        let nth = self.nth;
        self.act(request, move |fleet, request: ServiceRequest, _| {
            fleet.handle_service(nth, &request.id, handling)
        })
    }

    /// A call that reads the nodes.
    fn read_call<Q, A>(
        self,
        request: HttpRequest<Incoming>,
        read: impl FnOnce(&Fleet, Q) -> Result<A, CallError> + Send + 'static,
    ) -> BoxedResponse
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        self.unary(request, |_| Value::Null, move |world, request| world.read(|fleet| read(fleet, request)))
    }

    /// A call that changes a node.
    fn act<Q, A>(
        self,
        request: HttpRequest<Incoming>,
        act: impl FnOnce(&mut Fleet, Q, Duration) -> Result<A, CallError> + Send + 'static,
    ) -> BoxedResponse
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        self.act_with_note(request, |_| Value::Null, act)
    }

    /// A call that changes a node, with more details in the journal.
    fn act_with_note<Q, A>(
        self,
        request: HttpRequest<Incoming>,
        note: impl FnOnce(&Q) -> Value + Send + 'static,
        act: impl FnOnce(&mut Fleet, Q, Duration) -> Result<A, CallError> + Send + 'static,
    ) -> BoxedResponse
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        self.unary(request, note, move |world, request| world.act(|fleet, now| act(fleet, request, now)))
    }

    fn unary<Q, A>(
        self,
        request: HttpRequest<Incoming>,
        note: impl FnOnce(&Q) -> Value + Send + 'static,
        answer: impl FnOnce(&SimulatorState, Q) -> Result<A, CallError> + Send + 'static,
    ) -> BoxedResponse
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        let path = request.uri().path().to_owned();
        let once = OnceService::new(move |request: Request<Q>| async move {
            let request = request.into_inner();
            let note = note(&request);
            let answer = answer(&self.world, request);
            self.record(&path, answer.as_ref().map(drop), note);
            answer.map(Response::new).map_err(|error| status(&error))
        });
        let mut grpc = Grpc::new(ProstCodec::<A, Q>::default()).max_decoding_message_size(LARGEST_MESSAGE);
        Box::pin(async move { grpc.unary(once, request).await })
    }

    /// A call whose answer comes in pieces.
    fn stream<Q, A>(
        self,
        request: HttpRequest<Incoming>,
        answer: fn(&ApiConnection, Q) -> Result<ResponseStream<A>, CallError>,
    ) -> BoxedResponse
    where
        Q: Message + Default + 'static,
        A: Message + Default + 'static,
    {
        let path = request.uri().path().to_owned();
        let once = OnceService::new(move |request: Request<Q>| {
            let answer = answer(&self, request.into_inner());
            self.record(&path, answer.as_ref().map(drop), Value::Null);
            ready(answer.map(|pieces| Response::new(self.apply_cut(pieces))).map_err(|error| status(&error)))
        });
        let mut grpc = Grpc::new(ProstCodec::<A, Q>::default());
        Box::pin(async move { grpc.server_streaming(once, request).await })
    }

    /// The pieces, or only the first of them where the node is to cut the connection.
    fn apply_cut<A: Send + 'static>(&self, pieces: ResponseStream<A>) -> ResponseStream<A> {
        let may = self.world.read(|fleet| fleet.machines[self.nth].faults.has("reset-mid-stream"));
        let cuts = may && self.world.act(|fleet, _| fleet.machines[self.nth].faults.take_cut());
        if cuts { stream::cut_after_one(pieces, Arc::clone(&self.cut)) } else { pieces }
    }

    /// `ImageService/Import`: the image is thrown away; its name is all that is needed of it.
    fn import(self, request: HttpRequest<Incoming>) -> BoxedResponse {
        let once = OnceService::new(move |request: Request<Streaming<image::ImportRequest>>| async move {
            let mut pieces = request.into_inner();
            let mut size = 0;
            while let Some(piece) = pieces.message().await? {
                size += piece.image_chunk.map_or(0, |chunk| chunk.bytes.len());
            }
            let name = self.world.act(|fleet, _| fleet.import(self.nth, size));
            self.record(method::IMAGE_IMPORT, Ok(()), json!({"bytes": size}));
            Ok(Response::new(image::ImportResponse { name }))
        });
        let codec = ProstCodec::<image::ImportResponse, image::ImportRequest>::default();
        let mut grpc = Grpc::new(codec).max_decoding_message_size(LARGEST_MESSAGE);
        Box::pin(async move { grpc.client_streaming(once, request).await })
    }

    /// Puts a call into the journal.
    fn record(&self, path: &str, answered: Result<(), &CallError>, note: Value) {
        let code = answered.map_or_else(code, |()| Code::Ok);
        let roles = match &self.caller {
            Caller::Anyone => Value::Null,
            Caller::Known(roles) => json!(roles),
        };
        let name = self.world.read(|fleet| fleet.machines[self.nth].hardware.name.clone());
        let mut line = json!({
            "node": name, "call": path, "from": self.from.to_string(), "roles": roles,
            "code": format!("{code:?}"),
        });
        if let Err(error) = answered {
            line["message"] = json!(error.message);
        }
        if !note.is_null() {
            line["note"] = note;
        }
        self.world.journal.write(self.world.now(), line);
    }
}

fn code(error: &CallError) -> Code {
    Code::from(error.code as i32)
}

/// An error as a gRPC status.
pub(super) fn status(error: &CallError) -> Status {
    Status::new(code(error), error.message.clone())
}

/// A service that handles one call.
struct OnceService<F>(Option<F>);

impl<F> OnceService<F> {
    fn new(call: F) -> Self {
        Self(Some(call))
    }
}

impl<Q, A, F, R> Service<Request<Q>> for OnceService<F>
where
    F: FnOnce(Request<Q>) -> R,
    R: Future<Output = Result<Response<A>, Status>> + Send + 'static,
{
    type Response = Response<A>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Response<A>, Status>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        match self.0.take() {
            Some(call) => Box::pin(call(request)),
            None => Box::pin(async { Err(Status::internal("called twice")) }),
        }
    }
}
