//! Connections that wait for the next request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::Uri;
use hyper::client::conn::http1::SendRequest;

use super::Payload;

/// How long a connection may be idle: most servers close it some seconds later.
const IDLE: Duration = Duration::from_secs(15);
/// The most idle connections to one server.
const MOST: usize = 3;

pub(super) type HttpConnection = SendRequest<Payload>;

/// Scheme, host and port: the key of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    pub(crate) is_https: bool,
    pub host: String,
    pub port: u16,
}

impl Origin {
    /// Of a URL with `http` or `https`.
    pub(super) fn from_uri(uri: &Uri) -> Option<Self> {
        let is_https = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let host = uri.host().filter(|host| !host.is_empty())?;
        let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Some(Self { is_https, host, port })
    }

    /// `HOST:PORT`, as `CONNECT` has it.
    pub(super) fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// A connection, and since when it waits.
#[derive(Debug)]
struct IdleConnection {
    connection: HttpConnection,
    since: Instant,
}

impl IdleConnection {
    fn is_usable(&self) -> bool {
        self.connection.is_ready() && self.since.elapsed() < IDLE
    }
}

/// The connections of one client; a copy is the same pool.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionPool {
    waiting: Arc<Mutex<HashMap<Origin, Vec<IdleConnection>>>>,
}

impl ConnectionPool {
    /// A connection that can be used now.
    pub(super) fn take(&self, origin: &Origin) -> Option<HttpConnection> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let connections = waiting.get_mut(origin)?;
        connections.retain(IdleConnection::is_usable);
        connections.pop().map(|idle| idle.connection)
    }

    /// Keeps a connection once its answer has been read.
    pub(super) fn keep(&self, origin: Origin, mut connection: HttpConnection) {
        let waiting = Arc::clone(&self.waiting);
        tokio::spawn(async move {
            if connection.ready().await.is_ok() {
                let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let connections = waiting.entry(origin).or_default();
                connections.retain(IdleConnection::is_usable);
                if connections.len() < MOST {
                    connections.push(IdleConnection { connection, since: Instant::now() });
                }
            }
        });
    }
}
