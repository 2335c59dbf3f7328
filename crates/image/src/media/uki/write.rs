//! A unified kernel image from a stub and sections, as Talos' imager writes it.

use super::Section;
use super::pe::{DOS_HEADER, MOST_SECTIONS, PeFile, PeSection, SECTION, SIGNATURE};
use crate::media::Content;
use crate::media::image::{ImageError, low16, low32};

/// The offset of the PE headers: after the DOS header, with as many zeros.
const HEADERS: u32 = 0x80;

/// The magic number of the optional header of a 64-bit program, and its length without the data directories.
const PLUS: u16 = 0x20b;
const SHORTEST: usize = 112;

/// Places in the header of the file: the sections' number, the time, and the table of symbols with its length.
const COUNT: usize = 2;
const TIME: usize = 4;
const SYMBOLS: usize = 8;

/// Places in the second header.
const LINKER: usize = 2;
const CODE: usize = 4;
const DATA: usize = 8;
const MEMORY_STEP: usize = 32;
const FILE_STEP: usize = 36;
const IMAGE: usize = 56;
const ALL_HEADERS: usize = 60;
const SUM: usize = 64;
/// The offset of the pointer to the signature.
const SIGNED: usize = 144;

/// That a section is data, and may be read.
const IS_DATA: u32 = 0x40;
const READABLE: u32 = 0x4000_0000;

/// Why an image cannot be made from a stub.
#[derive(Debug, thiserror::Error)]
pub enum StubError {
    /// It could not be read.
    #[error("cannot read the stub of a kernel image")]
    Read(#[from] ImageError),
    /// It is not a stub.
    #[error(
        "the stub is not a 64-bit UEFI program; want systemd's `systemd-stub.efi` or `linuxx64.efi.stub`"
    )]
    Other,
    /// An invalid structure.
    #[error("the {0} of the stub is corrupt")]
    Broken(&'static str),
    /// There is a name that has no room.
    #[error("`{0}` is not a section name; want 1 to 8 characters")]
    Name(String),
    /// The headers would reach into the first section.
    #[error("{0} sections are too many: their headers do not fit into this stub")]
    Many(usize),
    /// It cannot be addressed.
    #[error("the sections are too large for a kernel image of at most 4 GiB")]
    Long,
}

/// A kernel image: the stub with appended sections. `seconds` is its creation time, since 1970.
pub fn write(stub: &Content, sections: &[Section], seconds: u32) -> Result<Content, StubError> {
    let program = PeFile::find_in(stub)?.ok_or(StubError::Other)?;
    behind(&program, stub, sections, seconds)
}

/// The same, of a program whose sections are in `from`.
pub(super) fn behind(
    program: &PeFile,
    from: &Content,
    sections: &[Section],
    seconds: u32,
) -> Result<Content, StubError> {
    if program.optional.len() < SHORTEST || low16(&program.optional, 0) != PLUS {
        return Err(StubError::Other);
    }
    let steps = SectionAlignment::new(program)?;
    let (mut parts, mut contents) = (Vec::new(), Vec::new());
    for part in &program.parts {
        contents.push(part.content(from, part.written)?);
        parts.push(part.clone());
    }
    let end = |part: &PeSection| u64::from(part.address) + u64::from(part.memory);
    let mut address = parts.iter().map(end).max().unwrap_or_default();
    for section in sections {
        address = address.next_multiple_of(steps.memory);
        parts.push(new_section(section, address, steps.file)?);
        contents.push(section.content.clone());
        address += section.content.len();
    }
    let headers = place_sections(&mut parts, program, steps.file)?;
    let mut image = Content::from(head(
        program,
        &parts,
        headers,
        fit_u32(address.next_multiple_of(steps.memory))?,
        seconds,
    ));
    image.pad_to(headers.into());
    for (part, content) in parts.iter().zip(contents) {
        image.push(content);
        image.pad_to(u64::from(part.start) + u64::from(part.written));
    }
    Ok(image)
}

/// The alignment of sections.
struct SectionAlignment {
    memory: u64,
    file: u64,
}

impl SectionAlignment {
    fn new(program: &PeFile) -> Result<Self, StubError> {
        let step = |at: usize| u64::from(low32(&program.optional, at));
        let (memory, file) = (step(MEMORY_STEP), step(FILE_STEP));
        let right = |step: u64| step.is_power_of_two() && step <= 1 << 24;
        if right(memory) && right(file) {
            Ok(Self { memory, file })
        } else {
            Err(StubError::Broken("alignment"))
        }
    }
}

/// The header of an additional section. Its offset in the file is set later.
fn new_section(section: &Section, address: u64, step: u64) -> Result<PeSection, StubError> {
    let mut name = [0; 8];
    let room = name.get_mut(..section.name.len()).filter(|room| !room.is_empty());
    room.ok_or_else(|| StubError::Name(section.name.clone()))?.copy_from_slice(section.name.as_bytes());
    Ok(PeSection {
        name,
        memory: fit_u32(section.content.len())?,
        address: fit_u32(address)?,
        written: fit_u32(section.content.len().next_multiple_of(step))?,
        start: 0,
        flags: IS_DATA | READABLE,
    })
}

/// Places the sections in sequence in the file, after the headers; returns the length of the headers.
fn place_sections(parts: &mut [PeSection], program: &PeFile, step: u64) -> Result<u32, StubError> {
    let all = HEADERS as usize
        + SIGNATURE.len()
        + program.file.len()
        + program.optional.len()
        + parts.len() * SECTION;
    let headers = (all as u64).next_multiple_of(step);
    let first = parts.iter().map(|part| u64::from(part.address)).min().unwrap_or(u64::MAX);
    if headers > first || parts.len() > MOST_SECTIONS {
        return Err(StubError::Many(parts.len()));
    }
    let mut at = headers;
    for part in parts {
        part.start = fit_u32(at)?;
        at += u64::from(part.written);
    }
    fit_u32(at)?;
    fit_u32(headers)
}

/// All headers.
fn head(program: &PeFile, parts: &[PeSection], headers: u32, image: u32, seconds: u32) -> Vec<u8> {
    let mut bytes = program.dos.clone();
    put_u32(&mut bytes, DOS_HEADER - 4, HEADERS);
    bytes.resize(HEADERS as usize, 0);
    bytes.extend(SIGNATURE);
    let mut file = program.file.clone();
    let count = u16::try_from(parts.len()).expect("at most as many as are read");
    file[COUNT..COUNT + 2].copy_from_slice(&count.to_le_bytes());
    put_u32(&mut file, TIME, seconds);
    file[SYMBOLS..SYMBOLS + 8].fill(0);
    bytes.extend(file);
    let written = |data: bool| {
        let parts = parts.iter().filter(|part| (part.flags & IS_DATA != 0) == data);
        parts.fold(0_u32, |sum, part| sum.saturating_add(part.written))
    };
    let mut optional = program.optional.clone();
    optional[LINKER..LINKER + 2].fill(0);
    for (at, number) in
        [(CODE, written(false)), (DATA, written(true)), (IMAGE, image), (ALL_HEADERS, headers), (SUM, 0)]
    {
        put_u32(&mut optional, at, number);
    }
    // A signature was one of another file.
    if let Some(signed) = optional.get_mut(SIGNED..SIGNED + 8) {
        signed.fill(0);
    }
    bytes.extend(optional);
    bytes.extend(parts.iter().flat_map(PeSection::bytes));
    bytes
}

fn put_u32(bytes: &mut [u8], at: usize, number: u32) {
    bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
}

fn fit_u32(number: u64) -> Result<u32, StubError> {
    u32::try_from(number).map_err(|_| StubError::Long)
}
