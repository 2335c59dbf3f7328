//! The files that are packed with the simulator's init.
//!
//! An initramfs of Talos has one program and one file system in it, and Debian's kernel needs modules to mount the second. So
//! they are in the first: a tar archive after its end, and then the length of that.

use std::io;
use std::path::Path;

/// A program with files of its own.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'p> {
    /// The program.
    pub program: &'p [u8],
    /// Its files, in a tar archive.
    pub files: &'p [u8],
}

impl<'p> Payload<'p> {
    /// The program that carries them.
    pub fn pack(&self) -> Vec<u8> {
        [self.program, self.files, &(self.files.len() as u64).to_le_bytes()].concat()
    }

    /// Finds the archive in the data; none if it has none.
    pub(crate) fn find(packed: &'p [u8]) -> Option<Self> {
        let (rest, length) = packed.split_last_chunk()?;
        let start = rest.len().checked_sub(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        let (program, files) = rest.split_at(start);
        Some(Self { program, files })
    }

    /// Puts the files into a folder.
    pub(crate) fn unpack(&self, folder: &Path) -> io::Result<()> {
        tar::Archive::new(self.files).unpack(folder)
    }
}

#[test]
fn a_packed_program_contains_its_files() {
    let packed = Payload { program: b"program", files: b"archive" }.pack();

    let found = Payload::find(&packed).unwrap();

    assert_eq!((found.program, found.files), (&b"program"[..], &b"archive"[..]));
    assert!(Payload::find(b"no archive at its end").is_none());
}
