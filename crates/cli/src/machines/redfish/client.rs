//! Redfish client: authentication and single calls.

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ichor_core::machines::redfish::{ROOT, error_text, link_path};
use ichor_talos::secrets::Hidden;
use serde_json::{Value, json};

use crate::http::{HttpClient, HttpError, Method, RequestBody, ServerTrust, redact_url};
use crate::machines::FailureKind;

/// A failed call.
#[derive(Debug, thiserror::Error)]
pub(super) enum RedfishError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("{call}: {message}")]
    Refused { call: String, status: u16, message: String },
    #[error("{path}: unexpected response; is this the address of a Redfish BMC?")]
    Odd { path: String },
    #[error("{0}")]
    Lacks(String),
    #[error("timed out after {1} s waiting for {0}")]
    Slow(String, u64),
    #[error(transparent)]
    Supply(#[from] crate::machines::MediumError),
}

impl RedfishError {
    pub(super) fn kind(&self) -> FailureKind {
        match self {
            Self::Http(error) if error.is_distrust() => FailureKind::Denied,
            Self::Http(_) => FailureKind::Unreachable,
            Self::Refused { status: 401 | 403, .. } => FailureKind::Denied,
            // BMCs answer this for a while after they start.
            Self::Refused { status: 503, .. } => FailureKind::Unreachable,
            Self::Refused { .. } | Self::Odd { .. } | Self::Slow(..) => FailureKind::Rejected,
            Self::Lacks(_) => FailureKind::Unsupported,
            Self::Supply(_) => FailureKind::Local,
        }
    }
}

/// Client of one BMC.
#[derive(Debug)]
pub(super) struct RedfishClient {
    client: HttpClient,
    base: String,
    login: Option<(String, Hidden)>,
    session: Mutex<RedfishSession>,
}

/// Authentication state.
#[derive(Debug)]
enum RedfishSession {
    /// Not authenticated yet.
    None,
    /// A session: its token and its resource.
    Open { token: Hidden, path: Option<String> },
    /// Basic authentication in every call, for services without sessions.
    Basic,
}

impl RedfishClient {
    /// Creates a client for the service at `base`, such as `https://bmc21`.
    pub(super) fn new(base: &str, trust: &ServerTrust, login: Option<(String, Hidden)>) -> Self {
        let session = Mutex::new(RedfishSession::None);
        Self { client: HttpClient::for_server(trust), base: base.to_owned(), login, session }
    }

    /// Address of the BMC, for messages.
    pub(super) fn location(&self) -> String {
        redact_url(&self.base)
    }

    /// Reads a resource.
    pub(super) fn get(&self, path: &str) -> Result<Value, RedfishError> {
        self.call_with_session(&Method::GET, path, None, None)
    }

    /// Starts an action.
    pub(super) fn post(&self, path: &str, body: &Value) -> Result<(), RedfishError> {
        self.call_with_session(&Method::POST, path, Some(body), None).map(drop)
    }

    /// Changes a resource that was read before. Some BMCs require its ETag.
    pub(super) fn patch(&self, path: &str, resource: &Value, body: &Value) -> Result<(), RedfishError> {
        let etag = resource.get("@odata.etag").and_then(Value::as_str);
        self.call_with_session(&Method::PATCH, path, Some(body), etag).map(drop)
    }

    fn call_with_session(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        etag: Option<&str>,
    ) -> Result<Value, RedfishError> {
        for is_last in [false, true] {
            let mut headers = self.auth_headers()?;
            headers.extend(etag.map(|etag| ("if-match", etag.to_owned())));
            match self.send(method, path, body, &headers) {
                // Sessions expire after some minutes.
                Err(RedfishError::Refused { status: 401, .. }) if !is_last && self.is_session() => {
                    *self.session() = RedfishSession::None;
                }
                answered => return answered.map(|(answer, _)| answer),
            }
        }
        unreachable!("the last attempt returns")
    }

