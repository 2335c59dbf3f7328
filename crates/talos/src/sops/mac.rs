//! The MAC of a file: SHA-512 over its values, in their order.

use serde_json::Value;
use sha2::{Digest as _, Sha512};

use super::scalar;

/// The first input of a MAC over encrypted values only, so that it is never a MAC over all of them: SHA-256 of `sops`.
const ONLY_ENCRYPTED: [u8; 32] = [
    0x8a, 0x3f, 0xd2, 0xad, 0x54, 0xce, 0x66, 0x52, 0x7b, 0x10, 0x34, 0xf3, 0xd1, 0x47, 0xbe, 0x0b, 0x0b,
    0x97, 0x5b, 0x3b, 0xf4, 0x4f, 0x72, 0xc6, 0xfd, 0xad, 0xec, 0x81, 0x76, 0xf2, 0x7d, 0x69,
];

/// A MAC that values are being added to.
pub(super) struct Mac(Sha512);

impl Mac {
    pub(super) fn new(only_encrypted: bool) -> Self {
        let mut hash = Sha512::new();
        if only_encrypted {
            hash.update(ONLY_ENCRYPTED);
        }
        Self(hash)
    }

    /// Adds a value; null, lists and maps have nothing to add.
    pub(super) fn add(&mut self, value: &Value) {
        if let Some((_, bytes)) = scalar::bytes(value) {
            self.0.update(bytes);
        }
    }

    /// The MAC in its text form, in upper case.
    pub(super) fn finish(self) -> String {
        format!("{:X}", self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use sha2::Sha256;

    use super::*;

    #[test]
    fn a_mac_over_encrypted_values_alone_starts_with_a_known_hash() {
        assert_eq!(Sha256::digest("sops").as_slice(), ONLY_ENCRYPTED);
        assert_ne!(Mac::new(true).finish(), Mac::new(false).finish());
    }

    #[test]
    fn a_mac_is_written_in_upper_case() {
        let mut mac = Mac::new(false);
        mac.add(&Value::from("abc"));

        assert!(mac.finish().starts_with("DDAF35A193617ABACC417349AE204131"));
    }
}
