//! HTTP for code that blocks. Proxies come from the environment, trusted certificates from the system; a server of one's own may
//! have a [`Trust`] of its own.
//!
//! Requests run in one runtime of the whole process, so that threads and tasks alike may wait for them.

mod runtime;

use std::io::{self, Read};
use std::time::Duration;

use ichor_client::http::{self as stack, ClientOptions, Payload, Proxy, Request};

pub(crate) use ichor_client::http::{Method, Pin, RequestError, StatusCode, Trust};

/// How long a server may take to be reached and to start its answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long an answer, or what is sent, may stand still.
const STALL: Duration = Duration::from_mins(1);

/// How many redirects are followed.
const REDIRECTS: usize = 10;

/// The longest text that is read from a server.
const LONGEST_TEXT: u64 = 4 << 20;

/// How much of a stream is sent at once.
const PIECE: usize = 64 << 10;

/// A server that could not be asked.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach {url}")]
pub(crate) struct HttpError {
    url: String,
    source: RequestError,
}

impl HttpError {
    /// Whether it was reached, and is not whom it should be: asking again does not help.
    pub(crate) fn is_distrust(&self) -> bool {
        self.source.is_distrust()
    }
}

/// What is sent with a request.
pub(crate) enum Load<'l> {
    /// Nothing, not even that it is empty.
    None,
    /// Bytes, of which there may be none.
    Bytes(&'l [u8]),
    /// What a reader gives, and how many bytes that are.
    Stream(&'l mut dyn Read, u64),
}

/// Somebody who asks.
#[derive(Debug)]
pub(crate) struct Client {
    stack: stack::Client,
}

impl Client {
    pub(crate) fn new() -> Client {
        // A factory that never made this image makes it while we wait.
        Self::with(Trust::System, PATIENCE * 10, REDIRECTS)
    }

    /// Asks one server, which sends nobody elsewhere.
    pub(crate) fn of_one(trust: &Trust) -> Client {
        Self::with(trust.clone(), PATIENCE * 2, 0)
    }

    fn with(trust: Trust, answer_within: Duration, redirects: usize) -> Self {
        let stack = stack::Client::new(ClientOptions {
            trust,
            identity: None,
            proxy: Proxy::from_env(|name| std::env::var(name).ok()),
            connect_within: PATIENCE,
            answer_within,
            stall: STALL,
            redirects,
            keeps_connections: true,
        });
        Self { stack }
    }

    pub(crate) fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Response, HttpError> {
        self.send(&Method::GET, url, headers, Load::None)
    }

    pub(crate) fn post(&self, url: &str, kind: &str, text: &str) -> Result<Response, HttpError> {
        self.send(&Method::POST, url, &[("content-type", kind)], Load::Bytes(text.as_bytes()))
    }

    /// Any request.
    pub(crate) fn send(
        &self,
        method: &Method,
        url: &str,
        headers: &[(&str, &str)],
        load: Load<'_>,
    ) -> Result<Response, HttpError> {
        let headers = headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let request = |payload| Request { method: method.clone(), url: url.to_owned(), headers, payload };
        let answer = match load {
            Load::None => self.run(request(Payload::none())),
            Load::Bytes(bytes) => self.run(request(Payload::bytes(bytes.to_vec()))),
            Load::Stream(reader, length) => {
                let (pieces, payload) = Payload::chunks(length, STALL);
                self.stream(request(payload), reader, pieces)
            }
        };
        match answer {
            Ok(stack) => Ok(Response { url: url.to_owned(), stack }),
            Err(source) => Err(failed(url, source)),
        }
    }

    fn run(&self, request: Request) -> Result<stack::Response, RequestError> {
        let client = self.stack.clone();
        runtime::wait(async move { client.send(request).await })?
    }

    /// Sends what a reader gives, while it is read in this thread.
    fn stream(
        &self,
        request: Request,
        reader: &mut dyn Read,
        mut pieces: stack::ChunkSender,
    ) -> Result<stack::Response, RequestError> {
        let client = self.stack.clone();
        let answer = runtime::start(async move { client.send(request).await })?;
        loop {
            let piece = next_piece(reader);
            let is_end = matches!(&piece, Ok(bytes) if bytes.is_empty());
            if is_end || answer.is_finished() {
                break;
            }
            let is_failure = piece.is_err();
            let (sender, sent) = runtime::wait(async move {
                let sent = pieces.send(piece.map(Into::into)).await;
                (pieces, sent)
            })?;
            pieces = sender;
            match sent {
                Ok(is_wanted) if is_wanted && !is_failure => {}
                // The answer, which came early, or the error says why.
                Ok(_) => break,
                // A server that has answered need not read the rest.
                Err(_) if answer.is_finished() => break,
                Err(error) => return Err(error),
            }
        }
        drop(pieces);
        answer.wait()?
    }
}

/// The next bytes of a reader, as many as there are at once; none at its end.
fn next_piece(reader: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; PIECE];
    loop {
        match reader.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => {
                piece.truncate(read?);
                return Ok(piece);
            }
        }
    }
}

fn failed(url: &str, source: RequestError) -> HttpError {
    HttpError { url: shown(url), source }
}

/// An answer, whose body is still to be read.
#[derive(Debug)]
pub(crate) struct Response {
    /// What was asked for.
    url: String,
    stack: stack::Response,
}

impl Response {
    pub(crate) fn status(&self) -> StatusCode {
        self.stack.status()
    }

    /// A header, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.stack.header(name)
    }

    /// The text of an answer.
    pub(crate) fn text(self) -> Result<String, HttpError> {
        let Self { url, mut stack } = self;
        let bytes = runtime::wait(async move { stack.bytes(LONGEST_TEXT).await }).flatten();
        let bytes = bytes.map_err(|source| failed(&url, source))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The bytes of an answer, and at most one more than `most`.
    pub(crate) fn bytes(self, most: u64) -> Result<Vec<u8>, HttpError> {
        let Self { url, mut stack } = self;
        let read = async move {
            let mut bytes = Vec::new();
            while let Some(chunk) = stack.chunk().await? {
                bytes.extend_from_slice(&chunk);
                if bytes.len() as u64 > most {
                    bytes.truncate(usize::try_from(most).map_or(usize::MAX, |most| most.saturating_add(1)));
                    break;
                }
            }
            Ok(bytes)
        };
        runtime::wait(read).flatten().map_err(|source| failed(&url, source))
    }

    /// An answer as it comes, however long it is.
    pub(crate) fn into_reader(self) -> impl Read + 'static {
        BodyReader { stack: Some(self.stack), chunk: io::Cursor::default() }
    }

    /// The status, and the first line of the text, if it is one for people to read in a terminal.
    pub(crate) fn complaint(self) -> String {
        let status = self.status();
        let text = self.text().unwrap_or_default();
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        if line.is_empty() || line.starts_with('<') {
            return status.to_string();
        }
        format!("{status}: {}", line.chars().filter(|c| !c.is_control()).take(300).collect::<String>())
    }
}

/// The body of an answer.
struct BodyReader {
    /// None after the end, and after an error.
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

/// A URL without the password it may hold.
pub(crate) fn shown(url: &str) -> String {
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
    fn a_password_is_not_shown() {
        assert_eq!(shown("https://me:hunter2@factory.sol/a@b"), "https://***@factory.sol/a@b");
        assert_eq!(shown("https://factory.sol/a@b"), "https://factory.sol/a@b");
    }
}
