//! Nodes that run, by Talos' API.
//!
//! [`Node::meet`] finds out who is at an address, [`Node::connect`] connects to whom a [`Trust`] believes, and the calls are
//! methods of [`Node`], by subject: `machine`, `etcd`, `upgrade`, `state`. Answers that go on are a [`Stream`]. Every call has
//! its time and fails with a [`NodeError`]. Whoever drops a call or a stream ends it.
//!
//! A `Node` is one connection. It does not connect again by itself: what comes back after a reboot may be another machine.
//!
//! Not here: what messages and resources mean ([`ichor_talos::api`], [`ichor_talos::resource`]).

mod call;
mod dial;
mod error;
mod etcd;
mod line;
pub mod machine;
mod state;
mod tap;
mod trust;
mod upgrade;
mod watch;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::http::Uri;
use ichor_talos::peer::Peer;

pub use call::Stream;
pub use error::{Kind, NodeError};
pub(crate) use trust::key;
pub use trust::{Credentials, CredentialsError, Trust};
pub use watch::{Change, Watch};

use dial::{Dialled, Found};
use error::About;
use line::{End, Line};

/// A connection to a node; a copy is the same one.
#[derive(Clone)]
pub struct Node {
    inner: Arc<Inner>,
}

/// Who is at an address.
pub enum Met {
    /// A machine in maintenance mode.
    Maintenance(Node),
    /// A machine of the cluster.
    Configured(Node),
    /// A server with a certificate that is not trusted.
    Other {
        /// The certificate.
        peer: Peer,
        /// What is wrong with it.
        reason: String,
        /// Whether the cluster signed it and only its dates are wrong.
        may_pass: bool,
    },
}

struct Inner {
    name: String,
    address: SocketAddr,
    origin: Uri,
    peer: Peer,
    line: Line,
}

impl Node {
    /// Connects to a node, and to nobody `trust` does not believe to be it.
    ///
    /// Whether a node takes our certificate is seen by the first call: in TLS 1.3 it says so after the greeting.
    pub async fn connect(name: &str, address: SocketAddr, trust: &Trust) -> Result<Self, NodeError> {
        Self::open(name, address, dial::dial(name, address, trust).await?).await
    }

    /// Connects to whoever is at an address. Only machines of the cluster are shown our certificate.
    pub async fn meet(
        name: &str,
        address: SocketAddr,
        credentials: Option<&Credentials>,
    ) -> Result<Met, NodeError> {
        Ok(match dial::find(name, address, credentials).await? {
            Found::Maintenance(dialled) => Met::Maintenance(Self::open(name, address, dialled).await?),
            Found::Configured(dialled) => Met::Configured(Self::open(name, address, dialled).await?),
            Found::Other { peer, reason, may_pass } => Met::Other { peer, reason, may_pass },
        })
    }

    async fn open(name: &str, address: SocketAddr, dialled: Dialled) -> Result<Self, NodeError> {
        let peer = dialled.peer.clone();
        let about = About { node: name, address, call: dial::CALL };
        let line = Line::open(dialled).await.map_err(|end| match end {
            End::NotLetIn(reason) => NodeError::new(about, Kind::Unauthorised, reason),
            End::Broke(reason) => {
                NodeError::new(about, Kind::Lost, format!("the connection broke: {reason}"))
            }
        })?;
        // Without the scope that a link-local address may have: it means nothing to the other end.
        let authority = SocketAddr::new(address.ip(), address.port());
        let origin =
            Uri::builder().scheme("https").authority(authority.to_string()).path_and_query("/").build();
        let origin = origin.expect("an address and a port make an authority");
        Ok(Self { inner: Arc::new(Inner { name: name.to_owned(), address, origin, peer, line }) })
    }

    /// The certificate it showed.
    pub fn peer(&self) -> &Peer {
        &self.inner.peer
    }
}
