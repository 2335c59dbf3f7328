//! gRPC over a Unix socket: HTTP/2 by hyper, messages by prost.
//!
//! machined and gobgpd are called this way. They listen on this node only, so there is no TLS, no name resolution, no
//! load balancing and no compression: the rest of a gRPC client is a request with headers, a length before each
//! message, and a status in the trailers.

use std::io;
use std::marker::PhantomData;
use std::path::Path;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, TE, USER_AGENT};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::UnixStream;

/// The longest message that is accepted.
const LONGEST: usize = 64 << 20;
/// The prefix of each message: whether it is compressed, and its length.
const PREFIX: usize = 5;
/// The status of a method that the server does not have.
pub const UNIMPLEMENTED: u32 = 12;

/// A call failed.
#[derive(Debug, thiserror::Error)]
pub enum GrpcError {
    /// The socket cannot be connected to.
    #[error(transparent)]
    Connect(#[from] io::Error),
    /// The connection was lost, or the server does not speak HTTP/2.
    #[error(transparent)]
    Http(#[from] hyper::Error),
    /// The server refused the call.
    #[error("{message}")]
    Status {
        /// gRPC's number of the reason.
        code: u32,
        /// The server's words.
        message: String,
    },
    /// The response is not gRPC.
    #[error("the answer is malformed: {0}")]
    Malformed(&'static str),
    /// The response did not arrive in time.
    #[error("no response within {0} s")]
    Late(u64),
}

/// A connection to a server. It is closed when the client and all its streams are dropped.
#[derive(Clone, Debug)]
pub struct GrpcClient {
    sender: SendRequest<Full<Bytes>>,
    metadata: Option<(&'static str, &'static str)>,
}

impl GrpcClient {
    /// Connects to a socket; needs a tokio runtime.
    pub async fn connect(socket: &Path) -> Result<Self, GrpcError> {
        let stream = UnixStream::connect(socket).await?;
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        // An error of the connection is an error of each call.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Self { sender, metadata: None })
    }

    /// Adds a header to every call.
    #[must_use]
    pub fn with_metadata(mut self, name: &'static str, value: &'static str) -> Self {
        self.metadata = Some((name, value));
        self
    }

    /// Calls a method with one response.
    pub async fn call<A: Message + Default>(
        &mut self,
        path: &str,
        request: &impl Message,
    ) -> Result<A, GrpcError> {
        let mut responses = self.stream(path, request).await?;
        let response = responses.next().await?.ok_or(GrpcError::Malformed("it has no message"))?;
        // The status comes after the message.
        while responses.next().await?.is_some() {}
        Ok(response)
    }

    /// Calls a method with a stream of responses. Waits until the server starts to respond.
    pub async fn stream<A: Message + Default>(
        &mut self,
        path: &str,
        request: &impl Message,
    ) -> Result<MessageStream<A>, GrpcError> {
        let mut call = Request::post(format!("http://localhost{path}"))
            .header(CONTENT_TYPE, "application/grpc")
            .header(TE, "trailers")
            .header(USER_AGENT, "ichor-agent");
        if let Some((name, value)) = self.metadata {
            call = call.header(name, HeaderValue::from_static(value));
        }
        let call = call.body(Full::from(encode_frame(request))).map_err(|_| GrpcError::Malformed("path"))?;
        self.sender.ready().await?;
        let (head, body) = self.sender.send_request(call).await?.into_parts();
        if head.status != StatusCode::OK {
            return Err(GrpcError::Malformed("its HTTP status is not 200"));
        }
        check_status(&head.headers)?;
        Ok(MessageStream { body, buffer: Vec::new(), read: 0, kind: PhantomData })
    }
}

/// The responses to one call, as they arrive. Dropping them cancels the call.
#[derive(Debug)]
pub struct MessageStream<A> {
    body: Incoming,
    buffer: Vec<u8>,
    /// How much of the buffer has been decoded.
    read: usize,
    kind: PhantomData<A>,
}

impl<A: Message + Default> MessageStream<A> {
    /// The next response; none at the end of the stream. Cancel safe.
    pub async fn next(&mut self) -> Result<Option<A>, GrpcError> {
        loop {
            if let Some(message) = self.decode()? {
                return Ok(Some(message));
            }
            self.buffer.drain(..self.read);
            self.read = 0;
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            match frame?.into_data() {
                Ok(data) => self.buffer.extend_from_slice(&data),
                Err(frame) => check_status(frame.trailers_ref().unwrap_or(&HeaderMap::new()))?,
            }
        }
    }

    /// The next message in the buffer, once it is complete.
    fn decode(&mut self) -> Result<Option<A>, GrpcError> {
        let waiting = &self.buffer[self.read..];
        let Some(([compressed, length @ ..], rest)) = waiting.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes(*length) as usize;
        if *compressed != 0 || length > LONGEST {
            return Err(GrpcError::Malformed("a message is compressed or too long"));
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let message = A::decode(message).map_err(|_| GrpcError::Malformed("a message is not of its type"))?;
        self.read += PREFIX + length;
        Ok(Some(message))
    }
}

fn encode_frame(message: &impl Message) -> Vec<u8> {
    let length = u32::try_from(message.encoded_len()).expect("a request is short");
    let mut frame = vec![0];
    frame.extend(length.to_be_bytes());
    message.encode(&mut frame).expect("a Vec grows");
    frame
}

/// The status of a call, if the headers or trailers have one.
fn check_status(headers: &HeaderMap) -> Result<(), GrpcError> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    match text("grpc-status") {
        None | Some("0") => Ok(()),
        Some(code) => Err(GrpcError::Status {
            code: code.parse().unwrap_or_default(),
            message: percent_decode(text("grpc-message").unwrap_or_default()),
        }),
    }
}

/// gRPC writes `%` and everything outside ASCII as `%XX`.
fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|hex| str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &after[2..]),
            None => (bytes.push(*first), rest = after),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_an_error_with_the_servers_words() {
        let mut trailers = HeaderMap::new();
        assert!(check_status(&trailers).is_ok());
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        assert!(check_status(&trailers).is_ok());

        trailers.insert("grpc-status", HeaderValue::from_static("12"));
        trailers.insert("grpc-message", HeaderValue::from_static("100%25 unknown: %C3%A4%"));

        let error = check_status(&trailers).unwrap_err();
        assert!(matches!(error, GrpcError::Status { code: UNIMPLEMENTED, .. }));
        assert_eq!(error.to_string(), "100% unknown: ä%");
    }
}
