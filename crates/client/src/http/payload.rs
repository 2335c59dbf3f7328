//! Request bodies.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::{mpsc, watch};
use tokio::time;

use super::RequestError;

/// A request body.
pub struct Payload(PayloadBody);

enum PayloadBody {
    None,
    Bytes(Option<Bytes>),
    Chunks { length: u64, chunks: mpsc::Receiver<io::Result<Bytes>>, sent: watch::Sender<()> },
}

/// The other end of a payload that is sent piece by piece.
pub struct ChunkSender {
    chunks: mpsc::Sender<io::Result<Bytes>>,
    patience: Duration,
}

impl Payload {
    /// No body, not even a length of 0.
    pub fn none() -> Self {
        Self(PayloadBody::None)
    }

    /// Bytes, possibly none of them.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Self(PayloadBody::Bytes(Some(bytes.into())))
    }

    /// `length` bytes that come in pieces, each of which the server has to receive within `patience`.
    pub fn chunks(length: u64, patience: Duration) -> (ChunkSender, Self) {
        let (sender, chunks) = mpsc::channel(1);
        let sent = watch::Sender::new(());
        (ChunkSender { chunks: sender, patience }, Self(PayloadBody::Chunks { length, chunks, sent }))
    }

    /// The value of `content-length`.
    pub(super) fn length(&self) -> Option<u64> {
        match &self.0 {
            PayloadBody::None => None,
            PayloadBody::Bytes(bytes) => Some(bytes.as_ref().map_or(0, Bytes::len) as u64),
            PayloadBody::Chunks { length, .. } => Some(*length),
        }
    }

    /// Changes whenever a piece was sent, and ends with the last.
    pub(super) fn progress(&self) -> Option<watch::Receiver<()>> {
        match &self.0 {
            PayloadBody::Chunks { sent, .. } => Some(sent.subscribe()),
            PayloadBody::None | PayloadBody::Bytes(_) => None,
        }
    }
}

impl ChunkSender {
    /// Sends a chunk, or the error that ends the body. Returns whether the receiver still exists.
    pub async fn send(&mut self, chunk: io::Result<Bytes>) -> Result<bool, RequestError> {
        match time::timeout(self.patience, self.chunks.send(chunk)).await {
            Ok(sent) => Ok(sent.is_ok()),
            Err(_) => Err(RequestError::Stalled(self.patience)),
        }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.0 {
            PayloadBody::None => Poll::Ready(None),
            PayloadBody::Bytes(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            PayloadBody::Chunks { chunks, sent, .. } => chunks.poll_recv(context).map(|chunk| {
                sent.send_replace(());
                chunk.map(|chunk| chunk.map(Frame::data))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            PayloadBody::None => true,
            PayloadBody::Bytes(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            PayloadBody::Chunks { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length().unwrap_or(0))
    }
}
