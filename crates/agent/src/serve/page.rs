//! The pages: `/metrics`, `/healthz` and `/status`.

use std::convert::Infallible;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use ichor_bgp::agent::AgentStatus;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{REQUEST_TIMEOUT, StatusSource};
use crate::log;

/// The longest request head.
const HEAD: usize = 16 * 1024;

/// Answers one request of a connection.
pub(super) async fn serve(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    source: StatusSource,
) {
    let response = service_fn(move |request: Request<Incoming>| {
        let response = response(request.method(), request.uri().path(), &source.borrow());
        async move { Ok::<_, Infallible>(response) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(REQUEST_TIMEOUT).max_buf_size(HEAD).keep_alive(false);
    if let Err(error) = http.serve_connection(TokioIo::new(stream), response).await {
        log::debug(format_args!("malformed request for the status: {error}"));
    }
}

fn response(method: &Method, path: &str, status: &AgentStatus) -> Response<Full<Bytes>> {
    if method != Method::GET && method != Method::HEAD {
        let mut response = page(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET\n".to_owned());
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match path {
        "/metrics" => page(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", status.metrics()),
        "/healthz" => match status.health() {
            Ok(()) => page(StatusCode::OK, PLAIN, "ok\n".to_owned()),
            Err(reason) => page(StatusCode::SERVICE_UNAVAILABLE, PLAIN, format!("{reason}\n")),
        },
        "/status" => page(StatusCode::OK, "application/json", format!("{}\n", status.line())),
        _ => page(StatusCode::NOT_FOUND, PLAIN, "not found; want /metrics, /healthz or /status\n".to_owned()),
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

fn page(code: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
