//! BIRD's control socket: one command per line, and its reply.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ichor_bgp::agent::bird::Reply;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

/// How long a reply may take.
const REPLY_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a new configuration may take to take effect.
const RECONFIGURE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest reply in bytes.
const LONGEST: usize = 16 << 20;

/// The configuration has taken effect.
const RECONFIGURED: u16 = 3;
/// The reconfiguration is in progress.
const IN_PROGRESS: [u16; 2] = [4, 5];

/// A command failed.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The socket failed.
    #[error("cannot talk to bird on {}", socket.display())]
    Talk {
        /// The socket.
        socket: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// BIRD rejected the command.
    #[error("bird refuses `{command}`: {message}")]
    Refused {
        /// The command.
        command: String,
        /// BIRD's message.
        message: String,
    },
}

impl ControlError {
    fn new(socket: PathBuf, source: io::Error) -> Self {
        Self::Talk { socket, source }
    }
}

/// A connection to the control socket.
#[derive(Debug)]
pub struct ControlSocket {
    socket: PathBuf,
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl ControlSocket {
    /// Connects, and waits for the greeting.
    pub async fn connect(socket: &Path) -> Result<Self, ControlError> {
        let failed = |source| ControlError::new(socket.to_owned(), source);
        let stream = within(UnixStream::connect(socket)).await.map_err(failed)?;
        let mut control = Self { socket: socket.to_owned(), stream, buffer: Vec::new() };
        control.read_reply().await.map_err(failed)?;
        Ok(control)
    }

    /// Sends a command, and returns its reply whether or not it is an error.
    pub async fn send(&mut self, command: &str) -> Result<Reply, ControlError> {
        let line = format!("{command}\n");
        let reply = async {
            within(self.stream.write_all(line.as_bytes())).await?;
            self.read_reply().await
        };
        reply.await.map_err(|source| ControlError::new(self.socket.clone(), source))
    }

    /// Sends a command, and returns its reply unless it is an error.
    pub async fn query(&mut self, command: &str) -> Result<Reply, ControlError> {
        let reply = self.send(command).await?;
        if reply.is_refusal() {
            return Err(ControlError::Refused { command: command.to_owned(), message: reply.to_string() });
        }
        Ok(reply)
    }

    /// Makes BIRD load a file, and waits until it has taken effect.
    ///
    /// Not `soft`: that would keep routes that new filters deny.
    pub async fn configure(&mut self, file: &Path) -> Result<(), ControlError> {
        let command = format!("configure \"{}\"", file.display());
        let refused = |message: String| ControlError::Refused { command: command.clone(), message };
        let mut reply = self.query(&command).await?;
        let start = Instant::now();
        while reply.lines().any(|(code, _)| IN_PROGRESS.contains(&code)) {
            if start.elapsed() >= RECONFIGURE_TIMEOUT {
                return Err(refused(format!("not in force within {} s", RECONFIGURE_TIMEOUT.as_secs())));
            }
            sleep(Duration::from_millis(50)).await;
            reply = self.query("configure status").await?;
        }
        let done = reply.lines().any(|(code, _)| code == RECONFIGURED);
        if done { Ok(()) } else { Err(refused(reply.to_string())) }
    }

    async fn read_reply(&mut self) -> io::Result<Reply> {
        within(async {
            loop {
                if let Some((reply, taken)) = Reply::parse(&self.buffer) {
                    self.buffer.drain(..taken);
                    return Ok(reply);
                }
                if self.buffer.len() > LONGEST || self.stream.read_buf(&mut self.buffer).await? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        })
        .await
    }
}

async fn within<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let timeout_message = || format!("no response within {} s", REPLY_TIMEOUT.as_secs());
    timeout(REPLY_TIMEOUT, work)
        .await
        .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, timeout_message())))
}
