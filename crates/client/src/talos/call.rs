//! A call: its name for people, its path, and how long it may take.

use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper::http::Uri;
use hyper::http::uri::PathAndQuery;
use prost::Message;
use tokio::time;
use tonic::client::Grpc;
use tonic::codec::Streaming;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use super::NodeClient;
use super::connection::{ConnectionEnd, NodeConnection};
use super::error::{CallContext, NodeError, NodeErrorKind};

/// As much as Talos' own client takes.
const LARGEST_MESSAGE: usize = 32 << 20;

/// A call of the API.
#[derive(Clone, Copy)]
pub(super) struct NodeCall {
    /// Its name, for messages.
    pub name: &'static str,
    /// Its path.
    pub path: &'static str,
    /// The timeout of the response; for a stream, of its next message.
    pub(crate) patience: Duration,
}

impl NodeCall {
    /// A call that a node answers at once.
    pub(super) const fn quick(name: &'static str, path: &'static str) -> Self {
        Self { name, path, patience: Duration::from_secs(20) }
    }

    /// A call that takes a node some time.
    pub(super) const fn slow(name: &'static str, path: &'static str, patience: Duration) -> Self {
        Self { name, path, patience }
    }
}

impl NodeClient {
    /// Makes a call with one answer.
    pub(super) async fn ask<Q, A>(&self, call: NodeCall, request: Q) -> Result<A, NodeError>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let answer = async {
            let mut client = self.client().await?;
            let path = PathAndQuery::from_static(call.path);
            client.unary(Request::new(request), path, ProstCodec::default()).await.map(Response::into_inner)
        };
        match time::timeout(call.patience, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(status)) => Err(self.call_error(call, &status).await),
            Err(_) => Err(self.too_late(call)),
        }
    }

    /// Makes a call whose response is a stream; the first [`ResponseStream::next`] returns an error of the call itself.
    ///
    /// With `follow` the stream may be silent for as long as it likes.
    pub(super) fn stream<Q, A>(&self, call: NodeCall, request: Q, follow: bool) -> ResponseStream<A>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let node = self.clone();
        let opening = Box::pin(async move {
            let mut client = node.client().await?;
            let path = PathAndQuery::from_static(call.path);
            let answer = client.server_streaming(Request::new(request), path, ProstCodec::default()).await;
            answer.map(Response::into_inner)
        });
        ResponseStream { node: self.clone(), call, follow, state: StreamState::Opening(opening) }
    }

    async fn client(&self) -> Result<Grpc<NodeConnection>, Status> {
        let origin: Uri = self.inner.origin.clone();
        let mut client = Grpc::with_origin(self.inner.line.clone(), origin);
        client = client.max_decoding_message_size(LARGEST_MESSAGE);
        client.ready().await.map_err(|error| Status::from_error(error.into()))?;
        Ok(client)
    }

    pub(super) fn about(&self, call: &'static str) -> CallContext<'_> {
        CallContext { node: &self.inner.name, address: self.inner.address, call }
    }

    fn too_late(&self, call: NodeCall) -> NodeError {
        let answer = format!("no response within {} s", call.patience.as_secs());
        NodeError::new(self.about(call.name), NodeErrorKind::TimedOut, answer)
    }

    /// The error of a call, with the connection's own reason if it ended.
    pub(super) async fn call_error(&self, call: NodeCall, status: &Status) -> NodeError {
        let error = NodeError::of_status(self.about(call.name), status);
        if error.kind() != NodeErrorKind::Lost {
            return error;
        }
        match self.inner.line.end().await {
            Some(ConnectionEnd::NotLetIn(reason)) => {
                NodeError::new(self.about(call.name), NodeErrorKind::Unauthorised, reason)
            }
            Some(ConnectionEnd::Broke(reason)) => {
                let answer = format!("connection lost: {reason}");
                NodeError::new(self.about(call.name), NodeErrorKind::Lost, answer)
            }
            None => error,
        }
    }
}

enum StreamState<A> {
    Opening(BoxFuture<'static, Result<Streaming<A>, Status>>),
    Open(Box<Streaming<A>>),
    Over,
}

/// A stream of responses. Dropping it cancels the call on the node.
pub struct ResponseStream<A> {
    node: NodeClient,
    call: NodeCall,
    follow: bool,
    state: StreamState<A>,
}

impl<A> ResponseStream<A> {
    /// The next message; none at the end of the stream. Cancel safe.
    pub async fn next(&mut self) -> Result<Option<A>, NodeError> {
        let result = if self.follow {
            Ok(self.advance().await)
        } else {
            time::timeout(self.call.patience, self.advance()).await
        };
        match result {
            Ok(Ok(Some(message))) => Ok(Some(message)),
            Ok(Ok(None)) => {
                self.state = StreamState::Over;
                Ok(None)
            }
            Ok(Err(status)) => {
                self.state = StreamState::Over;
                Err(self.node.call_error(self.call, &status).await)
            }
            Err(_) => {
                self.state = StreamState::Over;
                Err(self.node.too_late(self.call))
            }
        }
    }

    async fn advance(&mut self) -> Result<Option<A>, Status> {
        if let StreamState::Opening(opening) = &mut self.state {
            let stream = opening.await?;
            self.state = StreamState::Open(Box::new(stream));
        }
        match &mut self.state {
            StreamState::Open(stream) => stream.message().await,
            StreamState::Opening(_) | StreamState::Over => Ok(None),
        }
    }

    /// All there are.
    pub(crate) async fn all(mut self) -> Result<Vec<A>, NodeError> {
        let mut all = Vec::new();
        while let Some(message) = self.next().await? {
            all.push(message);
        }
        Ok(all)
    }
}
