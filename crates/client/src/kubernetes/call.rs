//! A call over HTTPS: from one control plane to the next until there is an answer.

use std::io;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use ichor_talos::kubernetes::failure;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time;

use super::{Kubernetes, Place};

/// How long one control plane may take to greet, and to answer.
const GREET: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(30);

/// The longest answer: the pods of a full node are a few megabytes.
const LONGEST: usize = 64 << 20;

/// A call that failed everywhere.
#[derive(Clone, Debug, thiserror::Error)]
#[error("Kubernetes at {at}: {what}: {answer}")]
pub struct KubernetesError {
    what: &'static str,
    at: String,
    status: Option<StatusCode>,
    answer: String,
}

impl KubernetesError {
    /// What it answered with; none where nobody did.
    pub(super) fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// What it said, or why nothing came.
    pub(super) fn answer(&self) -> &str {
        &self.answer
    }
}

/// Why a control plane gave no answer.
#[derive(Debug, thiserror::Error)]
enum CallError {
    #[error("not a name of a host")]
    Host,
    #[error("no answer within {} s", .0.as_secs())]
    Silent(Duration),
    #[error(transparent)]
    Connect(io::Error),
    #[error("the connection broke: {0}")]
    Broken(hyper::Error),
    #[error(transparent)]
    Request(hyper::http::Error),
    #[error("the answer broke off: {0}")]
    Answer(Box<dyn std::error::Error + Send + Sync>),
}

impl Place {
    pub(super) fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl Kubernetes {
    /// Asks one after the other, until one answers that is not itself in trouble.
    ///
    /// Everything that is asked may be asked twice: a cordon, an eviction and a deletion are the same when they are repeated.
    pub(super) async fn ask(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), KubernetesError> {
        let nowhere = "the file says no address of a control plane".to_owned();
        let mut last = KubernetesError { what, at: "no address".to_owned(), status: None, answer: nowhere };
        for place in &self.places {
            let failed = |status, answer| KubernetesError { what, at: place.authority(), status, answer };
            let answered = time::timeout(ANSWER, self.ask_at(place, &method, path, body)).await;
            last = match answered {
                Ok(Ok((status, value))) if status.is_success() => return Ok((status, value)),
                Ok(Ok((status, value))) => {
                    let said =
                        failure(&value).map_or_else(|| format!("it answers with {status}"), str::to_owned);
                    let error = failed(Some(status), said);
                    if !status.is_server_error() {
                        return Err(error);
                    }
                    error
                }
                Ok(Err(error)) => failed(None, error.to_string()),
                Err(_) => failed(None, CallError::Silent(ANSWER).to_string()),
            };
        }
        Err(last)
    }

    async fn ask_at(
        &self,
        place: &Place,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), CallError> {
        let name = ServerName::try_from(place.host.clone()).map_err(|_| CallError::Host)?;
        let greeted = time::timeout(GREET, async {
            let stream = TcpStream::connect((place.host.as_str(), place.port)).await?;
            self.connector.connect(name, stream).await
        });
        let stream = greeted.await.map_err(|_| CallError::Silent(GREET))?;
        let stream = stream.map_err(CallError::Connect)?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(CallError::Broken)?;
        // It ends when the sender is dropped.
        tokio::spawn(connection);
        let kind = match *method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, place.authority())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, kind)
            .body(Full::new(Bytes::from(body.map(Value::to_string).unwrap_or_default())))
            .map_err(CallError::Request)?;
        let response = sender.send_request(request).await.map_err(CallError::Broken)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LONGEST).collect().await;
        let body = body.map_err(CallError::Answer)?.to_bytes();
        // What is no JSON is told by its status.
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    }
}
