//! Any text is either a SOPS file or an error, never a panic; opened twice, it gives the same.
#![no_main]

use ichor_talos::sops::{Ring, Sealed};

/// Opens everything to one key: the seeds were sealed with it.
struct Any;

impl Ring for Any {
    fn open(&self, _: &str) -> Option<Vec<u8>> {
        Some(vec![7; 32])
    }
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(file) = Sealed::read(text) else { return };
    let _ = file.recipients();
    assert_eq!(file.open(&Any), file.open(&Any));
});
