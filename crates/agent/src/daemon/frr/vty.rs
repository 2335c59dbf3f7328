//! Asking one of FRR's daemons, over its socket.
//!
//! A command ends with a NUL byte; an answer ends with three and a status. Commands may be sent before the answers to the ones
//! before them are there, but not to mgmtd: it puts a command off until others have done their part, and forgets what it has
//! read beyond it (FRR 10.3).

use std::io;
use std::path::Path;
use std::time::Duration;

use ichor_bgp::reload::{FrrDaemon, without_secret};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// A daemon that has not said anything for this long hangs.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The longest answer that is kept.
const LONGEST: usize = 64 << 20;

const MARK: usize = 4;

/// A daemon could not be asked, or did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum VtyError {
    /// It cannot be reached, or went away.
    #[error("cannot talk to {daemon}")]
    Talk {
        /// Who.
        daemon: String,
        /// Why.
        source: io::Error,
    },
    /// It takes too long.
    #[error("{daemon} has not answered `{command}` within {} s", PATIENCE.as_secs())]
    Silent {
        /// Who.
        daemon: String,
        /// What it was asked.
        command: String,
    },
    /// It answers more than anybody could want.
    #[error("{daemon} answers `{command}` with more than {} MiB", LONGEST >> 20)]
    Endless {
        /// Who.
        daemon: String,
        /// What it was asked.
        command: String,
    },
    /// It said no.
    #[error("{daemon} refuses `{command}`: {answer}")]
    Refused {
        /// Who.
        daemon: String,
        /// What it was asked.
        command: String,
        /// What it said.
        answer: String,
    },
}

impl VtyError {
    /// Whether somebody else writes the configuration: mgmtd lets one do so at a time.
    pub(super) fn is_locked(&self) -> bool {
        matches!(self, Self::Refused { answer, .. } if answer.contains("lock"))
    }

    /// Whether the same may be done when it is asked again: no daemon said no to what it was asked.
    pub(super) fn passes(&self) -> bool {
        self.is_locked() || !matches!(self, Self::Refused { .. })
    }
}

/// What a daemon answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VtyReply {
    /// FRR's number for how it went: 0 is done, 2 an unknown command, 4 an incomplete one, 13 a refusal.
    pub status: u8,
    /// The text.
    pub text: String,
}

impl VtyReply {
    /// Why it was not done, in one line and without a secret; none when it was.
    pub fn refusal(&self) -> Option<String> {
        if self.status == 0 {
            return None;
        }
        let lines = self.text.lines().map(|line| without_secret(line.trim())).filter(|line| !line.is_empty());
        let said = lines.collect::<Vec<_>>().join("; ");
        Some(if said.is_empty() { format!("status {}", self.status) } else { said })
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
        let stream = timeout(PATIENCE, UnixStream::connect(socket)).await;
        let stream = stream.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(failed)?;
        Ok(Self { daemon: daemon.to_owned(), stream, unread: Vec::new() })
    }

    /// Asks one thing, which must be answered well.
    pub async fn ask(&mut self, command: &str) -> Result<String, VtyError> {
        let answer = self.tell(&[command]).await?.pop();
        let answer = answer.ok_or_else(|| self.talk(io::ErrorKind::UnexpectedEof.into()))?;
        match answer.refusal() {
            None => Ok(answer.text),
            Some(answer) => Err(VtyError::Refused {
                daemon: self.daemon.clone(),
                command: without_secret(command),
                answer,
            }),
        }
    }

    /// Sends commands, and gives the answers in their order. When the daemon ends the connection, those that it gave before.
    pub async fn tell(&mut self, commands: &[impl AsRef<str>]) -> Result<Vec<VtyReply>, VtyError> {
        let at_once = if self.daemon == FrrDaemon::Mgmtd.name() { 1 } else { commands.len().max(1) };
        let mut answers = Vec::with_capacity(commands.len());
        for some in commands.chunks(at_once) {
            let given = self.tell_at_once(some).await?;
            let ended = given.len() < some.len();
            answers.extend(given);
            if ended {
                break;
            }
        }
        Ok(answers)
    }

