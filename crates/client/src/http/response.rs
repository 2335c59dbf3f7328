//! The answer of a server.

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::StatusCode;
use hyper::body::{Bytes, Incoming};
use hyper::http::response::Parts;
use tokio::time;

use super::RequestError;

/// The answer of a server, whose body is still to be read.
#[derive(Debug)]
pub struct Response {
    head: Parts,
    body: Incoming,
    stall: Duration,
}

impl Response {
    pub(super) fn new(response: hyper::Response<Incoming>, stall: Duration) -> Self {
        let (head, body) = response.into_parts();
        Self { head, body, stall }
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// A header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }

    /// The next piece of the body; none after the last.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, RequestError> {
        loop {
            let frame = time::timeout(self.stall, self.body.frame()).await;
            let frame = frame.map_err(|_| RequestError::Stalled(self.stall))?;
            let Some(frame) = frame.transpose().map_err(RequestError::BrokenBody)? else { return Ok(None) };
            // Trailers say nothing that is needed here.
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }

    /// The complete body, of at most `most` bytes.
    pub async fn bytes(&mut self, most: u64) -> Result<Vec<u8>, RequestError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if (bytes.len() + chunk.len()) as u64 > most {
                return Err(RequestError::TooLong(most));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}
