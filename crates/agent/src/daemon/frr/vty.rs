//! Queries to one of FRR's daemons over its socket.
//!
//! A command ends with a NUL byte; a reply ends with three and a status. Commands may be sent before the replies to
//! earlier ones have arrived, but not to mgmtd: it defers a command until other daemons have done their part, and drops
//! what it has read beyond it (FRR 10.3).

use std::io;
use std::path::Path;
use std::time::Duration;

use ichor_bgp::reload::{FrrDaemon, redact_secrets};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// How long a daemon may be silent before it counts as hung.
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest reply that is kept.
const LONGEST: usize = 64 << 20;

const TRAILER: usize = 4;

/// A query failed.
#[derive(Debug, thiserror::Error)]
pub enum VtyError {
    /// The daemon cannot be reached, or closed the connection.
    #[error("cannot talk to {daemon}")]
    Talk {
        /// The daemon.
        daemon: String,
        /// The cause.
        source: io::Error,
    },
    /// The daemon does not respond in time.
    #[error("{daemon} has not answered `{command}` within {} s", RESPONSE_TIMEOUT.as_secs())]
    Silent {
        /// The daemon.
        daemon: String,
        /// The command.
        command: String,
    },
    /// The reply is too long.
    #[error("{daemon} answers `{command}` with more than {} MiB", LONGEST >> 20)]
    TooLong {
        /// The daemon.
        daemon: String,
        /// The command.
        command: String,
    },
    /// The daemon rejected the command.
    #[error("{daemon} refuses `{command}`: {reply}")]
    Refused {
        /// The daemon.
        daemon: String,
        /// The command.
        command: String,
        /// The daemon's message.
        reply: String,
    },
}

impl VtyError {
    /// Whether another client has the configuration lock: mgmtd admits one at a time.
    pub(super) fn is_locked(&self) -> bool {
        matches!(self, Self::Refused { reply, .. } if reply.contains("lock"))
    }

    /// Whether a retry may succeed: no daemon rejected a command.
    pub(super) fn is_transient(&self) -> bool {
        self.is_locked() || !matches!(self, Self::Refused { .. })
    }
}

/// The reply of a daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VtyReply {
    /// FRR's status: 0 is success, 2 an unknown command, 4 an incomplete one, 13 an error.
    pub status: u8,
    /// The text.
    pub text: String,
}

impl VtyReply {
    /// The error in one line, without secrets; none on success.
    pub fn refusal(&self) -> Option<String> {
        if self.status == 0 {
            return None;
        }
        let lines = self.text.lines().map(|line| redact_secrets(line.trim())).filter(|line| !line.is_empty());
        let message = lines.collect::<Vec<_>>().join("; ");
        Some(if message.is_empty() { format!("status {}", self.status) } else { message })
    }
}

/// An open connection to a daemon.
#[derive(Debug)]
pub struct Vty {
    daemon: String,
    stream: UnixStream,
    unread: Vec<u8>,
}

impl Vty {
    /// Connects to the socket of a daemon.
    pub async fn open(daemon: &str, socket: &Path) -> Result<Self, VtyError> {
        let failed = |source| VtyError::Talk { daemon: daemon.to_owned(), source };
        let stream = timeout(RESPONSE_TIMEOUT, UnixStream::connect(socket)).await;
        let stream = stream.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(failed)?;
        Ok(Self { daemon: daemon.to_owned(), stream, unread: Vec::new() })
    }

    /// Sends one command, which must succeed.
    pub async fn query(&mut self, command: &str) -> Result<String, VtyError> {
        let reply = self.send(&[command]).await?.pop();
        let reply = reply.ok_or_else(|| self.io_error(io::ErrorKind::UnexpectedEof.into()))?;
        match reply.refusal() {
            None => Ok(reply.text),
            Some(reply) => Err(VtyError::Refused {
                daemon: self.daemon.clone(),
                command: redact_secrets(command),
                reply,
            }),
        }
    }

    /// Sends commands, and returns the replies in their order. If the daemon closes the connection, the replies up to
    /// then.
    pub async fn send(&mut self, commands: &[impl AsRef<str>]) -> Result<Vec<VtyReply>, VtyError> {
        let at_once = if self.daemon == FrrDaemon::Mgmtd.name() { 1 } else { commands.len().max(1) };
        let mut replies = Vec::with_capacity(commands.len());
        for batch in commands.chunks(at_once) {
            let received = self.send_batch(batch).await?;
            let ended = received.len() < batch.len();
            replies.extend(received);
            if ended {
                break;
            }
        }
        Ok(replies)
    }

