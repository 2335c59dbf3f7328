//! Any text is either a configuration or an error, never a panic; what is encoded loads as the same.
#![no_main]

use ichor_talos::{encode, load};
use ichor_values::TalosVersion;
use ichor_values::go_yaml::emit;

libfuzzer_sys::fuzz_target!(|text: &str| {
    for release in ["v1.11.5", "v1.12.4", "v1.13.9", "v1.14.0"] {
        let talos = TalosVersion::parse(release).expect("a release");
        let Ok(config) = load::load(text, &talos) else { continue };
        let written = emit::emit_all(&encode::encode(&config, &talos));
        // Talos cannot read what it writes for a protocol that is not there.
        if written.contains("Protocol(0)") {
            continue;
        }
        let again = load::load(&written, &talos).map(|again| encode::encode(&again, &talos));
        assert_eq!(again, Ok(encode::encode(&config, &talos)), "the same on {release}:\n{written}");
    }
});
