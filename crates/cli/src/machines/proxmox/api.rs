//! Proxmox' API: one call, and who makes it.
//!
//! It is asked in the form of Proxmox' own pages, `/api2/extjs`: the other one has the reason of a refusal in the status line
//! of HTTP alone, where most clients do not look.

use std::sync::{Mutex, PoisonError};

use ichor_core::machines::proxmox::answer::{number, text};
use ichor_core::machines::proxmox::request::{self, Method, Request};
use ichor_talos::secrets::Hidden;
use serde_json::Value;

use super::upload::{Upload, content_type};
use crate::http::{self, Client, HttpError, Load, Response, StatusCode, Trust, shown};
use crate::machines::Kind;

/// Who asks.
#[derive(Clone, Debug)]
pub(in crate::machines) enum Login {
    /// Whoever has this API token.
    Token(Hidden),
    /// A user with a password.
    Password { user: String, password: Hidden },
}

/// A call that did not do what it was to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("{request}: {said}")]
    Refused { request: String, status: u64, said: String },
    #[error("{request}: its answer is none of Proxmox; is {root} the address of its API, with its port?")]
    Odd { request: String, root: String },
    #[error("{request}: {said}; its log ends so:\n{log}")]
    Failed { request: String, said: String, log: String },
    #[error("{request}: its task {upid} goes on after {minutes} minutes")]
    Slow { request: String, upid: String, minutes: u64 },
    #[error("cannot read {what}")]
    Local { what: String, source: std::io::Error },
    #[error(transparent)]
    Supply(#[from] crate::machines::SupplyError),
}

impl ApiError {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Http(error) if error.is_distrust() => Kind::Denied,
            Self::Http(_) | Self::Slow { .. } => Kind::Unreachable,
            // 595 to 599: the host asked cannot reach the one that is meant.
            Self::Refused { status: 595..=599, .. } => Kind::Unreachable,
            Self::Refused { status: 401 | 403, .. } => Kind::Denied,
            Self::Refused { .. } | Self::Odd { .. } | Self::Failed { .. } => Kind::Refused,
            Self::Local { .. } | Self::Supply(_) => Kind::Ours,
        }
    }
}

/// The API of one cluster.
#[derive(Debug)]
pub(super) struct Api {
    client: Client,
    root: String,
    login: Login,
    ticket: Mutex<Option<Ticket>>,
}

/// What a user with a password gets, for two hours.
#[derive(Clone, Debug)]
struct Ticket {
    cookie: Hidden,
    guard: Hidden,
}

impl Api {
    pub(super) fn new(url: &str, trust: &Trust, login: Login) -> Self {
        let root = url.trim_end_matches('/').trim_end_matches("/api2/json").to_owned();
        Self { client: Client::of_one(trust), root, login, ticket: Mutex::new(None) }
    }

    /// Its address, for people.
    pub(super) fn place(&self) -> String {
        shown(&self.root)
    }

    /// Makes a call, and gives what is answered.
    pub(super) fn call(&self, request: &Request) -> Result<Value, ApiError> {
        self.with_login(request, |headers| self.send(request, headers))
    }

    /// Sends a file.
    pub(super) fn upload(&self, request: &Request, mut upload: Upload<'_>) -> Result<Value, ApiError> {
        let (kind, length) = (content_type(), upload.length());
        // What was begun cannot be sent a second time: a ticket that came to its end is renewed by a call before it.
        self.call(&request::version())?;
        let headers = self.headers(request)?;
        let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.push(("content-type", &kind));
        let url = format!("{}/api2/extjs{}", self.root, request.path);
        let response =
            self.client.send(&http::Method::POST, &url, &headers, Load::Stream(&mut upload, length))?;
        self.answer(request, response)
    }

