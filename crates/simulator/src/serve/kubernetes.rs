//! The simulated API server of a control plane, over HTTP/1.1.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use crate::fleet::{KubeResponse, KubeVerb};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time;
use tokio_rustls::server::TlsStream;

use super::state::SimulatorState;

/// The largest request.
const LARGEST: usize = 1 << 20;

/// Answers on a connection until it ends or the door closes.
pub(crate) async fn serve(
    world: Arc<SimulatorState>,
    nth: usize,
    stream: TlsStream<TcpStream>,
    known: bool,
    mut closing: watch::Receiver<bool>,
    farewell: Duration,
) {
    let service = service_fn(move |request| {
        let world = Arc::clone(&world);
        async move { Ok::<_, Infallible>(response(&answer(&world, nth, known, request).await)) }
    });
    let mut connection = pin!(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = closing.wait_for(|closed| *closed) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = time::timeout(farewell, connection).await;
}

async fn answer(world: &SimulatorState, nth: usize, known: bool, request: Request<Incoming>) -> KubeResponse {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let answer = if known {
        match verb(&head.method, body).await {
            Ok(verb) => {
                let target = head.uri.path_and_query().map_or(path.as_str(), |target| target.as_str());
                world.act(|fleet, _| fleet.kubernetes(nth, &verb, target))
            }
            Err(answer) => answer,
        }
    } else {
        // Talos rejects unauthenticated requests.
        KubeResponse::failure(401, "Unauthorized", "Unauthorized")
    };
    let name = world.read(|fleet| fleet.machines[nth].hardware.name.clone());
    let line = json!({"node": name, "kubernetes": format!("{} {path}", head.method), "code": answer.code});
    world.journal.write(world.now(), line);
    answer
}

async fn verb(method: &Method, body: Incoming) -> Result<KubeVerb, KubeResponse> {
    match *method {
        Method::GET => Ok(KubeVerb::Get),
        Method::DELETE => Ok(KubeVerb::Delete),
        Method::POST => Ok(KubeVerb::Post),
        Method::PATCH => {
            let bytes = Limited::new(body, LARGEST).collect().await.map(|body| body.to_bytes());
            let patch = bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
            patch
                .map(KubeVerb::Patch)
                .ok_or_else(|| KubeResponse::failure(400, "BadRequest", "not a merge patch"))
        }
        _ => Err(KubeResponse::failure(405, "MethodNotAllowed", "not supported by the simulator")),
    }
}

fn response(answer: &KubeResponse) -> Response<Full<Bytes>> {
    let (kind, body) = match answer.text {
        Some(text) => ("text/plain; charset=utf-8", text.to_owned()),
        None => ("application/json", answer.json.to_string()),
    };
    let response = Response::builder().status(answer.code).header(CONTENT_TYPE, kind);
    response.body(Full::from(body)).expect("codes and types are written here")
}
