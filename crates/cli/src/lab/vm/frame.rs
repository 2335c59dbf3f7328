//! The protocol between a client and the console of the virtual machine.
//!
//! The console sends [`MARK`] when a client connects, and waits for a request. All other data are frames: one byte for
//! the kind, four for the length, and the contents.

use std::io::{self, ErrorKind, Read, Write};

/// Start of a connection. The client skips everything before it, which belongs to an earlier connection.
pub(super) const MARK: [u8; 16] = *b"\x00ichor console\r\n";

/// Size limit of a frame.
const MAX_FRAME: usize = 16 << 20;

/// Chunk size of longer data.
pub(super) const CHUNK: usize = 32 << 10;

/// Maximum number of unacknowledged bytes of standard input.
pub(super) const WINDOW: usize = 8 * CHUNK;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// From the client: a command, as JSON.
    Request = 1,
    /// Standard input of the command; empty at the end.
    Input = 2,
    /// New size of the terminal: lines and columns, two bytes each.
    Size = 3,
    /// Number of a signal.
    Signal = 4,
    /// From the console: standard output.
    Output = 5,
    /// Standard error.
    Error = 6,
    /// Number of consumed bytes of standard input.
    Taken = 7,
    /// Part of a written file, after one byte with its index.
    File = 8,
    /// End of a written file: its index, and its mode in four bytes.
    FileEnd = 9,
    /// Exit code of the command.
    Exit = 10,
    /// Why the command could not be started.
    Refused = 11,
}

const KINDS: [FrameKind; 11] = [
    FrameKind::Request,
    FrameKind::Input,
    FrameKind::Size,
    FrameKind::Signal,
    FrameKind::Output,
    FrameKind::Error,
    FrameKind::Taken,
    FrameKind::File,
    FrameKind::FileEnd,
    FrameKind::Exit,
    FrameKind::Refused,
];

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub kind: FrameKind,
    pub bytes: Vec<u8>,
}

impl Frame {
    /// The bytes of a number at an offset.
    pub(super) fn number<const N: usize>(&self, at: usize) -> io::Result<[u8; N]> {
        let bytes = self.bytes.get(at..).and_then(|bytes| bytes.first_chunk());
        bytes.copied().ok_or_else(|| invalid_frame("too short"))
    }
}

fn invalid_frame(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("invalid frame: {why}"))
}

/// Sends a frame.
pub(super) fn send(out: &mut impl Write, kind: FrameKind, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= MAX_FRAME);
    let length = length.ok_or_else(|| invalid_frame("too long"))?;
    let mut frame = vec![kind as u8];
    frame.extend(length.to_be_bytes());
    frame.extend(bytes);
    out.write_all(&frame)
}

/// Receives the next frame; none if the other end has disconnected.
pub(super) fn receive(from: &mut impl Read) -> io::Result<Option<Frame>> {
    let mut head = [0; 5];
    let mut have = 0;
    while have < head.len() {
        match from.read(&mut head[have..]) {
            Ok(0) if have == 0 => return Ok(None),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => have += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let [kind, length @ ..] = head;
    let kind = KINDS.into_iter().find(|known| *known as u8 == kind);
    let kind = kind.ok_or_else(|| invalid_frame("unknown kind"))?;
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_FRAME {
        return Err(invalid_frame("too long"));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Some(Frame { kind, bytes }))
}

/// Searches a stream for the mark.
#[derive(Default)]
pub(super) struct MarkScanner(Vec<u8>);

impl MarkScanner {
    /// Whether the mark is in these bytes, together with earlier ones.
    pub(super) fn finds(&mut self, bytes: &[u8]) -> bool {
        self.0.extend(bytes);
        let found = self.0.windows(MARK.len()).any(|bytes| bytes == MARK);
        self.0.drain(..self.0.len().saturating_sub(MARK.len() - 1));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_frames_are_received() {
        let mut wire = Vec::new();
        for kind in KINDS {
            send(&mut wire, kind, &[kind as u8; 300]).unwrap();
        }

        let mut from = &wire[..];
        for kind in KINDS {
            let frame = receive(&mut from).unwrap().unwrap();
            assert_eq!(frame, Frame { kind, bytes: vec![kind as u8; 300] });
        }
        assert_eq!(receive(&mut from).unwrap(), None);
    }

    #[test]
    fn invalid_frames_are_rejected() {
        for wire in [&b"\x05\0\0"[..], b"\x05\0\0\0\x02a", b"\x63\0\0\0\0", b"\x05\xff\xff\xff\xff"] {
            assert!(receive(&mut &wire[..]).is_err(), "{wire:?}");
        }
    }

    #[test]
    fn data_before_the_mark_is_skipped() {
        let wire = [&b"\x05\0\0\0\x64half a frame\x00ichor con\x00ichor"[..], &MARK].concat();
        for piece in [1, 5, 16, 1000] {
            let mut scanner = MarkScanner::default();

            let found: Vec<_> = wire.chunks(piece).map(|bytes| scanner.finds(bytes)).collect();

            assert_eq!(found.iter().position(|found| *found), Some(found.len() - 1), "chunks of {piece}");
        }
    }
}