    async fn send_batch(&mut self, commands: &[impl AsRef<str>]) -> Result<Vec<VtyReply>, VtyError> {
        let mut bytes = Vec::new();
        for command in commands {
            bytes.extend(command.as_ref().bytes().filter(|byte| *byte != 0));
            bytes.push(0);
        }
        let Self { daemon, stream, unread } = self;
        let (mut from, mut to) = stream.split();
        // Concurrently: a daemon that cannot send its replies would stop reading.
        let send = async {
            to.write_all(&bytes).await.or_else(|error| match error.kind() {
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(()),
                _ => Err(error),
            })
        };
        let receive = async {
            let mut replies = Vec::with_capacity(commands.len());
            for command in commands {
                let name = || (daemon.clone(), redact_secrets(command.as_ref()));
                let reply = match read_reply(&mut from, unread).await {
                    Ok(reply) => reply,
                    Err(ReadError::Silence) => {
                        let (daemon, command) = name();
                        return Err(VtyError::Silent { daemon, command });
                    }
                    Err(ReadError::Length) => {
                        let (daemon, command) = name();
                        return Err(VtyError::TooLong { daemon, command });
                    }
                    Err(ReadError::Io(source)) => {
                        return Err(VtyError::Talk { daemon: daemon.clone(), source });
                    }
                };
                let Some(reply) = reply else { break };
                replies.push(reply);
            }
            Ok(replies)
        };
        let (sent, replies) = tokio::join!(send, receive);
        let replies = replies?;
        match sent {
            Err(source) => Err(self.io_error(source)),
            Ok(()) => Ok(replies),
        }
    }

    fn io_error(&self, source: io::Error) -> VtyError {
        VtyError::Talk { daemon: self.daemon.clone(), source }
    }
}

enum ReadError {
    Silence,
    Length,
    Io(io::Error),
}

/// The next reply; none if the connection is closed before it.
async fn read_reply(
    from: &mut (impl AsyncReadExt + Unpin),
    unread: &mut Vec<u8>,
) -> Result<Option<VtyReply>, ReadError> {
    let mut searched = 0;
    loop {
        if let Some(end) = find_end(unread, searched) {
            let rest = unread.split_off(end + TRAILER);
            let complete = std::mem::replace(unread, rest);
            let text = String::from_utf8_lossy(&complete[..end]).into_owned();
            return Ok(Some(VtyReply { status: complete[end + TRAILER - 1], text }));
        }
        searched = unread.len().saturating_sub(TRAILER);
        if unread.len() > LONGEST {
            return Err(ReadError::Length);
        }
        let read = timeout(RESPONSE_TIMEOUT, from.read_buf(unread)).await.map_err(|_| ReadError::Silence)?;
        match read {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            read => drop(read.map_err(ReadError::Io)?),
        }
    }
}

/// The end of the next reply's text, once its status has arrived as well.
fn find_end(bytes: &[u8], from: usize) -> Option<usize> {
    let found =
        bytes.get(from..)?.windows(TRAILER).position(|window| window.starts_with(&[0; TRAILER - 1]))?;
    Some(from + found)
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;

    /// The replies of a daemon that sends `answers` to anything.
    async fn exchange(
        replies: &'static [&'static [u8]],
        commands: &[&str],
    ) -> Result<Vec<VtyReply>, VtyError> {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("bgpd.vty");
        let listener = UnixListener::bind(&socket).unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked).await.unwrap();
            for reply in replies {
                stream.write_all(reply).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
        Vty::open("bgpd", &socket).await.unwrap().send(commands).await
    }

    fn reply(status: u8, text: &str) -> VtyReply {
        VtyReply { status, text: text.to_owned() }
    }

    #[tokio::test]
    async fn replies_are_separated_however_they_arrive() {
        let replies =
            exchange(&[b"one\0\0", b"\0\0\0\0\0", b"\x02% no\0\0\0\x0d"], &["a", "b", "c"]).await.unwrap();

        assert_eq!(replies, [reply(0, "one"), reply(2, ""), reply(13, "% no")]);
    }

    #[tokio::test]
    async fn replies_before_the_end_of_a_connection_are_kept() {
        assert_eq!(exchange(&[b"one\0\0\0\0tw"], &["a", "b"]).await.unwrap(), [reply(0, "one")]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_query_to_a_silent_daemon_times_out() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("bgpd.vty");
        let _listener = UnixListener::bind(&socket).unwrap();

        let error = Vty::open("bgpd", &socket).await.unwrap().query("show version").await.unwrap_err();

        assert_eq!(error.to_string(), "bgpd has not answered `show version` within 5 s");
    }

    #[test]
    fn an_error_contains_no_password() {
        let refused = reply(13, "% Unknown command: neighbor a password secret\n\n% Sorry\n");

        assert_eq!(refused.refusal().unwrap(), "% Unknown command: neighbor a password ***; % Sorry");
        assert_eq!(reply(4, "").refusal().unwrap(), "status 4");
        assert_eq!(reply(0, "").refusal(), None);
    }
}
