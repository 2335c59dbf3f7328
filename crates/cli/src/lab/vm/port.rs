//! Ports of the virtual machine, each for one command at a time.

use std::io::ErrorKind::{self, Interrupted, TimedOut, WouldBlock};
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ichor_system::lock::LockFile;

use super::PORTS;
use super::frame::{CHUNK, MarkScanner};

/// Time limit of the first attempt to connect, and the pause before the next, which has a longer limit. The console
/// answers at once unless it is busy or has not noticed yet that the previous client disconnected, which it does during a
/// pause.
const FIRST_ATTEMPT: Duration = Duration::from_secs(2);
const IDLE_BETWEEN_ATTEMPTS: Duration = Duration::from_millis(500);

/// Time limit of all attempts.
const CONNECT_TIMEOUT: Duration = Duration::from_mins(2);

/// Errors of connecting to a port.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PortError {
    #[error("{PORTS} commands are already running in the lab's virtual machine; wait until one ends")]
    Busy,
    #[error("cannot open {}", path.display())]
    Lock { path: PathBuf, source: io::Error },
    #[error("cannot reach the lab's virtual machine; remove it with `ichor lab down`")]
    Gone(#[source] io::Error),
    #[error("the lab's virtual machine does not answer; remove it with `ichor lab down`")]
    Silent,
}

/// A locked port.
pub(super) struct CommandPort {
    socket: PathBuf,
    _lock: LockFile,
}

impl CommandPort {
    /// Locks the first free port.
    pub(super) fn acquire(folder: &Path) -> Result<Self, PortError> {
        for nth in 0..PORTS {
            let path = folder.join(format!("port{nth}.lock"));
            let lock = LockFile::try_take(&path);
            let lock = lock.map_err(|error| PortError::Lock { path, source: error.source })?;
            if let Some(lock) = lock {
                return Ok(Self { socket: folder.join(format!("port{nth}")), _lock: lock });
            }
        }
        Err(PortError::Busy)
    }

    /// Connects to the console, which then waits for a command.
    pub(super) fn connect(&self) -> Result<UnixStream, PortError> {
        let (start, mut timeout) = (Instant::now(), FIRST_ATTEMPT);
        while start.elapsed() < CONNECT_TIMEOUT {
            if let Some(stream) = self.connect_within(timeout)? {
                return Ok(stream);
            }
            thread::sleep(IDLE_BETWEEN_ATTEMPTS);
            timeout *= 2;
        }
        Err(PortError::Silent)
    }

    /// Connects to the console; none if it does not answer in time.
    pub(super) fn connect_within(&self, timeout: Duration) -> Result<Option<UnixStream>, PortError> {
        let mut stream = UnixStream::connect(&self.socket).map_err(PortError::Gone)?;
        let (start, mut scanner, mut bytes) = (Instant::now(), MarkScanner::default(), vec![0; CHUNK]);
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            stream.set_read_timeout(Some(left)).map_err(PortError::Gone)?;
            match stream.read(&mut bytes) {
                Ok(0) => return Err(PortError::Gone(ErrorKind::UnexpectedEof.into())),
                Ok(count) if scanner.finds(&bytes[..count]) => break,
                Ok(_) => {}
                Err(error) if [WouldBlock, TimedOut, Interrupted].contains(&error.kind()) => {}
                Err(error) => return Err(PortError::Gone(error)),
            }
        }
        stream.set_read_timeout(None).map_err(PortError::Gone)?;
        Ok(Some(stream))
    }
}
