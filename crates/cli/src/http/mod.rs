//! Blocking HTTP client. Proxies come from the environment, trusted CAs from the system or from a [`ServerTrust`]
//! for one server.
//!
//! Requests run in one runtime per process, so that threads and async tasks can wait for them.

mod runtime;

use std::io::{self, Read};
use std::time::Duration;

use ichor_client::http::{self as stack, ClientOptions, Payload, Proxy, Request};

pub(crate) use ichor_client::http::{CertificatePin, Method, RequestError, ServerTrust, StatusCode};

/// Time limit for connecting, and the unit of the response timeout.
const CONNECT_TIMEOUT: Duration = Duration::from_mins(1);

/// Time limit without progress of a transfer.
const STALL_TIMEOUT: Duration = Duration::from_mins(1);

/// Maximum number of redirects.
const MAX_REDIRECTS: usize = 10;

/// Size limit of text responses.
const MAX_TEXT: u64 = 4 << 20;

/// Chunk size of uploads.
const CHUNK: usize = 64 << 10;

/// A failed request.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach {url}")]
pub(crate) struct HttpError {
    url: String,
    source: RequestError,
}

impl HttpError {
    /// Whether the server's certificate is not trusted; retrying does not help.
    pub(crate) fn is_distrust(&self) -> bool {
        self.source.is_distrust()
    }
}

/// Body of a request.
pub(crate) enum RequestBody<'l> {
    /// No body and no content length.
    None,
    /// Bytes, possibly empty.
    Bytes(&'l [u8]),
    /// A reader and its length.
    Stream(&'l mut dyn Read, u64),
}

/// A blocking HTTP client.
#[derive(Debug)]
pub(crate) struct HttpClient {
    stack: stack::Client,
}

impl HttpClient {
    pub(crate) fn new() -> HttpClient {
        // An image factory builds a new image while the client waits.
        Self::with(ServerTrust::System, CONNECT_TIMEOUT * 10, MAX_REDIRECTS)
    }

    /// Creates a client for one server, without redirects.
    pub(crate) fn for_server(trust: &ServerTrust) -> HttpClient {
        Self::with(trust.clone(), CONNECT_TIMEOUT * 2, 0)
    }

    fn with(trust: ServerTrust, answer_within: Duration, redirects: usize) -> Self {
        let stack = stack::Client::new(ClientOptions {
            trust,
            identity: None,
            proxy: Proxy::from_env(|name| std::env::var(name).ok()),
            connect_within: CONNECT_TIMEOUT,
            answer_within,
            stall: STALL_TIMEOUT,
            redirects,
            keeps_connections: true,
        });
        Self { stack }
    }

    pub(crate) fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<HttpResponse, HttpError> {
        self.send(&Method::GET, url, headers, RequestBody::None)
    }

    pub(crate) fn post(&self, url: &str, kind: &str, text: &str) -> Result<HttpResponse, HttpError> {
        self.send(&Method::POST, url, &[("content-type", kind)], RequestBody::Bytes(text.as_bytes()))
    }

    /// Sends a request.
    pub(crate) fn send(
        &self,
        method: &Method,
        url: &str,
        headers: &[(&str, &str)],
        body: RequestBody<'_>,
    ) -> Result<HttpResponse, HttpError> {
        let headers = headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let request = |payload| Request { method: method.clone(), url: url.to_owned(), headers, payload };
        let answer = match body {
            RequestBody::None => self.run(request(Payload::none())),
            RequestBody::Bytes(bytes) => self.run(request(Payload::bytes(bytes.to_vec()))),
            RequestBody::Stream(reader, length) => {
                let (chunks, payload) = Payload::chunks(length, STALL_TIMEOUT);
                self.stream(request(payload), reader, chunks)
            }
        };
        match answer {
            Ok(stack) => Ok(HttpResponse { url: url.to_owned(), stack }),
            Err(source) => Err(failed(url, source)),
        }
    }

    fn run(&self, request: Request) -> Result<stack::Response, RequestError> {
        let client = self.stack.clone();
        runtime::wait(async move { client.send(request).await })?
    }

    /// Streams a request body from a reader on this thread.
    fn stream(
        &self,
        request: Request,
        reader: &mut dyn Read,
        mut chunks: stack::ChunkSender,
    ) -> Result<stack::Response, RequestError> {
        let client = self.stack.clone();
        let answer = runtime::start(async move { client.send(request).await })?;
        loop {
            let chunk = next_chunk(reader);
            let is_end = matches!(&chunk, Ok(bytes) if bytes.is_empty());
            if is_end || answer.is_finished() {
                break;
            }
            let is_failure = chunk.is_err();
            let (sender, sent) = runtime::wait(async move {
                let sent = chunks.send(chunk.map(Into::into)).await;
                (chunks, sent)
            })?;
            chunks = sender;
            match sent {
                Ok(is_wanted) if is_wanted && !is_failure => {}
                // The early response or the error has the reason.
                Ok(_) => break,
                // A server that has responded need not read the rest.
                Err(_) if answer.is_finished() => break,
                Err(error) => return Err(error),
            }
        }
        drop(chunks);
        answer.wait()?
    }
}

/// Reads the next chunk; empty at the end.
fn next_chunk(reader: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut chunk = vec![0; CHUNK];
    loop {
        match reader.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => {
                chunk.truncate(read?);
                return Ok(chunk);
            }
        }
    }
}

