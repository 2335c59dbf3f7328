//! Any bytes are a router's message or malformed, and what was read is read again the same.
#![no_main]

use ichor_bgp::agent::advertisement::NdpMessage;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = NdpMessage::parse(bytes) {
        assert_eq!(NdpMessage::parse(&message.bytes()), Ok(message), "written and read again");
    }
});
