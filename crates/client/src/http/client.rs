//! Requests, from the first to the last of their redirects.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, StatusCode, Uri};
use tokio::time;

use super::connect::{AGENT, Connector};
use super::pool::{ConnectionPool, Origin};
use super::{ClientIdentity, Payload, Proxy, RequestError, Response, ServerTrust, redirect};

/// Trust and timeouts of a client.
#[derive(Debug)]
pub struct ClientOptions {
    /// Which certificates servers must have.
    pub trust: ServerTrust,
    /// The client's certificate, for servers that ask for one. With it, TLS is 1.3: older versions send it in the clear.
    pub identity: Option<ClientIdentity>,
    /// The proxy, if any.
    pub proxy: Option<Proxy>,
    /// The timeout of a connection, TLS and proxy included.
    pub connect_within: Duration,
    /// The timeout from the end of the request to the response headers.
    pub answer_within: Duration,
    /// How long the body of a response may stall.
    pub stall: Duration,
    /// The limit of redirects; with 0, redirects are returned as responses.
    pub redirects: usize,
    /// Whether connections are used for more than one request.
    pub keeps_connections: bool,
}

/// A request.
pub struct Request {
    /// Its method.
    pub method: Method,
    /// An absolute URL.
    pub url: String,
    /// Its headers, but for those that every request has.
    pub headers: Vec<(String, String)>,
    /// The request body.
    pub payload: Payload,
}

/// Sends requests; a copy uses the same connections.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<ClientInner>,
}

#[derive(Debug)]
struct ClientInner {
    connector: Connector,
    pool: ConnectionPool,
    answer_within: Duration,
    stall: Duration,
    redirects: usize,
    keeps_connections: bool,
}

/// A request to one server.
struct ServerRequest {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    payload: Payload,
}

impl Client {
    /// A client; reads the certificates of the system where it trusts them.
    pub fn new(options: ClientOptions) -> Self {
        let connector =
            Connector::new(&options.trust, options.identity, options.proxy, options.connect_within);
        let inner = ClientInner {
            connector,
            pool: ConnectionPool::default(),
            answer_within: options.answer_within,
            stall: options.stall,
            redirects: options.redirects,
            keeps_connections: options.keeps_connections,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Sends a request, and gives the answer of the last server it is redirected to.
    pub async fn send(&self, request: Request) -> Result<Response, RequestError> {
        let mut call = ServerRequest::read(request)?;
        for left in (0..=self.inner.redirects).rev() {
            let (method, uri, mut headers) = (call.method.clone(), call.uri.clone(), call.headers.clone());
            let response = self.inner.exchange(call).await?;
            let Some(location) = location(&response).filter(|_| self.inner.redirects > 0) else {
                return Ok(Response::new(response, self.inner.stall));
            };
            if left == 0 {
                break;
            }
            let unfollowed = || RequestError::Redirect(location.clone());
            let method = redirect::method_after(response.status(), &method).ok_or_else(unfollowed)?;
            let uri = redirect::target(&uri, &location).ok_or_else(unfollowed)?;
            redirect::strip(&mut headers);
            call = ServerRequest { method, uri, headers, payload: Payload::none() };
        }
        Err(RequestError::TooManyRedirects)
    }
}

impl ClientInner {
    /// Sends a request and receives the response headers.
    async fn exchange(&self, call: ServerRequest) -> Result<hyper::Response<Incoming>, RequestError> {
        let origin = Origin::from_uri(&call.uri).ok_or_else(|| RequestError::Url(call.uri.to_string()))?;
        let progress = call.payload.progress();
        let mut request = call.into_http()?;
        while let Some(mut connection) = self.pool.take(&origin) {
            let answer = connection.try_send_request(request);
            match self.wait(answer, progress.clone()).await? {
                Ok(response) => {
                    self.pool.keep(origin, connection);
                    return Ok(response);
                }
                // The server closed the connection while it waited: nothing was sent.
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(sending_failed(error.into_error())),
                },
            }
        }
        let mut connection = self.connector.connect(&origin).await?;
        let answer = connection.send_request(request);
        let response = self.wait(answer, progress).await?.map_err(sending_failed)?;
        if self.keeps_connections {
            self.pool.keep(origin, connection);
        }
        Ok(response)
    }

    /// Waits for a response; the timeout restarts with every chunk of the payload.
    async fn wait<T>(
        &self,
        answer: impl Future<Output = T>,
        mut progress: Option<tokio::sync::watch::Receiver<()>>,
    ) -> Result<T, RequestError> {
        tokio::pin!(answer);
        loop {
            let sent = async {
                match &mut progress {
                    Some(progress) => progress.changed().await.is_ok(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                answer = &mut answer => return Ok(answer),
                goes_on = sent => if !goes_on { progress = None },
                () = time::sleep(self.answer_within) => return Err(RequestError::NoAnswer(self.answer_within)),
            }
        }
    }
}

/// Distinguishes an error of the payload from one of the connection.
fn sending_failed(error: hyper::Error) -> RequestError {
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<std::io::Error>());
    match source {
        Some(source) if error.is_user() => {
            RequestError::Payload(std::io::Error::new(source.kind(), source.to_string()))
        }
        _ => RequestError::broken(error),
    }
}

/// The target of a redirect.
fn location(response: &hyper::Response<Incoming>) -> Option<String> {
    let status = response.status();
    if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
        return None;
    }
    let location = response.headers().get(LOCATION)?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

impl ServerRequest {
    fn read(request: Request) -> Result<Self, RequestError> {
        let Request { method, url, headers, payload } = request;
        let uri: Uri = url.parse().map_err(|_| RequestError::Url(url))?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(name).map_err(hyper::http::Error::from)?;
            map.append(name, HeaderValue::try_from(value).map_err(hyper::http::Error::from)?);
        }
        Ok(Self { method, uri, headers: map, payload })
    }

    /// The request as it is sent: with the path only, and with the headers that every request has.
    fn into_http(mut self) -> Result<hyper::Request<Payload>, RequestError> {
        let authority = self.uri.authority().map_or("", |authority| authority.as_str());
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, authority),
        };
        let host = HeaderValue::try_from(place).map_err(hyper::http::Error::from)?;
        self.headers.entry(HOST).or_insert(host);
        self.headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
        self.headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        if let Some(login) = login {
            let pair = if login.contains(':') { login.to_owned() } else { format!("{login}:") };
            let basic = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)));
            self.headers.entry(AUTHORIZATION).or_insert(basic.map_err(hyper::http::Error::from)?);
        }
        if let Some(length) = self.payload.length() {
            self.headers.insert(CONTENT_LENGTH, length.into());
        }
        let path = self.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let mut request = hyper::Request::builder().method(self.method).uri(path).body(self.payload)?;
        *request.headers_mut() = self.headers;
        Ok(request)
    }
}
