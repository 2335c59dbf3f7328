//! Any bytes on BIRD's control socket are an answer, half of one, or none; never a panic.
#![no_main]

use ichor_bgp::agent::bird::{Reply, sessions};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Some((reply, taken)) = Reply::parse(bytes) {
        assert!(taken <= bytes.len(), "an answer is a part of what came");
        assert_eq!(Reply::parse(&bytes[..taken]), Some((reply.clone(), taken)), "and stands alone");
        let _ = sessions(&reply, &reply, &reply);
    }
});
