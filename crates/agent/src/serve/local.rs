//! Pages over HTTP, for clients on this node.

use std::io;
use std::net::Ipv4Addr;

use tokio::net::TcpListener;
use tokio::time;

use super::connection_limit::ConnectionLimit;
use super::{PAUSE, StatusSource, page};
use crate::log;

/// The default port.
pub const PORT: u16 = 9180;

/// The port cannot be bound.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve the status on 127.0.0.1:{port}; another program may have the port")]
pub struct LocalBindError {
    port: u16,
    source: io::Error,
}

/// Listens on 127.0.0.1 only.
pub async fn bind(port: u16) -> Result<TcpListener, LocalBindError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|source| LocalBindError { port, source })
}

/// Serves pages until it is dropped.
pub async fn serve(listener: TcpListener, source: StatusSource) {
    let mut connections = ConnectionLimit::default();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => connections.serve(page::serve(stream, source.clone())),
            Err(error) => {
                log::warn(format_args!("cannot accept a connection to the status: {error}"));
                time::sleep(PAUSE).await;
            }
        }
    }
}
