//! Any text is what Terraform prints or an error, never a panic; there is an address in what is taken.
#![no_main]

use ichor_core::bringup::terraform::parse_outputs;

libfuzzer_sys::fuzz_target!(|text: &str| {
    match parse_outputs(text) {
        Ok(outputs) => assert!(!outputs.external.is_empty() || !outputs.dhcp.is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
