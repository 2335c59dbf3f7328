//! A tar archive of one file with holes, in the old form of GNU tar: the one that Google's cloud takes disks in.

use std::io::{self, Write};

use super::content::Content;

const BLOCK: usize = 512;
const WHOLE: u64 = BLOCK as u64;

/// Extents that fit into the header, and into each block after it.
const IN_HEADER: usize = 4;
const IN_BLOCK: usize = 21;

/// Holes shorter than this are written out.
const SHORTEST: u64 = 64 << 10;

/// The number from which on there are too many digits.
const LONGEST: u64 = 1 << 33;

/// Writes an archive of one file. `seconds` is when it was changed, since 1970.
pub fn write(name: &str, content: &Content, seconds: u64, out: &mut dyn Write) -> io::Result<()> {
    let stretches = stretches(content);
    let (first, more) = stretches.split_at(stretches.len().min(IN_HEADER));
    out.write_all(&header(name, content.len(), seconds, &stretches, first, !more.is_empty())?)?;
    let mut blocks = more.chunks(IN_BLOCK).peekable();
    while let Some(block) = blocks.next() {
        let mut bytes = vec![0; BLOCK];
        list(&mut bytes, block);
        bytes[IN_BLOCK * 24] = u8::from(blocks.peek().is_some());
        out.write_all(&bytes)?;
    }
    for (start, length) in &stretches {
        let mut part = content.part(*start, *length).ok_or(io::ErrorKind::UnexpectedEof)?;
        part.align(WHOLE);
        part.copy_to(out)?;
    }
    // The end: two empty blocks.
    out.write_all(&[0; 2 * BLOCK])
}

/// The data in full blocks, and an empty extent at the end, which gives the length.
fn stretches(content: &Content) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for stretch in content.stretches().iter().filter(|stretch| !stretch.is_hole) {
        let start = stretch.start / WHOLE * WHOLE;
        let end = (stretch.start + stretch.length).next_multiple_of(WHOLE).min(content.len());
        match all.last_mut().filter(|(at, length)| at + length + SHORTEST > start) {
            Some((at, length)) => *length = end - *at,
            None => all.push((start, end - start)),
        }
    }
    if all.last().is_none_or(|(start, length)| start + length < content.len()) {
        all.push((content.len(), 0));
    }
    all
}

fn header(
    name: &str,
    size: u64,
    seconds: u64,
    stretches: &[(u64, u64)],
    first: &[(u64, u64)],
    more: bool,
) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; BLOCK];
    let room = bytes.get_mut(..name.len()).filter(|room| room.len() < 100);
    room.ok_or(io::ErrorKind::InvalidFilename)?.copy_from_slice(name.as_bytes());
    let written = stretches.iter().map(|(_, length)| length.next_multiple_of(WHOLE)).sum();
    // Mode, user, group, stored length, time; the checksum is computed over spaces.
    for (at, length, number) in
        [(100, 8, 0o644), (108, 8, 0), (116, 8, 0), (124, 12, written), (136, 12, seconds)]
    {
        digits(&mut bytes[at..at + length], number);
    }
    bytes[148..156].fill(b' ');
    bytes[156] = b'S';
    bytes[257..265].copy_from_slice(b"ustar  \0");
    list(&mut bytes[386..], first);
    bytes[482] = u8::from(more);
    digits(&mut bytes[483..495], size);
    let sum: u64 = bytes.iter().map(|byte| u64::from(*byte)).sum();
    digits(&mut bytes[148..155], sum);
    Ok(bytes)
}

fn list(bytes: &mut [u8], stretches: &[(u64, u64)]) {
    for (room, (start, length)) in bytes.chunks_exact_mut(24).zip(stretches) {
        digits(&mut room[..12], *start);
        digits(&mut room[12..], *length);
    }
}

/// A number in octal digits and a zero; one that does not fit is binary, after a marker byte.
fn digits(room: &mut [u8], number: u64) {
    if number < LONGEST {
        let text = format!("{number:0width$o}\0", width = room.len() - 1);
        room.copy_from_slice(text.as_bytes());
    } else {
        let at = room.len() - 8;
        room[at..].copy_from_slice(&number.to_be_bytes());
        room[0] = 0x80;
    }
}
