//! Numbers that disks, partitions and their types are known by.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A GUID, in the order in which it is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Guid([u8; 16]);

impl Guid {
    /// The type of a partition that UEFI boots from.
    pub const EFI: Self = Self(0xc12a_7328_f81f_11d2_ba4b_00a0_c93e_c93b_u128.to_be_bytes());
    /// The type of a partition that GRUB is in, for machines with a BIOS.
    pub const BIOS: Self = Self(0x2168_6148_6449_6e6f_744e_6565_6445_4649_u128.to_be_bytes());
    /// The type of a partition that Linux uses.
    pub const LINUX: Self = Self(0x0fc6_3daf_8483_4772_8e79_3d69_d847_7de4_u128.to_be_bytes());

    /// The type of a partition that holds data of any kind.
    pub(crate) const DATA: Self = Self(0xebd0_a0a2_b9e5_4433_87c0_68b6_b726_99c7_u128.to_be_bytes());

    /// The GUID that Talos' imager derives from a label.
    pub fn from_label(label: &str) -> Self {
        let hash = Sha256::new_with_prefix([0; 16]).chain_update(label).finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        // Version 8, of the usual kind.
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }

    /// Its form on disk: the first three numbers are little-endian.
    pub(super) fn on_disk(self) -> [u8; 16] {
        let mut bytes = self.0;
        for number in [0..4, 4..6, 6..8] {
            bytes[number].reverse();
        }
        bytes
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, byte) in self.0.iter().enumerate() {
            let dash = if [4, 6, 8, 10].contains(&nth) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