    fn session(&self) -> std::sync::MutexGuard<'_, RedfishSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_session(&self) -> bool {
        matches!(*self.session(), RedfishSession::Open { .. })
    }

    /// Headers that authenticate a call.
    fn auth_headers(&self) -> Result<Vec<(&'static str, String)>, RedfishError> {
        let Some((user, password)) = &self.login else { return Ok(Vec::new()) };
        let mut held = self.session();
        if matches!(*held, RedfishSession::None) {
            *held = self.open_session(user, password)?;
        }
        Ok(match &*held {
            RedfishSession::Open { token, .. } => vec![("x-auth-token", token.as_str().to_owned())],
            _ => {
                let pair = STANDARD.encode(format!("{user}:{}", password.as_str()));
                vec![("authorization", format!("Basic {pair}"))]
            }
        })
    }

    /// Opens a session (DSP0266, 13.3.4) if the service supports them.
    fn open_session(&self, user: &str, password: &Hidden) -> Result<RedfishSession, RedfishError> {
        let (root, _) = self.send(&Method::GET, ROOT, None, &[])?;
        let Some(path) = root.get("Links").and_then(|links| link_path(links, "Sessions")) else {
            return Ok(RedfishSession::Basic);
        };
        let body = json!({"UserName": user, "Password": password.as_str()});
        match self.send(&Method::POST, path, Some(&body), &[]) {
            Ok((_, opened @ RedfishSession::Open { .. })) => Ok(opened),
            Ok(_) => Ok(RedfishSession::Basic),
            Err(RedfishError::Refused { status: 404 | 405 | 501, .. }) => Ok(RedfishSession::Basic),
            Err(error) => Err(error),
        }
    }

    /// Sends one request; returns the answer and the session that it opened.
    fn send(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, String)],
    ) -> Result<(Value, RedfishSession), RedfishError> {
        let url = format!("{}{path}", self.base);
        let mut all: Vec<(&str, &str)> = vec![("odata-version", "4.0"), ("accept", "application/json")];
        all.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
        let response = match body {
            None if *method == Method::GET => self.client.get(&url, &all)?,
            None => self.client.send(method, &url, &all, RequestBody::None)?,
            Some(body) => {
                all.push(("content-type", "application/json"));
                self.client.send(method, &url, &all, RequestBody::Bytes(body.to_string().as_bytes()))?
            }
        };
        let status = response.status();
        let header = |name: &str| response.header(name).map(ToOwned::to_owned);
        let session = match header("x-auth-token") {
            Some(token) => RedfishSession::Open { token: Hidden::new(token), path: header("location") },
            None => RedfishSession::None,
        };
        let message = response.text()?;
        let answer = serde_json::from_str::<Value>(&message);
        if !status.is_success() {
            let message = match status.as_u16() {
                401 => Some("wrong user or password".to_owned()),
                _ => answer.ok().as_ref().and_then(error_text),
            };
            let message = message.unwrap_or_else(|| status.to_string());
            return Err(RedfishError::Refused {
                call: format!("{method} {path}"),
                status: status.as_u16(),
                message,
            });
        }
        match answer {
            Ok(answer) => Ok((answer, session)),
            Err(_) if *method == Method::GET => Err(RedfishError::Odd { path: path.to_owned() }),
            // The response to an action is often empty.
            Err(_) => Ok((Value::Null, session)),
        }
    }
}

impl Drop for RedfishClient {
    /// Closes the session: BMCs allow only a few of them.
    fn drop(&mut self) {
        let session = std::mem::replace(&mut *self.session(), RedfishSession::None);
        if let RedfishSession::Open { token, path: Some(path) } = session {
            let path = path.strip_prefix(&self.base).unwrap_or(&path);
            let _ = self.send(&Method::DELETE, path, None, &[("x-auth-token", token.as_str().to_owned())]);
        }
    }
}
