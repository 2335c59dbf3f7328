//! Unified kernel images: programs for UEFI with a kernel, its initramfs and its command line in sections.

use super::image::{Image, ReadError, low16, low32, piece};

/// What a program for UEFI begins with, and where it says where its header is.
const MAGIC: &[u8] = b"MZ";
const HEADER_AT: u64 = 0x3c;

/// The most sections that are looked at, and the length of what describes one.
const MOST_SECTIONS: usize = 256;
const SECTION: usize = 40;

/// The longest command line that is read.
const LONGEST: u32 = 64 << 10;

/// The command line inside of a unified kernel image; none where it is something else, or has none.
///
/// An image may have several, one for each of its profiles: the first is the one it boots with unless somebody chooses.
pub fn command_line(image: &dyn Image) -> Result<Option<String>, ReadError> {
    let start = piece(image, 0, 2, "header").unwrap_or_default();
    if start != MAGIC {
        return Ok(None);
    }
    let at = u64::from(low32(&piece(image, HEADER_AT, 4, "header")?, 0));
    let header = piece(image, at, 24, "header")?;
    if !header.starts_with(b"PE\0\0") {
        return Ok(None);
    }
    let count = usize::from(low16(&header, 6)).min(MOST_SECTIONS);
    let sections = at + 24 + u64::from(low16(&header, 20));
    let sections = piece(image, sections, count * SECTION, "sections")?;
    let Some(section) = sections.chunks_exact(SECTION).find(|section| section.starts_with(b".cmdline"))
    else {
        return Ok(None);
    };
    // What is written may be padded to a whole sector, and what is in memory may be longer than what is written.
    let length = low32(section, 8).min(low32(section, 16)).min(LONGEST) as usize;
    let bytes = piece(image, low32(section, 20).into(), length, "command line")?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(text.trim_end_matches(['\0', '\n']).to_owned()))
}
