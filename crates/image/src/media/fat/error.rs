//! Why a file system cannot be made.

use super::SMALLEST_TREE;

/// Why a FAT file system cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FatError {
    /// The label is too long, or has characters that are not allowed.
    #[error("`{0}` is not a valid FAT label; want 1 to 11 of A-Z, 0-9, `-`, `_` and spaces")]
    Label(String),
    /// It cannot have this name.
    #[error(
        "`{0}` is not a valid FAT file name; want 1 to 255 ASCII characters, none of `\"*:<>?\\|`, no `.` or space last"
    )]
    Name(String),
    /// Small and capital letters are the same there.
    #[error("`{0}` and `{1}` collide: FAT file names are not case-sensitive")]
    Twice(String, String),
    /// An entry that is neither a file nor a folder.
    #[error("`{0}` is neither a file nor a folder; FAT supports nothing else")]
    Other(String),
    /// There are too many.
    #[error("`{0}` has too many entries for a FAT folder")]
    Many(String),
    /// It is too long.
    #[error("`{path}` has {length} bytes; FAT files have at most 4294967295")]
    Long {
        /// Its path.
        path: String,
        /// Its length.
        length: u64,
    },
    /// The size is invalid.
    #[error(
        "{0} bytes is not a valid size of a FAT32 file system; want {SMALLEST_TREE} to 2198754099200, a multiple of 512"
    )]
    Size(u64),
    /// Everything together is too long.
    #[error("{needed} bytes do not fit into a FAT32 file system of {size} bytes with {room} bytes of data")]
    Full {
        /// The required size, in full clusters.
        needed: u64,
        /// The length of the file system.
        size: u64,
        /// The available space.
        room: u64,
    },
}