fn failed(url: &str, source: RequestError) -> HttpError {
    HttpError { url: redact_url(url), source }
}

/// A response whose body is not read yet.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    /// URL of the request.
    url: String,
    stack: stack::Response,
}

impl HttpResponse {
    pub(crate) fn status(&self) -> StatusCode {
        self.stack.status()
    }

    /// Value of a header, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.stack.header(name)
    }

    /// Reads the body as text.
    pub(crate) fn text(self) -> Result<String, HttpError> {
        let Self { url, mut stack } = self;
        let bytes = runtime::wait(async move { stack.bytes(MAX_TEXT).await }).flatten();
        let bytes = bytes.map_err(|source| failed(&url, source))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads the body up to `limit` bytes plus one.
    pub(crate) fn bytes(self, limit: u64) -> Result<Vec<u8>, HttpError> {
        let Self { url, mut stack } = self;
        let read = async move {
            let mut bytes = Vec::new();
            while let Some(chunk) = stack.chunk().await? {
                bytes.extend_from_slice(&chunk);
                if bytes.len() as u64 > limit {
                    bytes
                        .truncate(usize::try_from(limit).map_or(usize::MAX, |limit| limit.saturating_add(1)));
                    break;
                }
            }
            Ok(bytes)
        };
        runtime::wait(read).flatten().map_err(|source| failed(&url, source))
    }

    /// Streams the body without a size limit.
    pub(crate) fn into_reader(self) -> impl Read + 'static {
        BodyReader { stack: Some(self.stack), chunk: io::Cursor::default() }
    }

    /// Status and the first line of the body, if it is plain text.
    pub(crate) fn error_summary(self) -> String {
        let status = self.status();
        let text = self.text().unwrap_or_default();
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if line.is_empty() || line.starts_with('<') {
            return status.to_string();
        }
        format!("{status}: {}", line.chars().filter(|c| !c.is_control()).take(300).collect::<String>())
    }
}

/// Reader of a response body.
struct BodyReader {
    /// None at the end and after an error.
    stack: Option<stack::Response>,
    chunk: io::Cursor<Vec<u8>>,
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.chunk.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Some(mut stack) = self.stack.take() else { return Ok(0) };
            let (stack, chunk) = runtime::wait(async move {
                let chunk = stack.chunk().await;
                (stack, chunk)
            })
            .map_err(io::Error::other)?;
            let Some(chunk) = chunk.map_err(io::Error::other)? else { return Ok(0) };
            self.chunk = io::Cursor::new(chunk.into());
            self.stack = Some(stack);
        }
    }
}

/// Hides the password in a URL.
pub(crate) fn redact_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{}", &rest[end..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_url_is_redacted() {
        assert_eq!(redact_url("https://me:hunter2@factory.sol/a@b"), "https://***@factory.sol/a@b");
        assert_eq!(redact_url("https://factory.sol/a@b"), "https://factory.sol/a@b");
    }
}
