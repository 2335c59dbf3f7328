//! Any text is either a schematic or an error, never a panic; the same text has the same id.
#![no_main]

use ichor_talos::schematic::Schematic;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(schematic) = Schematic::read(text) else { return };
    // go-yaml writes blocks that no parser can read back, so the canonical text need not be a schematic.
    let _ = Schematic::read(&schematic.canonical());
    assert_eq!(
        Schematic::read(text).map(|again| again.id()),
        Ok(schematic.id()),
        "the same text, the same id"
    );
});
