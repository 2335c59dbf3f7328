//! Any bytes are a router's message or malformed, and what was read is read again the same.
#![no_main]

use ichor_bgp::agent::advertisement::Message;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = Message::parse(bytes) {
        assert_eq!(Message::parse(&message.bytes()), Ok(message), "written and read again");
    }
});