    async fn tell_at_once(&mut self, commands: &[impl AsRef<str>]) -> Result<Vec<VtyReply>, VtyError> {
        let mut bytes = Vec::new();
        for command in commands {
            bytes.extend(command.as_ref().bytes().filter(|byte| *byte != 0));
            bytes.push(0);
        }
        let Self { daemon, stream, unread } = self;
        let (mut from, mut to) = stream.split();
        // Both at once: a daemon that cannot get rid of its answers would stop reading.
        let send = async {
            to.write_all(&bytes).await.or_else(|error| match error.kind() {
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(()),
                _ => Err(error),
            })
        };
        let receive = async {
            let mut answers = Vec::with_capacity(commands.len());
            for command in commands {
                let name = || (daemon.clone(), without_secret(command.as_ref()));
                let answer = match answer(&mut from, unread).await {
                    Ok(answer) => answer,
                    Err(ReadError::Silence) => {
                        let (daemon, command) = name();
                        return Err(VtyError::Silent { daemon, command });
                    }
                    Err(ReadError::Length) => {
                        let (daemon, command) = name();
                        return Err(VtyError::Endless { daemon, command });
                    }
                    Err(ReadError::Io(source)) => {
                        return Err(VtyError::Talk { daemon: daemon.clone(), source });
                    }
                };
                let Some(answer) = answer else { break };
                answers.push(answer);
            }
            Ok(answers)
        };
        let (sent, answers) = tokio::join!(send, receive);
        let answers = answers?;
        match sent {
            Err(source) => Err(self.talk(source)),
            Ok(()) => Ok(answers),
        }
    }

    fn talk(&self, source: io::Error) -> VtyError {
        VtyError::Talk { daemon: self.daemon.clone(), source }
    }
}

enum ReadError {
    Silence,
    Length,
    Io(io::Error),
}

/// The next answer; none when the connection was ended before it.
async fn answer(
    from: &mut (impl AsyncReadExt + Unpin),
    unread: &mut Vec<u8>,
) -> Result<Option<VtyReply>, ReadError> {
    let mut looked = 0;
    loop {
        if let Some(end) = end(unread, looked) {
            let rest = unread.split_off(end + MARK);
            let whole = std::mem::replace(unread, rest);
            let text = String::from_utf8_lossy(&whole[..end]).into_owned();
            return Ok(Some(VtyReply { status: whole[end + MARK - 1], text }));
        }
        looked = unread.len().saturating_sub(MARK);
        if unread.len() > LONGEST {
            return Err(ReadError::Length);
        }
        let read = timeout(PATIENCE, from.read_buf(unread)).await.map_err(|_| ReadError::Silence)?;
        match read {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            read => drop(read.map_err(ReadError::Io)?),
        }
    }
}

/// Where the next answer's text ends, if its status is there, too.
fn end(bytes: &[u8], from: usize) -> Option<usize> {
    let found = bytes.get(from..)?.windows(MARK).position(|window| window.starts_with(&[0; MARK - 1]))?;
    Some(from + found)
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixListener;

    use super::*;

    /// What a daemon that says `answers`, whatever it is asked, is understood as.
    async fn told(answers: &'static [&'static [u8]], commands: &[&str]) -> Result<Vec<VtyReply>, VtyError> {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("bgpd.vty");
        let listener = UnixListener::bind(&socket).unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked).await.unwrap();
            for answer in answers {
                stream.write_all(answer).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
        Vty::open("bgpd", &socket).await.unwrap().tell(commands).await
    }

    fn answer(status: u8, text: &str) -> VtyReply {
        VtyReply { status, text: text.to_owned() }
    }

    #[tokio::test]
    async fn answers_are_told_apart_however_they_arrive() {
        let answers =
            told(&[b"one\0\0", b"\0\0\0\0\0", b"\x02% no\0\0\0\x0d"], &["a", "b", "c"]).await.unwrap();

        assert_eq!(answers, [answer(0, "one"), answer(2, ""), answer(13, "% no")]);
    }

    #[tokio::test]
    async fn answers_before_the_end_of_a_connection_are_kept() {
        assert_eq!(told(&[b"one\0\0\0\0tw"], &["a", "b"]).await.unwrap(), [answer(0, "one")]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_daemon_that_says_nothing_is_not_waited_for_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("bgpd.vty");
        let _listener = UnixListener::bind(&socket).unwrap();

        let error = Vty::open("bgpd", &socket).await.unwrap().ask("show version").await.unwrap_err();

        assert_eq!(error.to_string(), "bgpd has not answered `show version` within 5 s");
    }

    #[test]
    fn a_refusal_shows_no_password() {
        let refused = answer(13, "% Unknown command: neighbor a password secret\n\n% Sorry\n");

        assert_eq!(refused.refusal().unwrap(), "% Unknown command: neighbor a password ***; % Sorry");
        assert_eq!(answer(4, "").refusal().unwrap(), "status 4");
        assert_eq!(answer(0, "").refusal(), None);
    }
}
