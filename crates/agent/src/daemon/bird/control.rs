//! BIRD's control socket: one command in a line, and its answer.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ichor_bgp::agent::bird::Reply;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

/// How long an answer may take.
const ANSWERING: Duration = Duration::from_secs(3);
/// How long a new configuration may take to be in force.
const CONFIGURING: Duration = Duration::from_secs(10);
/// The longest answer.
const LONGEST: usize = 16 << 20;

/// A configuration is in force.
const RECONFIGURED: u16 = 3;
/// It is on its way.
const ON_ITS_WAY: [u16; 2] = [4, 5];

/// BIRD did not answer, or not as it should.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The socket failed.
    #[error("cannot talk to bird on {}", socket.display())]
    Talk {
        /// The socket.
        socket: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// The answer is no.
    #[error("bird refuses `{command}`: {said}")]
    Refused {
        /// What was wanted.
        command: String,
        /// What it said.
        said: String,
    },
}

impl ControlError {
    fn new(socket: PathBuf, source: io::Error) -> Self {
        Self::Talk { socket, source }
    }
}

/// A connection.
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
        control.next().await.map_err(failed)?;
        Ok(control)
    }

    /// The answer to a command, whatever it is.
    pub async fn say(&mut self, command: &str) -> Result<Reply, ControlError> {
        let line = format!("{command}\n");
        let answer = async {
            within(self.stream.write_all(line.as_bytes())).await?;
            self.next().await
        };
        answer.await.map_err(|source| ControlError::new(self.socket.clone(), source))
    }

    /// The answer to a command, unless it is a refusal.
    pub async fn ask(&mut self, command: &str) -> Result<Reply, ControlError> {
        let reply = self.say(command).await?;
        if reply.is_refusal() {
            return Err(ControlError::Refused { command: command.to_owned(), said: reply.to_string() });
        }
        Ok(reply)
    }

    /// Lets BIRD read a file, and waits until it is in force.
    ///
    /// Not `soft`: that would keep routes which new filters do not let through.
    pub async fn configure(&mut self, file: &Path) -> Result<(), ControlError> {
        let command = format!("configure \"{}\"", file.display());
        let refused = |said: String| ControlError::Refused { command: command.clone(), said };
        let mut reply = self.ask(&command).await?;
        let start = Instant::now();
        while reply.lines().any(|(code, _)| ON_ITS_WAY.contains(&code)) {
            if start.elapsed() >= CONFIGURING {
                return Err(refused(format!("not in force within {} s", CONFIGURING.as_secs())));
            }
            sleep(Duration::from_millis(50)).await;
            reply = self.ask("configure status").await?;
        }
        let done = reply.lines().any(|(code, _)| code == RECONFIGURED);
        if done { Ok(()) } else { Err(refused(reply.to_string())) }
    }

    async fn next(&mut self) -> io::Result<Reply> {
        within(async {
            loop {
                if let Some((reply, taken)) = Reply::read(&self.buffer) {
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
    let late = || format!("no response within {} s", ANSWERING.as_secs());
    timeout(ANSWERING, work).await.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, late())))
}
