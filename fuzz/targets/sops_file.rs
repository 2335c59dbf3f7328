//! Any text is either a SOPS file or an error, never a panic; decrypting it twice gives the same result.
#![no_main]

use ichor_talos::sops::{KeyProvider, SopsDocument};

/// Decrypts every data key to the one with which the seeds were encrypted.
struct FixedKey;

impl KeyProvider for FixedKey {
    fn open(&self, _: &str) -> Option<Vec<u8>> {
        Some(vec![7; 32])
    }
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(file) = SopsDocument::read(text) else { return };
    let _ = file.recipients();
    assert_eq!(file.open(&FixedKey), file.open(&FixedKey));
});
