//! Any text is either a stream of Talos' documents or an error, never a panic; what is found in them does not matter.
#![no_main]

use ichor_talos::{document, kind, link};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(documents) = document::read(text) else { return };
    for document in &documents {
        let _ = document::kind(document).and_then(kind::find);
        let _ = link::expected(document);
        let _ = link::made(document);
    }
    assert_eq!(document::read(text), Ok(documents), "the same text, the same documents");
});
