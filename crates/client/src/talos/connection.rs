//! An HTTP/2 connection for calls. It does not reconnect: another machine may have the address by then.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::watch;
use tokio::time;
use tonic::body::Body;
use tower_service::Service;

use super::alert_stream::{AlertStream, CertificateRejection};
use super::connect::NodeStream;
use super::error::root;

/// The flow control window of a stream.
const WINDOW: u32 = 1 << 20;
/// How long to wait for the reason after a call failed because the connection ended.
const REASON: Duration = Duration::from_millis(200);

/// Why a connection ended.
#[derive(Clone, Debug)]
pub(super) enum ConnectionEnd {
    /// The other end did not take the certificate it was shown.
    NotLetIn(String),
    /// Another reason.
    Broke(String),
}

/// A connection; a copy is the same one.
#[derive(Clone)]
pub(super) struct NodeConnection {
    sender: SendRequest<Body>,
    end: watch::Receiver<Option<ConnectionEnd>>,
}

impl NodeConnection {
    /// Starts HTTP/2 on a stream.
    pub(super) async fn open(dialled: NodeStream) -> Result<Self, ConnectionEnd> {
        let (stream, refusal) = AlertStream::new(dialled.stream);
        let made = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(4 * WINDOW)
            .handshake(TokioIo::new(stream))
            .await;
        let (sender, connection) = made.map_err(|error| ConnectionEnd::from_error(&error, &refusal))?;
        let (tell, end) = watch::channel(None);
        tokio::spawn(async move {
            let ended = match connection.await {
                // An end of TLS that HTTP/2 takes for a proper one.
                Ok(()) => match refusal.get() {
                    Some(reason) => ConnectionEnd::NotLetIn(reason.clone()),
                    None => ConnectionEnd::Broke("the node closed the connection".to_owned()),
                },
                Err(error) => ConnectionEnd::from_error(&error, &refusal),
            };
            tell.send_replace(Some(ended));
        });
        Ok(Self { sender, end })
    }

    /// Why it ended, if it did.
    pub(super) async fn end(&self) -> Option<ConnectionEnd> {
        let mut end = self.end.clone();
        let ended = time::timeout(REASON, end.wait_for(Option::is_some)).await;
        ended.ok()?.ok()?.clone()
    }
}

impl ConnectionEnd {
    fn from_error(error: &hyper::Error, refusal: &CertificateRejection) -> Self {
        match refusal.get() {
            Some(reason) => Self::NotLetIn(reason.clone()),
            None => Self::Broke(root(error)),
        }
    }
}

impl Service<Request<Body>> for NodeConnection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.sender.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.sender.send_request(request))
    }
}
