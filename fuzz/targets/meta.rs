//! Any text is either META values or an error, never a panic; values come back as they were encoded.
#![no_main]

use ichor_core::cluster::value::TalosVersion;
use ichor_core::talos::{meta, platform_network};

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(values) = meta::decode(meta::encoded_part(text)) {
        for gzip in [false, true] {
            let again = meta::decode(&meta::encode(&values, gzip));
            assert!(values.is_empty() || again.as_ref() == Ok(&values), "the same values");
        }
    }
    for release in ["v1.11.5", "v1.14.0"] {
        let talos = TalosVersion::parse(release).expect("a release");
        let _ = platform_network::read(text, &talos);
    }
});
