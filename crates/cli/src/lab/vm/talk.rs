//! The end outside: a command that runs inside, with the streams and the terminal of this program.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use super::frame::{self, Frame, Kind, PIECE, WINDOW};
use super::relay::Relay;
use super::request::Request;
use super::terminal::{self, Raw};
use crate::disk::{self, WriteError};

/// Why nobody knows how a command ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TalkError {
    /// The other end is gone.
    #[error("the virtual machine ended before the command did")]
    Gone,
    /// The other end says something else.
    #[error("cannot talk with the virtual machine")]
    Port(#[source] io::Error),
    /// It was not started.
    #[error("{0}")]
    Refused(String),
    /// What it says cannot be told.
    #[error("cannot write what the command says")]
    Output(#[source] io::Error),
    /// What it wrote cannot be kept.
    #[error("cannot keep what the command writes")]
    Draft(#[source] io::Error),
    /// What it wrote cannot be put where it belongs.
    #[error(transparent)]
    File(#[from] WriteError),
}

/// Runs a command at the other end of a port that waits for one, and returns its exit code. The files it wrote appear when it ended.
pub(super) fn talk(
    mut port: UnixStream,
    request: &Request,
    files: &[PathBuf],
    relay: &Relay,
) -> Result<u8, TalkError> {
    let bytes = request.to_json().map_err(|error| TalkError::Port(error.into()))?;
    frame::send(&mut port, Kind::Request, &bytes).map_err(TalkError::Port)?;
    relay.talks(port.try_clone().map_err(TalkError::Port)?, Raw::take(request.terminal));
    let (taken, window) = mpsc::channel();
    if terminal::is_readable() {
        let relay = relay.clone();
        thread::spawn(move || feed(&relay, &window));
    } else {
        let _ = relay.send(Kind::Input, &[]);
    }
    let mut drafts: Vec<Option<Draft>> = files.iter().map(|_| None).collect();
    let ended = loop {
        let frame = match frame::receive(&mut port) {
            Ok(Some(frame)) => frame,
            Ok(None) => break Err(TalkError::Gone),
            Err(error) if is_gone(&error) => break Err(TalkError::Gone),
            Err(error) => break Err(TalkError::Port(error)),
        };
        match hear(&frame, &mut drafts) {
            Ok(Heard::More) => {}
            Ok(Heard::Taken(count)) => drop(taken.send(count)),
            Ok(Heard::Exit(code)) => break Ok(code),
            Err(error) => break Err(error),
        }
    };
    // The terminal as it was, before anything else is said.
    relay.rests();
    let code = ended?;
    for (path, draft) in files.iter().zip(&mut drafts) {
        if let Some(Draft { file, mode: Some(mode) }) = draft {
            disk::replace_from(path, *mode, file)?;
        }
    }
    Ok(code)
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    [BrokenPipe, ConnectionReset, UnexpectedEof].contains(&error.kind())
}

/// Sends standard input, never more than is taken.
fn feed(relay: &Relay, window: &Receiver<usize>) {
    let (mut free, mut buffer) = (WINDOW, vec![0; PIECE]);
    let mut input = io::stdin().lock();
    loop {
        free += window.try_iter().sum::<usize>();
        while free < PIECE {
            let Ok(count) = window.recv() else { return };
            free += count;
        }
        let count = match input.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        // An empty frame is the end.
        if relay.send(Kind::Input, &buffer[..count]).is_err() || count == 0 {
            return;
        }
        free -= count;
    }
}

/// A file that the command writes.
struct Draft {
    file: File,
    /// Its permissions, once it is whole.
    mode: Option<u32>,
}

/// What a frame means for the conversation.
enum Heard {
    More,
    Taken(usize),
    Exit(u8),
}

fn hear(frame: &Frame, drafts: &mut [Option<Draft>]) -> Result<Heard, TalkError> {
    match frame.kind {
        Kind::Output => put(&mut io::stdout().lock(), &frame.bytes)?,
        Kind::Error => put(&mut io::stderr().lock(), &frame.bytes)?,
        Kind::Taken => {
            let count = frame.number(0).map_err(TalkError::Port)?;
            return Ok(Heard::Taken(u32::from_be_bytes(count) as usize));
        }
        Kind::File => {
            let draft = draft(frame, drafts)?;
            draft.file.write_all(&frame.bytes[1..]).map_err(TalkError::Draft)?;
        }
        Kind::FileEnd => {
            let mode = frame.number(1).map_err(TalkError::Port)?;
            draft(frame, drafts)?.mode = Some(u32::from_be_bytes(mode) & 0o777);
        }
        Kind::Exit => {
            let [code] = frame.number(0).map_err(TalkError::Port)?;
            return Ok(Heard::Exit(code));
        }
        Kind::Refused => return Err(TalkError::Refused(String::from_utf8_lossy(&frame.bytes).into_owned())),
        Kind::Request | Kind::Input | Kind::Size | Kind::Signal => {
            return Err(TalkError::Port(io::Error::other("it asks for what only this end asks for")));
        }
    }
    Ok(Heard::More)
}

fn put(out: &mut impl Write, bytes: &[u8]) -> Result<(), TalkError> {
    out.write_all(bytes).and_then(|()| out.flush()).map_err(TalkError::Output)
}

/// The file that a frame is about, which has no name yet.
fn draft<'d>(frame: &Frame, drafts: &'d mut [Option<Draft>]) -> Result<&'d mut Draft, TalkError> {
    let [number] = frame.number(0).map_err(TalkError::Port)?;
    let place = drafts.get_mut(usize::from(number));
    let place =
        place.ok_or_else(|| TalkError::Port(io::Error::other("it sends a file that nobody named")))?;
    if place.is_none() {
        let file = tempfile::tempfile().map_err(TalkError::Draft)?;
        *place = Some(Draft { file, mode: None });
    }
    place.as_mut().ok_or(TalkError::Gone)
}
