//! Client of the Proxmox API: authentication and single calls.
//!
//! It uses `/api2/extjs`, like Proxmox's own web interface: `/api2/json` reports the reason of an error only in the HTTP status
//! line, which most clients drop.

use std::sync::{Mutex, PoisonError};

use ichor_core::machines::proxmox::reply::{number, text};
use ichor_core::machines::proxmox::request::{self, HttpMethod, ProxmoxRequest};
use ichor_talos::secrets::Hidden;
use serde_json::Value;

use super::upload::{UploadForm, content_type};
use crate::http::{
    self, HttpClient, HttpError, HttpResponse, RequestBody, ServerTrust, StatusCode, redact_url,
};
use crate::machines::FailureKind;

/// Credentials for the Proxmox API.
#[derive(Clone, Debug)]
pub(in crate::machines) enum ProxmoxLogin {
    /// An API token.
    Token(Hidden),
    /// A user with a password.
    Password { user: String, password: Hidden },
}

/// A failed call.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProxmoxError {
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error("{request}: {message}")]
    Refused { request: String, status: u64, message: String },
    #[error("{request}: unexpected response; is {root} the address of a Proxmox API, with its port?")]
    Odd { request: String, root: String },
    #[error("{request}: {message}; last lines of the task log:\n{log}")]
    Failed { request: String, message: String, log: String },
    #[error("{request}: timed out after {minutes} min; task {upid} is still running")]
    Slow { request: String, upid: String, minutes: u64 },
    #[error("cannot read {what}")]
    Local { what: String, source: std::io::Error },
    #[error(transparent)]
    Supply(#[from] crate::machines::MediumError),
}

impl ProxmoxError {
    pub(super) fn kind(&self) -> FailureKind {
        match self {
            Self::Http(error) if error.is_distrust() => FailureKind::Denied,
            Self::Http(_) | Self::Slow { .. } => FailureKind::Unreachable,
            // 595 to 599: the proxying host cannot reach the target host.
            Self::Refused { status: 595..=599, .. } => FailureKind::Unreachable,
            Self::Refused { status: 401 | 403, .. } => FailureKind::Denied,
            Self::Refused { .. } | Self::Odd { .. } | Self::Failed { .. } => FailureKind::Rejected,
            Self::Local { .. } | Self::Supply(_) => FailureKind::Local,
        }
    }
}

/// The API of a Proxmox cluster.
#[derive(Debug)]
pub(super) struct ProxmoxApi {
    client: HttpClient,
    root: String,
    login: ProxmoxLogin,
    ticket: Mutex<Option<LoginTicket>>,
}

/// Ticket of a password login, valid for two hours.
#[derive(Clone, Debug)]
struct LoginTicket {
    cookie: Hidden,
    guard: Hidden,
}

impl ProxmoxApi {
    pub(super) fn new(url: &str, trust: &ServerTrust, login: ProxmoxLogin) -> Self {
        let root = url.trim_end_matches('/').trim_end_matches("/api2/json").to_owned();
        Self { client: HttpClient::for_server(trust), root, login, ticket: Mutex::new(None) }
    }

    /// Address of the API, for messages.
    pub(super) fn location(&self) -> String {
        redact_url(&self.root)
    }

    /// Makes a call and returns its data.
    pub(super) fn call(&self, request: &ProxmoxRequest) -> Result<Value, ProxmoxError> {
        self.with_login(request, |headers| self.send(request, headers))
    }

    /// Uploads a file.
    pub(super) fn upload(
        &self,
        request: &ProxmoxRequest,
        mut upload: UploadForm<'_>,
    ) -> Result<Value, ProxmoxError> {
        let (kind, length) = (content_type(), upload.length());
        // An upload cannot be repeated, so an expired ticket is renewed by a call before it.
        self.call(&request::version())?;
        let headers = self.auth_headers(request)?;
        let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        headers.push(("content-type", &kind));
        let url = format!("{}/api2/extjs{}", self.root, request.path);
        let response = self.client.send(
            &http::Method::POST,
            &url,
            &headers,
            RequestBody::Stream(&mut upload, length),
        )?;
        self.parse_answer(request, response)
    }

    /// Makes a call, and repeats it with a new ticket if the old one has expired.
    fn with_login(
        &self,
        request: &ProxmoxRequest,
        send: impl Fn(&[(&str, &str)]) -> Result<Value, ProxmoxError>,
    ) -> Result<Value, ProxmoxError> {
        let again = matches!(self.login, ProxmoxLogin::Password { .. });
        for is_last in [!again, true] {
            let headers = self.auth_headers(request)?;
            let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            match send(&headers) {
                Err(ProxmoxError::Refused { status: 401, .. }) if !is_last => *self.ticket() = None,
                answered => return answered,
            }
        }
        unreachable!("the last attempt returns")
    }

