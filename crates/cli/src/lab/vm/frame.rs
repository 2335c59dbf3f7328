//! What the two ends of a port of the virtual machine say to each other.
//!
//! The end inside says the [`MARK`] as soon as somebody listens: then it waits for a request. Everything else is frames: a byte that says
//! what it is, four with a length, and so many bytes.

use std::io::{self, ErrorKind, Read, Write};

/// What the end inside begins with. Whoever listens passes over everything before it, which was meant for others.
pub(super) const MARK: [u8; 16] = *b"\x00ichor console\r\n";

/// No frame is longer.
const MAX_FRAME: usize = 16 << 20;

/// How much is sent at once of what may be longer.
pub(super) const CHUNK: usize = 32 << 10;

/// How many bytes of standard input may be under way.
pub(super) const WINDOW: usize = 8 * CHUNK;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// To the inside: a command, as JSON.
    Request = 1,
    /// Some of its standard input; nothing is its end.
    Input = 2,
    /// The terminal has another size: lines and columns, two bytes each.
    Size = 3,
    /// A signal, by its number.
    Signal = 4,
    /// From the inside: some standard output.
    Output = 5,
    /// Some standard error.
    Error = 6,
    /// So many bytes of standard input were taken.
    Taken = 7,
    /// Some of a file that the command wrote: its number, one byte.
    File = 8,
    /// The end of that file: its number, and its permissions in four bytes.
    FileEnd = 9,
    /// The command ended, with that code.
    Exit = 10,
    /// The command could not be started, and why.
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
    /// The number that the frame is, from `at`.
    pub(super) fn number<const N: usize>(&self, at: usize) -> io::Result<[u8; N]> {
        let bytes = self.bytes.get(at..).and_then(|bytes| bytes.first_chunk());
        bytes.copied().ok_or_else(|| invalid_frame("it is too short"))
    }
}

fn invalid_frame(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("a frame that nobody should send: {why}"))
}

/// Sends a frame.
pub(super) fn send(out: &mut impl Write, kind: FrameKind, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= MAX_FRAME);
    let length = length.ok_or_else(|| invalid_frame("it is too long"))?;
    let mut frame = vec![kind as u8];
    frame.extend(length.to_be_bytes());
    frame.extend(bytes);
    out.write_all(&frame)
}

/// The next frame; none where the other end is gone.
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
    let kind = kind.ok_or_else(|| invalid_frame("it is of no known kind"))?;
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_FRAME {
        return Err(invalid_frame("it is too long"));
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(Some(Frame { kind, bytes }))
}

/// Looks for the mark in what comes.
#[derive(Default)]
pub(super) struct MarkScanner(Vec<u8>);

impl MarkScanner {
    /// Whether these bytes, with those before them, have the mark.
    pub(super) fn finds(&mut self, bytes: &[u8]) -> bool {
        self.0.extend(bytes);
        let seen = self.0.windows(MARK.len()).any(|bytes| bytes == MARK);
        self.0.drain(..self.0.len().saturating_sub(MARK.len() - 1));
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_is_received() {
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
    fn what_is_no_frame_is_refused() {
        for wire in [&b"\x05\0\0"[..], b"\x05\0\0\0\x02a", b"\x63\0\0\0\0", b"\x05\xff\xff\xff\xff"] {
            assert!(receive(&mut &wire[..]).is_err(), "{wire:?}");
        }
    }

    #[test]
    fn what_was_meant_for_others_is_passed_over() {
        let wire = [&b"\x05\0\0\0\x64half a frame\x00ichor con\x00ichor"[..], &MARK].concat();
        for piece in [1, 5, 16, 1000] {
            let mut scanner = MarkScanner::default();

            let seen: Vec<_> = wire.chunks(piece).map(|bytes| scanner.finds(bytes)).collect();

            assert_eq!(seen.iter().position(|seen| *seen), Some(seen.len() - 1), "{piece} at once");
        }
    }
}
