//! A Redfish service: who asks, and one call.

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ichor_core::machines::redfish::{ROOT, complaint, link};
use ichor_talos::secrets::Hidden;
use serde_json::{Value, json};

use crate::http::{Client, HttpError, Load, Method, Trust, shown};
use crate::machines::Kind;

/// A call that did not do what it was to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum RedfishError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("{call}: {said}")]
    Refused { call: String, status: u16, said: String },
    #[error("{path}: its answer is none of Redfish; is this the address of the controller?")]
    Odd { path: String },
    #[error("{0}")]
    Lacks(String),
    #[error("{0} is not so after {1} s")]
    Slow(String, u64),
    #[error(transparent)]
    Supply(#[from] crate::machines::SupplyError),
}

impl RedfishError {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Http(error) if error.is_distrust() => Kind::Denied,
            Self::Http(_) => Kind::Unreachable,
            Self::Refused { status: 401 | 403, .. } => Kind::Denied,
            // Controllers that have just started say so for a while.
            Self::Refused { status: 503, .. } => Kind::Unreachable,
            Self::Refused { .. } | Self::Odd { .. } | Self::Slow(..) => Kind::Refused,
            Self::Lacks(_) => Kind::Unable,
            Self::Supply(_) => Kind::Ours,
        }
    }
}

/// The service of one controller.
#[derive(Debug)]
pub(super) struct Service {
    client: Client,
    base: String,
    login: Option<(String, Hidden)>,
    session: Mutex<Session>,
}

/// How it is known who asks.
#[derive(Debug)]
enum Session {
    /// Not yet.
    None,
    /// By a session: its token, and where it is.
    Open { token: Hidden, path: Option<String> },
    /// By the password in every call: the service has no sessions.
    Basic,
}

impl Service {
    /// The service at `base`, such as `https://bmc21`.
    pub(super) fn new(base: &str, trust: &Trust, login: Option<(String, Hidden)>) -> Self {
        let session = Mutex::new(Session::None);
        Self { client: Client::of_one(trust), base: base.to_owned(), login, session }
    }

    /// Its address, for people.
    pub(super) fn place(&self) -> String {
        shown(&self.base)
    }

    /// Reads a resource.
    pub(super) fn get(&self, path: &str) -> Result<Value, RedfishError> {
        self.call(&Method::GET, path, None, None)
    }

    /// Sets off an action.
    pub(super) fn post(&self, path: &str, body: &Value) -> Result<(), RedfishError> {
        self.call(&Method::POST, path, Some(body), None).map(drop)
    }

    /// Changes a resource that was read before: some controllers want to hear which state of it is meant.
    pub(super) fn patch(&self, path: &str, resource: &Value, body: &Value) -> Result<(), RedfishError> {
        let etag = resource.get("@odata.etag").and_then(Value::as_str);
        self.call(&Method::PATCH, path, Some(body), etag).map(drop)
    }

    fn call(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        etag: Option<&str>,
    ) -> Result<Value, RedfishError> {
        for is_last in [false, true] {
            let mut headers = self.identify()?;
            headers.extend(etag.map(|etag| ("if-match", etag.to_owned())));
            match self.send(method, path, body, &headers) {
                // A session ends by itself after some minutes.
                Err(RedfishError::Refused { status: 401, .. }) if !is_last && self.is_session() => {
                    *self.held() = Session::None;
                }
                answered => return answered.map(|(answer, _)| answer),
            }
        }
        unreachable!("the last of them is returned")
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_session(&self) -> bool {
        matches!(*self.held(), Session::Open { .. })
    }

    /// The headers that say who asks.
    fn identify(&self) -> Result<Vec<(&'static str, String)>, RedfishError> {
        let Some((user, password)) = &self.login else { return Ok(Vec::new()) };
        let mut held = self.held();
        if matches!(*held, Session::None) {
            *held = self.open(user, password)?;
        }
        Ok(match &*held {
            Session::Open { token, .. } => vec![("x-auth-token", token.as_str().to_owned())],
            _ => {
                let pair = STANDARD.encode(format!("{user}:{}", password.as_str()));
                vec![("authorization", format!("Basic {pair}"))]
            }
        })
    }

    /// Opens a session (DSP0266, 13.3.4), where the service has any.
    fn open(&self, user: &str, password: &Hidden) -> Result<Session, RedfishError> {
        let (root, _) = self.send(&Method::GET, ROOT, None, &[])?;
        let Some(path) = root.get("Links").and_then(|links| link(links, "Sessions")) else {
            return Ok(Session::Basic);
        };
        let body = json!({"UserName": user, "Password": password.as_str()});
        match self.send(&Method::POST, path, Some(&body), &[]) {
            Ok((_, opened @ Session::Open { .. })) => Ok(opened),
            Ok(_) => Ok(Session::Basic),
            Err(RedfishError::Refused { status: 404 | 405 | 501, .. }) => Ok(Session::Basic),
            Err(error) => Err(error),
        }
    }

    /// One request: what is answered, and the session that it opened.
    fn send(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, String)],
    ) -> Result<(Value, Session), RedfishError> {
        let url = format!("{}{path}", self.base);
        let mut all: Vec<(&str, &str)> = vec![("odata-version", "4.0"), ("accept", "application/json")];
        all.extend(headers.iter().map(|(name, value)| (*name, value.as_str())));
        let response = match body {
            None if *method == Method::GET => self.client.get(&url, &all)?,
            None => self.client.send(method, &url, &all, Load::None)?,
            Some(body) => {
                all.push(("content-type", "application/json"));
                self.client.send(method, &url, &all, Load::Bytes(body.to_string().as_bytes()))?
            }
        };
        let status = response.status();
        let header = |name: &str| response.header(name).map(ToOwned::to_owned);
        let session = match header("x-auth-token") {
            Some(token) => Session::Open { token: Hidden::new(token), path: header("location") },
            None => Session::None,
        };
        let said = response.text()?;
        let answer = serde_json::from_str::<Value>(&said);
        if !status.is_success() {
            let said = match status.as_u16() {
                401 => Some("it does not know this user with this password".to_owned()),
                _ => answer.ok().as_ref().and_then(complaint),
            };
            let said = said.unwrap_or_else(|| status.to_string());
            return Err(RedfishError::Refused {
                call: format!("{method} {path}"),
                status: status.as_u16(),
                said,
            });
        }
        match answer {
            Ok(answer) => Ok((answer, session)),
            Err(_) if *method == Method::GET => Err(RedfishError::Odd { path: path.to_owned() }),
            // What is set off is often answered with nothing.
            Err(_) => Ok((Value::Null, session)),
        }
    }
}

impl Drop for Service {
    /// Closes the session: controllers have a few of them only.
    fn drop(&mut self) {
        let session = std::mem::replace(&mut *self.held(), Session::None);
        if let Session::Open { token, path: Some(path) } = session {
            let path = path.strip_prefix(&self.base).unwrap_or(&path);
            let _ = self.send(&Method::DELETE, path, None, &[("x-auth-token", token.as_str().to_owned())]);
        }
    }
}
