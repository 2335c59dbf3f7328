//! A stream that remembers why a node would not have us: HTTP/2 makes a mere text of it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connect;

/// The node's first alert about our certificate.
pub(super) type CertificateRejection = Arc<OnceLock<String>>;

pub(super) struct AlertStream<S> {
    stream: S,
    refusal: CertificateRejection,
}

impl<S> AlertStream<S> {
    pub(super) fn new(stream: S) -> (Self, CertificateRejection) {
        let refusal = CertificateRejection::default();
        (Self { stream, refusal: Arc::clone(&refusal) }, refusal)
    }

    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && let Some(reason) = connect::rejected_certificate(error)
        {
            self.refusal.get_or_init(|| reason);
        }
        result
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for AlertStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        Poll::Ready(self.note(read))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for AlertStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        Poll::Ready(self.note(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.stream).poll_flush(context));
        Poll::Ready(self.note(flushed))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
