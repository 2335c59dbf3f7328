//! Disk images of QEMU: `qcow2`, of which versions 2 and 3 are read, and version 3 is written.

mod read;
mod write;

pub use read::Qcow2;
pub use write::write;

const MAGIC: &[u8] = b"QFI\xfb";

/// The lengths of the headers of versions 2 and 3.
const HEADERS: [usize; 2] = [72, 104];
