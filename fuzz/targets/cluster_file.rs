//! Any bytes are either a cluster file or a list of problems, never a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = ichor_core::cluster::load_bytes(bytes);
});
