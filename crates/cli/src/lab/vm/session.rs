//! The client of a command in the virtual machine: connects it to the streams and the terminal of this process.

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

/// Errors of running a command; its exit code is unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandSessionError {
    /// The console disconnected.
    #[error("the virtual machine exited before the command finished")]
    Gone,
    /// The console violated the protocol.
    #[error("cannot communicate with the virtual machine")]
    Port(#[source] io::Error),
    /// The command was not started.
    #[error("{0}")]
    Refused(String),
    /// The output cannot be written.
    #[error("cannot write the output of the command")]
    Output(#[source] io::Error),
    /// A received file cannot be stored.
    #[error("cannot store a file of the command")]
    Draft(#[source] io::Error),
    /// A received file cannot be renamed to its final path.
    #[error(transparent)]
    File(#[from] WriteError),
}

/// Runs a command on a connected port, and returns its exit code. Its output files appear once it has exited.
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
    // Restores the terminal before further output.
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

/// Sends standard input within the flow-control window.
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
        // An empty frame marks the end.
        if relay.send(FrameKind::Input, &buffer[..count]).is_err() || count == 0 {
            return;
        }
        free -= count;
    }
}

/// An output file of the command.
struct ReceivedFile {
    file: File,
    /// Mode of the file, once it is complete.
    mode: Option<u32>,
}

/// Effect of a frame on the session.
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
                "unexpected frame from the virtual machine",
            )));
        }
    }
    Ok(FrameEffect::None)
}

fn write_output(out: &mut impl Write, bytes: &[u8]) -> Result<(), CommandSessionError> {
    out.write_all(bytes).and_then(|()| out.flush()).map_err(CommandSessionError::Output)
}

/// The unnamed file that a frame belongs to.
fn received_file<'d>(
    frame: &Frame,
    received: &'d mut [Option<ReceivedFile>],
) -> Result<&'d mut ReceivedFile, CommandSessionError> {
    let [number] = frame.number(0).map_err(CommandSessionError::Port)?;
    let slot = received.get_mut(usize::from(number));
    let slot = slot.ok_or_else(|| {
        CommandSessionError::Port(io::Error::other("unexpected file from the virtual machine"))
    })?;
    if slot.is_none() {
        let file = tempfile::tempfile().map_err(CommandSessionError::Draft)?;
        *slot = Some(ReceivedFile { file, mode: None });
    }
    slot.as_mut().ok_or(CommandSessionError::Gone)
}
