//! The dependencies of a program: its loader and its libraries, from its ELF headers.

use object::LittleEndian;
use object::elf::{self, Dyn64, FileHeader64, ProgramHeader64};
use object::read::elf::{Dyn as _, FileHeader as _, ProgramHeader as _};
use object::read::{Error, StringTable};

use ichor_values::Arch;

const E: LittleEndian = LittleEndian;

/// Limits on foreign files, far above what any program has: entries of the dynamic section, and bytes of a name.
const MOST: usize = 4096;

/// The ELF headers of a program or library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elf {
    machine: u16,
    /// The loader that starts it; nothing for libraries and static programs.
    pub(crate) interpreter: Option<String>,
    /// The libraries it needs, by their names.
    pub(crate) needed: Vec<String>,
    /// The search path for its own libraries and those of its libraries.
    pub(crate) rpath: Vec<String>,
    /// The search path for its own libraries only.
    pub(crate) runpath: Vec<String>,
}

/// Why a file cannot be read as a program.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// It is not an ELF file.
    #[error("not an ELF file; scripts and archives are not supported")]
    Other,
    /// It is for machines that Talos does not run on.
    #[error("not for 64-bit little-endian machines")]
    Machine,
    /// It is cut off, or contradicts itself.
    #[error("corrupt ELF file: {0}")]
    Broken(#[from] Error),
    /// Its names cannot be read.
    #[error("corrupt ELF file: {0}")]
    Name(&'static str),
}

impl Elf {
    /// Reads the headers of a program or library.
    pub fn read(bytes: &[u8]) -> Result<Self, ElfError> {
        if !bytes.starts_with(&elf::ELFMAG) {
            return Err(ElfError::Other);
        }
        if bytes.get(4..6) != Some(&[elf::ELFCLASS64.0, elf::ELFDATA2LSB.0]) {
            return Err(ElfError::Machine);
        }
        let header = FileHeader64::<LittleEndian>::parse(bytes)?;
        let segments = header.program_headers(E, bytes)?;
        let mut elf = Elf { machine: header.e_machine(E).0, ..Elf::default() };
        for segment in segments {
            if let Some(loader) = segment.interpreter(E, bytes)? {
                elf.interpreter = Some(name(loader)?);
            }
        }
        for segment in segments {
            if let Some(entries) = segment.dynamic(E, bytes)? {
                elf.read_dynamic(bytes, segments, entries)?;
            }
        }
        Ok(elf)
    }

    /// The architecture it is for, where that is one of ours.
    pub fn arch(&self) -> Option<Arch> {
        match elf::Machine(self.machine) {
            elf::EM_X86_64 => Some(Arch::Amd64),
            elf::EM_AARCH64 => Some(Arch::Arm64),
            _ => None,
        }
    }

    /// Its machine type, in a word.
    pub fn machine(&self) -> String {
        self.arch().map_or_else(|| format!("other (ELF number {})", self.machine), |arch| arch.to_string())
    }

    fn read_dynamic(
        &mut self,
        bytes: &[u8],
        segments: &[ProgramHeader64<LittleEndian>],
        entries: &[Dyn64<LittleEndian>],
    ) -> Result<(), ElfError> {
        let entries = entries.iter().take(MOST).map(|entry| (entry.d_tag(E), entry.d_val(E)));
        let entries = entries.take_while(|(tag, _)| *tag != elf::DT_NULL);
        let Some((_, address)) = entries.clone().find(|(tag, _)| *tag == elf::DT_STRTAB) else {
            return Ok(());
        };
        let names = names(bytes, segments, address)?;
        for (tag, offset) in entries {
            let text = || {
                let found = u32::try_from(offset).ok().and_then(|offset| names.get(offset).ok());
                name(found.ok_or(ElfError::Name("an unterminated name"))?)
            };
            let folders = |text: String| text.split(':').map(str::to_owned).collect();
            match tag {
                elf::DT_NEEDED => self.needed.push(text()?),
                elf::DT_RPATH => self.rpath = folders(text()?),
                elf::DT_RUNPATH => self.runpath = folders(text()?),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The names of the dynamic section, which are at an address in a loaded segment. Sections are not used: a stripped file has none.
fn names<'b>(
    bytes: &'b [u8],
    segments: &[ProgramHeader64<LittleEndian>],
    address: u64,
) -> Result<StringTable<'b>, ElfError> {
    let range = segments.iter().filter(|segment| segment.p_type(E) == elf::PT_LOAD).find_map(|segment| {
        let (start, length) = segment.file_range(E);
        let into = address.checked_sub(segment.p_vaddr(E)).filter(|into| *into < length)?;
        Some((start.checked_add(into)?, start.checked_add(length)?))
    });
    let (start, end) = range.ok_or(ElfError::Name("its string table is in no segment"))?;
    Ok(StringTable::new(bytes, start, end))
}

fn name(bytes: &[u8]) -> Result<String, ElfError> {
    if bytes.len() > MOST {
        return Err(ElfError::Name("a name is too long"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| ElfError::Name("a name is not UTF-8"))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_elf_headers_is_rejected() {
        let mut head = [0; 64];
        head[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        assert_eq!(Elf::read(b"#!/bin/sh\n"), Err(ElfError::Other));
        assert_eq!(Elf::read(b"\x7fELF\x01\x01"), Err(ElfError::Machine));
        assert!(matches!(Elf::read(&head[..20]), Err(ElfError::Broken(_))));
        assert_eq!(Elf::read(&head).map(|elf| elf.needed), Ok(Vec::new()));
        head[54] = 56;
        head[56] = 1;
        head[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(Elf::read(&head), Err(ElfError::Broken(_))));
    }
}
