//! The end outside: a command that runs inside, with the streams and the terminal of this program.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use super::frame::{self, CHUNK, Frame, FrameKind, WINDOW};
use super::request::CommandRequest;
use super::signal_relay::SignalRelay;
use super::terminal::{self, RawTerminal};
use crate::disk::{self, WriteError};

/// Why nobody knows how a command ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandSessionError {
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
pub(super) fn run(
    mut port: UnixStream,
    request: &CommandRequest,
    files: &[PathBuf],
    relay: &SignalRelay,
) -> Result<u8, CommandSessionError> {
    let bytes = request.to_json().map_err(|error| CommandSessionError::Port(error.into()))?;
    frame::send(&mut port, FrameKind::Request, &bytes).map_err(CommandSessionError::Port)?;
    relay.attach(port.try_clone().map_err(CommandSessionError::Port)?, RawTerminal::enter(request.terminal));
    let (taken, window) = mpsc::channel();
    if terminal::is_readable() {
        let relay = relay.clone();
        thread::spawn(move || send_stdin(&relay, &window));
    } else {
        let _ = relay.send(FrameKind::Input, &[]);
    }
    let mut received: Vec<Option<ReceivedFile>> = files.iter().map(|_| None).collect();
    let ended = loop {
        let frame = match frame::receive(&mut port) {
            Ok(Some(frame)) => frame,
            Ok(None) => break Err(CommandSessionError::Gone),
            Err(error) if is_gone(&error) => break Err(CommandSessionError::Gone),
            Err(error) => break Err(CommandSessionError::Port(error)),
        };
        match handle_frame(&frame, &mut received) {
            Ok(FrameEffect::None) => {}
            Ok(FrameEffect::Taken(count)) => drop(taken.send(count)),
            Ok(FrameEffect::Exit(code)) => break Ok(code),
            Err(error) => break Err(error),
        }
    };
    // The terminal as it was, before anything else is said.
    relay.release();
    let code = ended?;
    for (path, draft) in files.iter().zip(&mut received) {
        if let Some(ReceivedFile { file, mode: Some(mode) }) = draft {
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
fn send_stdin(relay: &SignalRelay, window: &Receiver<usize>) {
    let (mut free, mut buffer) = (WINDOW, vec![0; CHUNK]);
    let mut input = io::stdin().lock();
    loop {
        free += window.try_iter().sum::<usize>();
        while free < CHUNK {
            let Ok(count) = window.recv() else { return };
            free += count;
        }
        let count = match input.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        // An empty frame is the end.
        if relay.send(FrameKind::Input, &buffer[..count]).is_err() || count == 0 {
            return;
        }
        free -= count;
    }
}

/// A file that the command writes.
struct ReceivedFile {
    file: File,
    /// Its permissions, once it is whole.
    mode: Option<u32>,
}

/// What a frame means for the conversation.
enum FrameEffect {
    None,
    Taken(usize),
    Exit(u8),
}

fn handle_frame(
    frame: &Frame,
    received: &mut [Option<ReceivedFile>],
) -> Result<FrameEffect, CommandSessionError> {
    match frame.kind {
        FrameKind::Output => write_output(&mut io::stdout().lock(), &frame.bytes)?,
        FrameKind::Error => write_output(&mut io::stderr().lock(), &frame.bytes)?,
        FrameKind::Taken => {
            let count = frame.number(0).map_err(CommandSessionError::Port)?;
            return Ok(FrameEffect::Taken(u32::from_be_bytes(count) as usize));
        }
        FrameKind::File => {
            let draft = received_file(frame, received)?;
            draft.file.write_all(&frame.bytes[1..]).map_err(CommandSessionError::Draft)?;
        }
        FrameKind::FileEnd => {
            let mode = frame.number(1).map_err(CommandSessionError::Port)?;
            received_file(frame, received)?.mode = Some(u32::from_be_bytes(mode) & 0o777);
        }
        FrameKind::Exit => {
            let [code] = frame.number(0).map_err(CommandSessionError::Port)?;
            return Ok(FrameEffect::Exit(code));
        }
        FrameKind::Refused => {
            return Err(CommandSessionError::Refused(String::from_utf8_lossy(&frame.bytes).into_owned()));
        }
        FrameKind::Request | FrameKind::Input | FrameKind::Size | FrameKind::Signal => {
            return Err(CommandSessionError::Port(io::Error::other(
                "it asks for what only this end asks for",
            )));
        }
    }
    Ok(FrameEffect::None)
}

fn write_output(out: &mut impl Write, bytes: &[u8]) -> Result<(), CommandSessionError> {
    out.write_all(bytes).and_then(|()| out.flush()).map_err(CommandSessionError::Output)
}

/// The file that a frame is about, which has no name yet.
fn received_file<'d>(
    frame: &Frame,
    received: &'d mut [Option<ReceivedFile>],
) -> Result<&'d mut ReceivedFile, CommandSessionError> {
    let [number] = frame.number(0).map_err(CommandSessionError::Port)?;
    let place = received.get_mut(usize::from(number));
    let place = place
        .ok_or_else(|| CommandSessionError::Port(io::Error::other("it sends a file that nobody named")))?;
    if place.is_none() {
        let file = tempfile::tempfile().map_err(CommandSessionError::Draft)?;
        *place = Some(ReceivedFile { file, mode: None });
    }
    place.as_mut().ok_or(CommandSessionError::Gone)
}
