//! The socket on which `ichor-agent status` queries the running agent.
//!
//! A client receives the status line, and nothing is read from it.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ichor_bgp::agent::AgentStatus;
use ichor_bgp::agent::status::StatusError;
use ichor_system::file::replace_with;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time;

use super::connection_limit::ConnectionLimit;
use super::{PAUSE, StatusSource};
use crate::log;

/// The name of the socket in the run directory.
pub const NAME: &str = "status.sock";

/// The longest status line that is read, and how long it may take.
const LONGEST: u64 = 16 * 1024 * 1024;
const TIMEOUT: Duration = Duration::from_secs(5);

/// The socket cannot be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot create socket {}", path.display())]
pub struct SocketBindError {
    path: PathBuf,
    source: io::Error,
}

/// Listens on `path`, accessible to root only, replacing the socket of an earlier agent.
pub fn bind(path: &Path) -> Result<UnixListener, SocketBindError> {
    // No client can connect before the mode is set: the name comes last.
    replace_with(path, ".new", |new| {
        let listener = UnixListener::bind(new)?;
        fs::set_permissions(new, Permissions::from_mode(0o600))?;
        Ok(listener)
    })
    .map_err(|error| SocketBindError { path: error.path, source: error.source })
}

/// Sends the status line to every client, until it is dropped.
pub async fn serve(listener: UnixListener, source: StatusSource) {
    let mut connections = ConnectionLimit::default();
    loop {
        match listener.accept().await {
            Ok((mut stream, _)) => {
                let line = source.borrow().line();
                connections.serve(async move {
                    // The client may be gone.
                    let _ = stream.write_all(format!("{line}\n").as_bytes()).await;
                    let _ = stream.shutdown().await;
                });
            }
            Err(error) => {
                log::warn(format_args!("cannot accept a connection to the status: {error}"));
                time::sleep(PAUSE).await;
            }
        }
    }
}

/// Why the status is unavailable.
#[derive(Debug, thiserror::Error)]
pub enum StatusQueryError {
    /// No agent responds.
    #[error("no agent answers on {}; is `ichor-agent run` running?", path.display())]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The agent does not respond in time.
    #[error("the agent did not answer within {} seconds", TIMEOUT.as_secs())]
    Late,
    /// The response is not from an agent.
    #[error("the response is not from an agent of this release")]
    Foreign(#[source] Option<StatusError>),
}

/// Queries the agent that listens on `path`.
pub async fn query_status(path: &Path) -> Result<AgentStatus, StatusQueryError> {
    let read = async {
        let stream = UnixStream::connect(path).await?;
        let mut text = Vec::new();
        stream.take(LONGEST).read_to_end(&mut text).await?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    let unreachable = |source| StatusQueryError::Unreachable { path: path.to_owned(), source };
    let text =
        time::timeout(TIMEOUT, read).await.map_err(|_| StatusQueryError::Late)?.map_err(unreachable)?;
    AgentStatus::find(&text)
        .ok_or(StatusQueryError::Foreign(None))?
        .map_err(|error| StatusQueryError::Foreign(Some(error)))
}
