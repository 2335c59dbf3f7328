//! What a program needs to be started: its loader and its libraries, out of its ELF headers.

use ichor_values::Arch;

const PROGRAM_HEADER: usize = 56;
const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;

const NEEDED: u64 = 1;
const STRINGS: u64 = 5;
const RPATH: u64 = 15;
const RUNPATH: u64 = 29;

/// More than any program has.
const MOST: usize = 4096;

/// What a program or library says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elf {
    machine: u16,
    /// The loader that starts it; nothing for libraries and static programs.
    pub interpreter: Option<String>,
    /// The libraries it needs, by their names.
    pub needed: Vec<String>,
    /// Where it wants its own libraries and those of its libraries to be looked for.
    pub rpath: Vec<String>,
    /// Where it wants its own libraries to be looked for.
    pub runpath: Vec<String>,
}

/// Something that is no program.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// It is something else.
    #[error("not an ELF file; scripts and archives are not taken")]
    Other,
    /// It is for machines that Talos does not run on.
    #[error("not for 64-bit little-endian machines")]
    Machine,
    /// It ends too soon, or contradicts itself.
    #[error("a broken ELF file: {0}")]
    Broken(&'static str),
}

impl Elf {
    /// Reads the headers of a program or library.
    pub fn read(bytes: &[u8]) -> Result<Self, ElfError> {
        if !bytes.starts_with(b"\x7fELF") {
            return Err(ElfError::Other);
        }
        if bytes.get(4..6) != Some(&[2, 1]) {
            return Err(ElfError::Machine);
        }
        let file = Bytes(bytes);
        let machine = file.half(18)?;
        let (start, count) = (file.place(32)?, usize::from(file.half(56)?));
        if count > 0 && usize::from(file.half(54)?) != PROGRAM_HEADER {
            return Err(ElfError::Broken("program headers of another size"));
        }
        let mut elf = Elf { machine, ..Elf::default() };
        let (mut loads, mut dynamic) = (Vec::new(), None);
        for nth in 0..count {
            let at = start.checked_add(nth * PROGRAM_HEADER).ok_or(CUT)?;
            let segment = Segment {
                offset: file.long(at.saturating_add(8))?,
                address: file.long(at.saturating_add(16))?,
                length: file.long(at.saturating_add(32))?,
            };
            match file.word(at)? {
                LOAD => loads.push(segment),
                DYNAMIC => dynamic = Some(segment),
                INTERPRETER => elf.interpreter = Some(file.string(segment.offset)?),
                _ => {}
            }
        }
        if let Some(dynamic) = dynamic {
            elf.read_dynamic(&file, &dynamic, &loads)?;
        }
        Ok(elf)
    }

    /// The architecture it is for, where that is one of ours.
    pub fn arch(&self) -> Option<Arch> {
        match self.machine {
            62 => Some(Arch::Amd64),
            183 => Some(Arch::Arm64),
            _ => None,
        }
    }

    /// What it is for, in a word.
    pub fn machine(&self) -> String {
        self.arch().map_or_else(|| format!("other (ELF number {})", self.machine), |arch| arch.to_string())
    }

    fn read_dynamic(
        &mut self,
        file: &Bytes<'_>,
        dynamic: &Segment,
        loads: &[Segment],
    ) -> Result<(), ElfError> {
        let start = usize::try_from(dynamic.offset).map_err(|_| CUT)?;
        let count = usize::try_from(dynamic.length / 16).unwrap_or(usize::MAX).min(MOST);
        let mut entries = Vec::new();
        for nth in 0..count {
            let at = start.checked_add(nth * 16).ok_or(CUT)?;
            match file.long(at)? {
                0 => break,
                tag => entries.push((tag, file.long(at.saturating_add(8))?)),
            }
        }
        let Some((_, strings)) = entries.iter().find(|(tag, _)| *tag == STRINGS) else { return Ok(()) };
        let inside =
            |load: &&Segment| strings.checked_sub(load.address).is_some_and(|into| into < load.length);
        let load = loads.iter().find(inside).ok_or(ElfError::Broken("its names are in no part of it"))?;
        let strings = (strings - load.address).checked_add(load.offset).ok_or(CUT)?;
        for (tag, value) in entries {
            let text = || file.string(strings.checked_add(value).ok_or(CUT)?);
            let folders = |text: String| text.split(':').map(str::to_owned).collect();
            match tag {
                NEEDED => self.needed.push(text()?),
                RPATH => self.rpath = folders(text()?),
                RUNPATH => self.runpath = folders(text()?),
                _ => {}
            }
        }
        Ok(())
    }
}

const CUT: ElfError = ElfError::Broken("it is cut off");

struct Segment {
    offset: u64,
    address: u64,
    length: u64,
}

struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], ElfError> {
        let piece = self.0.get(at..).and_then(|rest| rest.first_chunk::<N>());
        piece.copied().ok_or(CUT)
    }

    fn half(&self, at: usize) -> Result<u16, ElfError> {
        self.array(at).map(u16::from_le_bytes)
    }

    fn word(&self, at: usize) -> Result<u32, ElfError> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn long(&self, at: usize) -> Result<u64, ElfError> {
        self.array(at).map(u64::from_le_bytes)
    }

    fn place(&self, at: usize) -> Result<usize, ElfError> {
        usize::try_from(self.long(at)?).map_err(|_| CUT)
    }

    /// The text at a place, up to its NUL.
    fn string(&self, at: u64) -> Result<String, ElfError> {
        let rest = usize::try_from(at).ok().and_then(|at| self.0.get(at..)).ok_or(CUT)?;
        let rest = &rest[..rest.len().min(MOST)];
        let end = rest.iter().position(|byte| *byte == 0).ok_or(ElfError::Broken("a name without an end"))?;
        let text =
            std::str::from_utf8(&rest[..end]).map_err(|_| ElfError::Broken("a name that is not UTF-8"))?;
        Ok(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_is_told() {
        let mut head = [0; 64];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert_eq!(Elf::read(b"#!/bin/sh\n"), Err(ElfError::Other));
        assert_eq!(Elf::read(b"\x7fELF\x01\x01"), Err(ElfError::Machine));
        assert_eq!(Elf::read(&head[..20]), Err(CUT));
        assert_eq!(Elf::read(&head).map(|elf| elf.needed), Ok(Vec::new()));
        head[54] = 56;
        head[56] = 1;
        head[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(Elf::read(&head), Err(CUT));
    }
}
