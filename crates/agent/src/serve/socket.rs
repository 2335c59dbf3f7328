//! The socket on which `ichor-agent status` asks the agent that runs.
//!
//! Who connects is given the status line, and that is all.

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

/// The name of the socket in the agent's run folder.
pub const NAME: &str = "status.sock";

/// The longest line an agent is believed, and how long it may take.
const LONGEST: u64 = 16 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(5);

/// The socket cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the socket {}", path.display())]
pub struct SocketBindError {
    path: PathBuf,
    source: io::Error,
}

/// Listens on `path`, for root alone, in the place of what an earlier agent left there.
pub fn bind(path: &Path) -> Result<UnixListener, SocketBindError> {
    // Nobody can connect before the mode is right: the name comes last.
    replace_with(path, ".new", |made| {
        let listener = UnixListener::bind(made)?;
        fs::set_permissions(made, Permissions::from_mode(0o600))?;
        Ok(listener)
    })
    .map_err(|error| SocketBindError { path: error.path, source: error.source })
}

/// Gives the status line for ever.
pub async fn serve(listener: UnixListener, source: StatusSource) {
    let mut connections = ConnectionLimit::default();
    loop {
        match listener.accept().await {
            Ok((mut stream, _)) => {
                let line = source.borrow().line();
                connections.admit(async move {
                    // Who does not listen any more does not want it.
                    let _ = stream.write_all(format!("{line}\n").as_bytes()).await;
                    let _ = stream.shutdown().await;
                });
            }
            Err(error) => {
                log::warn(format_args!("cannot take a connection for the state: {error}"));
                time::sleep(PAUSE).await;
            }
        }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum StatusQueryError {
    /// No agent is there.
    #[error("no agent answers on {}; is `ichor-agent run` running?", path.display())]
    Nobody {
        /// The socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The agent says nothing.
    #[error("the agent did not answer within {} seconds", PATIENCE.as_secs())]
    Late,
    /// What answers is no agent.
    #[error("what answers is not an agent of this release")]
    Foreign(#[source] Option<StatusError>),
}

/// Asks the agent that listens on `path`.
pub async fn ask(path: &Path) -> Result<AgentStatus, StatusQueryError> {
    let read = async {
        let stream = UnixStream::connect(path).await?;
        let mut text = Vec::new();
        stream.take(LONGEST).read_to_end(&mut text).await?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    let nobody = |source| StatusQueryError::Nobody { path: path.to_owned(), source };
    let text = time::timeout(PATIENCE, read).await.map_err(|_| StatusQueryError::Late)?.map_err(nobody)?;
    AgentStatus::find(&text)
        .ok_or(StatusQueryError::Foreign(None))?
        .map_err(|error| StatusQueryError::Foreign(Some(error)))
}
