//! Why a file system cannot be made.

use super::SMALLEST_TREE;

/// Why there is no such file system.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// There is no room for the label, or it has letters that are none.
    #[error("`{0}` is no label of a FAT file system; want 1 to 11 of A-Z, 0-9, `-`, `_` and spaces")]
    Label(String),
    /// It cannot have this name.
    #[error(
        "`{0}` cannot be on a FAT file system; want a name of 1 to 255 letters of ASCII, none of `\"*:<>?\\|`, no `.` or space last"
    )]
    Name(String),
    /// Small and capital letters are the same there.
    #[error(
        "`{0}` and `{1}` are the same on a FAT file system, which takes small and capital letters for one"
    )]
    Twice(String, String),
    /// Something that is neither a file nor a folder.
    #[error("`{0}` is neither a file nor a folder, and a FAT file system has nothing else")]
    Other(String),
    /// There are too many.
    #[error("`{0}` has too much in it for a folder of a FAT file system")]
    Many(String),
    /// It is too long.
    #[error("`{path}` has {length} bytes; a file of a FAT file system has at most 4294967295")]
    Long {
        /// Where it is.
        path: String,
        /// How long it is.
        length: u64,
    },
    /// The size is none.
    #[error(
        "a FAT32 file system of {0} bytes cannot be; want {SMALLEST_TREE} to 2198754099200, in sectors of 512"
    )]
    Size(u64),
    /// Everything together is too long.
    #[error("{needed} bytes do not fit into a FAT32 file system of {size} bytes, which has room for {room}")]
    Full {
        /// How much there is, in whole clusters.
        needed: u64,
        /// How long the file system is.
        size: u64,
        /// How much it has room for.
        room: u64,
    },
}