    fn ticket(&self) -> std::sync::MutexGuard<'_, Option<LoginTicket>> {
        self.ticket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn auth_headers(&self, request: &ProxmoxRequest) -> Result<Vec<(&'static str, String)>, ProxmoxError> {
        let (user, password) = match &self.login {
            ProxmoxLogin::Token(token) => {
                return Ok(vec![("authorization", format!("PVEAPIToken={}", token.as_str()))]);
            }
            ProxmoxLogin::Password { user, password } => (user, password),
        };
        let mut held = self.ticket();
        let ticket = match &*held {
            Some(ticket) => ticket.clone(),
            None => {
                let request = request::ticket(user, password.as_str());
                let answer = self.send(&request, &[])?;
                let part = |key| {
                    text(&answer, key).map(Hidden::new).ok_or_else(|| self.unexpected_response(&request))
                };
                let ticket = LoginTicket { cookie: part("ticket")?, guard: part("CSRFPreventionToken")? };
                held.insert(ticket).clone()
            }
        };
        let mut headers = vec![("cookie", format!("PVEAuthCookie={}", ticket.cookie.as_str()))];
        if request.method != HttpMethod::Get {
            headers.push(("csrfpreventiontoken", ticket.guard.as_str().to_owned()));
        }
        Ok(headers)
    }

    fn send(&self, request: &ProxmoxRequest, headers: &[(&str, &str)]) -> Result<Value, ProxmoxError> {
        let (form, path) = (request.encode_parameters(), format!("{}/api2/extjs{}", self.root, request.path));
        let url = match request.method {
            HttpMethod::Get | HttpMethod::Delete if !form.is_empty() => format!("{path}?{form}"),
            _ => path,
        };
        let response = match request.method {
            HttpMethod::Get => self.client.get(&url, headers)?,
            HttpMethod::Delete => {
                self.client.send(&http::Method::DELETE, &url, headers, RequestBody::None)?
            }
            HttpMethod::Post | HttpMethod::Put => {
                let method =
                    if request.method == HttpMethod::Post { http::Method::POST } else { http::Method::PUT };
                let kind = ("content-type", "application/x-www-form-urlencoded");
                let headers: Vec<_> = headers.iter().copied().chain([kind]).collect();
                self.client.send(&method, &url, &headers, RequestBody::Bytes(form.as_bytes()))?
            }
        };
        self.parse_answer(request, response)
    }

    fn parse_answer(&self, request: &ProxmoxRequest, response: HttpResponse) -> Result<Value, ProxmoxError> {
        let line = response.status();
        let status = u64::from(line.as_u16());
        let text = response.text()?;
        let refused =
            |status, message: String| ProxmoxError::Refused { request: request.to_string(), status, message };
        if status == 401 {
            return Err(refused(status, self.unknown_login().to_owned()));
        }
        let Ok(mut answer) = serde_json::from_str::<Value>(&text) else {
            // Early errors are not JSON and have only a status line.
            return Err(if status == 200 {
                self.unexpected_response(request)
            } else {
                refused(status, line.to_string())
            });
        };
        if status == 200 && answer.get("success").is_none_or(|success| *success == 1 || *success == true) {
            return Ok(answer["data"].take());
        }
        Err(refused(number(&answer, "status").unwrap_or(status), reason(&answer, line)))
    }

    /// Message for rejected credentials.
    fn unknown_login(&self) -> &'static str {
        match self.login {
            ProxmoxLogin::Token(_) => "unknown API token; want one such as ops@pve!ichor=UUID",
            ProxmoxLogin::Password { .. } => "wrong user or password; want a user such as root@pam",
        }
    }

    fn unexpected_response(&self, request: &ProxmoxRequest) -> ProxmoxError {
        ProxmoxError::Odd { request: request.to_string(), root: self.location() }
    }
}

/// The reason of a rejected call, including invalid parameters.
fn reason(answer: &Value, status: StatusCode) -> String {
    let message = text(answer, "message").map(str::trim).filter(|message| !message.is_empty());
    let message = message.map_or_else(|| status.to_string(), ToOwned::to_owned);
    let errors = answer.get("errors").and_then(Value::as_object);
    let parts = errors.into_iter().flatten().map(|(key, why)| {
        format!("{key}: {}", why.as_str().map_or_else(|| why.to_string(), |why| why.trim().to_owned()))
    });
    let line = std::iter::once(message).chain(parts).collect::<Vec<_>>().join("; ");
    line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(1000).collect()
}
