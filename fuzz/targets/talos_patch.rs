//! Any text is either a patch of a configuration or an error, never a panic; what it makes can be written.
//!
//! The first line parts the configuration from the patch, and stands between them: any line will do.
#![no_main]

use ichor_talos::patch::Patch;
use ichor_talos::{encode, load};
use ichor_values::TalosVersion;
use ichor_values::go_yaml::emit;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Some((line, rest)) = text.split_once('\n') else { return };
    let parting = format!("\n{line}\n");
    let Some((base, patch)) = rest.split_once(&parting) else { return };
    for release in ["v1.11.5", "v1.14.0"] {
        let talos = TalosVersion::parse(release).expect("a release");
        let (Ok(mut config), Ok(patch)) = (load::load(base, &talos), Patch::read("patch", patch, &talos))
        else {
            continue;
        };
        if patch.apply(&mut config, &talos).is_ok() {
            assert!(
                !emit::emit_all(&encode::encode(&config, &talos)).is_empty() || config.documents.is_empty()
            );
        }
    }
});
