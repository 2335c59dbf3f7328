//! Nodes that run, by Talos' API.
//!
//! [`NodeClient::meet`] identifies the peer at an address, [`NodeClient::connect`] connects to a peer that a [`NodeTrust`] accepts, and the
//! calls are methods of [`NodeClient`], by subject: `machine`, `etcd`, `upgrade`, `state`. A stream of responses is a [`ResponseStream`].
//! Every call has a timeout and fails with a [`NodeError`]. Dropping a call or a stream cancels it.
//!
//! A `NodeClient` is one connection. It does not reconnect: after a reboot, another machine may have the address.
//!
//! Not here: what messages and resources mean ([`ichor_talos::api`], [`ichor_talos::resource`]).

mod alert_stream;
mod call;
mod connect;
mod connection;
mod error;
mod etcd;
pub mod machine;
mod state;
mod trust;
mod upgrade;
mod watch;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::http::Uri;
use ichor_talos::peer::Peer;

pub use call::ResponseStream;
pub use error::{NodeError, NodeErrorKind};
pub(crate) use trust::key;
pub use trust::{Credentials, CredentialsError, NodeTrust};
pub use watch::{ResourceEvent, ResourceWatch};

use connect::{HandshakeResult, NodeStream};
use connection::{ConnectionEnd, NodeConnection};
use error::CallContext;

/// A connection to a node; a copy is the same one.
#[derive(Clone)]
pub struct NodeClient {
    inner: Arc<NodeInner>,
}

/// The identity of the peer at an address.
pub enum ProbeResult {
    /// A machine in maintenance mode.
    Maintenance(NodeClient),
    /// A machine of the cluster.
    Configured(NodeClient),
    /// A server with a certificate that is not trusted.
    Other {
        /// The certificate.
        peer: Peer,
        /// The problem of the certificate.
        reason: String,
        /// Whether the cluster signed it and only its dates are wrong.
        may_pass: bool,
    },
}

struct NodeInner {
    name: String,
    address: SocketAddr,
    origin: Uri,
    peer: Peer,
    line: NodeConnection,
}

impl NodeClient {
    /// Connects to a node, and only to a peer that `trust` accepts.
    ///
    /// If the node rejects our certificate, only the first call fails: in TLS 1.3 it reports that after the handshake.
    pub async fn connect(name: &str, address: SocketAddr, trust: &NodeTrust) -> Result<Self, NodeError> {
        Self::open(name, address, connect::connect(name, address, trust).await?).await
    }

    /// Connects to any peer at an address. Our certificate is only sent to machines of the cluster.
    pub async fn meet(
        name: &str,
        address: SocketAddr,
        credentials: Option<&Credentials>,
    ) -> Result<ProbeResult, NodeError> {
        Ok(match connect::probe(name, address, credentials).await? {
            HandshakeResult::Maintenance(dialled) => {
                ProbeResult::Maintenance(Self::open(name, address, dialled).await?)
            }
            HandshakeResult::Configured(dialled) => {
                ProbeResult::Configured(Self::open(name, address, dialled).await?)
            }
            HandshakeResult::Other { peer, reason, may_pass } => {
                ProbeResult::Other { peer, reason, may_pass }
            }
        })
    }

    async fn open(name: &str, address: SocketAddr, dialled: NodeStream) -> Result<Self, NodeError> {
        let peer = dialled.peer.clone();
        let about = CallContext { node: name, address, call: connect::CALL };
        let line = NodeConnection::open(dialled).await.map_err(|end| match end {
            ConnectionEnd::NotLetIn(reason) => NodeError::new(about, NodeErrorKind::Unauthorised, reason),
            ConnectionEnd::Broke(reason) => {
                NodeError::new(about, NodeErrorKind::Lost, format!("connection lost: {reason}"))
            }
        })?;
        // Without the scope that a link-local address may have: it means nothing to the other end.
        let authority = SocketAddr::new(address.ip(), address.port());
        let origin =
            Uri::builder().scheme("https").authority(authority.to_string()).path_and_query("/").build();
        let origin = origin.expect("an address and a port make an authority");
        Ok(Self { inner: Arc::new(NodeInner { name: name.to_owned(), address, origin, peer, line }) })
    }

    /// The certificate it showed.
    pub fn peer(&self) -> &Peer {
        &self.inner.peer
    }
}
