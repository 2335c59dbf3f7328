//! The UUID of a virtual machine, derived from cluster and node name.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The UUID of a machine on its hypervisor and in its SMBIOS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VmUuid([u8; 16]);

impl VmUuid {
    /// Derives the UUID from a hash of both names, as version 8 of RFC 9562, section 5.8.
    pub fn new(cluster: &str, node: &str) -> Self {
        let digest = Sha256::digest(format!("ichor machine\0{cluster}\0{node}"));
        let mut bytes: [u8; 16] = digest[..16].try_into().expect("a digest has 32 bytes");
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }
}

impl fmt::Display for VmUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, byte) in self.0.iter().enumerate() {
            let dash = if matches!(nth, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uuid_is_version_8_and_unique_to_a_node() {
        let uuid = VmUuid::new("sol", "solcp01").to_string();

        assert_eq!(uuid, "d581756f-daf9-81d1-81c6-4d4854e2123f");
        assert_ne!(uuid, VmUuid::new("sol", "solcp02").to_string());
        assert_ne!(uuid, VmUuid::new("luna", "solcp01").to_string());
        assert_ne!(VmUuid::new("a", "bc"), VmUuid::new("ab", "c"));
    }
}
