//! A call over HTTPS: from one control plane to the next until there is an answer.

use ichor_talos::kubernetes::failure;
use serde_json::Value;
use tokio::time;

use super::{ANSWER, ApiEndpoint, KubernetesClient};
use crate::http::{Method, Payload, Request, RequestError, StatusCode};

/// The longest answer: the pods of a full node are a few megabytes.
const LONGEST: u64 = 64 << 20;

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
    /// The status of the response; none without a response.
    pub(super) fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// The message of the response, or why it is missing.
    pub(super) fn answer(&self) -> &str {
        &self.answer
    }
}

impl ApiEndpoint {
    pub(super) fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl KubernetesClient {
    /// Sends a request to each endpoint in sequence, until one responds without a server error.
    ///
    /// Every request may be sent twice: a cordon, an eviction and a deletion are idempotent.
    pub(super) async fn ask(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), KubernetesError> {
        let nowhere = "the cluster file has no control plane address".to_owned();
        let mut last = KubernetesError { what, at: "no address".to_owned(), status: None, answer: nowhere };
        for place in &self.places {
            let failed = |status, answer| KubernetesError { what, at: place.authority(), status, answer };
            let answered = time::timeout(ANSWER, self.ask_at(place, &method, path, body)).await;
            last = match answered {
                Ok(Ok((status, value))) if status.is_success() => return Ok((status, value)),
                Ok(Ok((status, value))) => {
                    let message = failure(&value).map_or_else(|| format!("status {status}"), str::to_owned);
                    let error = failed(Some(status), message);
                    if !status.is_server_error() {
                        return Err(error);
                    }
                    error
                }
                Ok(Err(error)) => failed(None, reason(&error)),
                Err(_) => failed(None, format!("no response within {} s", ANSWER.as_secs())),
            };
        }
        Err(last)
    }

    async fn ask_at(
        &self,
        place: &ApiEndpoint,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), RequestError> {
        let kind = match *method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let headers = [("accept", "application/json"), ("content-type", kind)];
        let request = Request {
            method: method.clone(),
            url: format!("https://{}{path}", place.authority()),
            headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            payload: body.map_or_else(Payload::none, |body| Payload::bytes(body.to_string())),
        };
        let mut response = self.client.send(request).await?;
        let body = response.bytes(LONGEST).await?;
        // Answers that are not JSON are described by their status.
        Ok((response.status(), serde_json::from_slice(&body).unwrap_or_default()))
    }
}

/// Why there is no response, in one line.
fn reason(error: &RequestError) -> String {
    match error {
        RequestError::Url(_) => "not a hostname".to_owned(),
        RequestError::Broken(cause) | RequestError::BrokenBody(cause) | RequestError::NotHttp(cause) => {
            format!("{error}: {cause}")
        }
        _ => error.to_string(),
    }
}