    /// Makes a call with a ticket, and once more with a new one where the old one is no longer good.
    fn with_login(
        &self,
        request: &Request,
        send: impl Fn(&[(&str, &str)]) -> Result<Value, ApiError>,
    ) -> Result<Value, ApiError> {
        let again = matches!(self.login, Login::Password { .. });
        for is_last in [!again, true] {
            let headers = self.headers(request)?;
            let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            match send(&headers) {
                Err(ApiError::Refused { status: 401, .. }) if !is_last => *self.held() = None,
                answered => return answered,
            }
        }
        unreachable!("the last of them is returned")
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<Ticket>> {
        self.ticket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn headers(&self, request: &Request) -> Result<Vec<(&'static str, String)>, ApiError> {
        let (user, password) = match &self.login {
            Login::Token(token) => {
                return Ok(vec![("authorization", format!("PVEAPIToken={}", token.as_str()))]);
            }
            Login::Password { user, password } => (user, password),
        };
        let mut held = self.held();
        let ticket = match &*held {
            Some(ticket) => ticket.clone(),
            None => {
                let request = request::ticket(user, password.as_str());
                let answer = self.send(&request, &[])?;
                let part = |key| text(&answer, key).map(Hidden::new).ok_or_else(|| self.odd(&request));
                let ticket = Ticket { cookie: part("ticket")?, guard: part("CSRFPreventionToken")? };
                held.insert(ticket).clone()
            }
        };
        let mut headers = vec![("cookie", format!("PVEAuthCookie={}", ticket.cookie.as_str()))];
        if request.method != Method::Get {
            headers.push(("csrfpreventiontoken", ticket.guard.as_str().to_owned()));
        }
        Ok(headers)
    }

    fn send(&self, request: &Request, headers: &[(&str, &str)]) -> Result<Value, ApiError> {
        let (form, path) = (request.form(), format!("{}/api2/extjs{}", self.root, request.path));
        let url = match request.method {
            Method::Get | Method::Delete if !form.is_empty() => format!("{path}?{form}"),
            _ => path,
        };
        let response = match request.method {
            Method::Get => self.client.get(&url, headers)?,
            Method::Delete => self.client.send(&http::Method::DELETE, &url, headers, Load::None)?,
            Method::Post | Method::Put => {
                let method =
                    if request.method == Method::Post { http::Method::POST } else { http::Method::PUT };
                let kind = ("content-type", "application/x-www-form-urlencoded");
                let headers: Vec<_> = headers.iter().copied().chain([kind]).collect();
                self.client.send(&method, &url, &headers, Load::Bytes(form.as_bytes()))?
            }
        };
        self.answer(request, response)
    }

    fn answer(&self, request: &Request, response: Response) -> Result<Value, ApiError> {
        let line = response.status();
        let status = u64::from(line.as_u16());
        let text = response.text()?;
        let refused = |status, said: String| ApiError::Refused { request: request.to_string(), status, said };
        if status == 401 {
            return Err(refused(status, self.unknown().to_owned()));
        }
        let Ok(mut answer) = serde_json::from_str::<Value>(&text) else {
            // Some refusals come before anything is put into a form, and with a status line alone.
            return Err(if status == 200 { self.odd(request) } else { refused(status, line.to_string()) });
        };
        if status == 200 && answer.get("success").is_none_or(|success| *success == 1 || *success == true) {
            return Ok(answer["data"].take());
        }
        Err(refused(number(&answer, "status").unwrap_or(status), reason(&answer, line)))
    }

    /// What a login is told that nobody knows.
    fn unknown(&self) -> &'static str {
        match self.login {
            Login::Token(_) => "it does not know this API token; want one such as ops@pve!ichor=UUID",
            Login::Password { .. } => {
                "it does not know this user with this password; want a user such as root@pam"
            }
        }
    }

    fn odd(&self, request: &Request) -> ApiError {
        ApiError::Odd { request: request.to_string(), root: self.place() }
    }
}

/// Why a call was refused, and what was wrong with which parameter.
fn reason(answer: &Value, status: StatusCode) -> String {
    let said = text(answer, "message").map(str::trim).filter(|said| !said.is_empty());
    let said = said.map_or_else(|| status.to_string(), ToOwned::to_owned);
    let errors = answer.get("errors").and_then(Value::as_object);
    let parts = errors.into_iter().flatten().map(|(key, why)| {
        format!("{key}: {}", why.as_str().map_or_else(|| why.to_string(), |why| why.trim().to_owned()))
    });
    let line = std::iter::once(said).chain(parts).collect::<Vec<_>>().join("; ");
    line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(1000).collect()
}
