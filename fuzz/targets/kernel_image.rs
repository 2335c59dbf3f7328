//! Any bytes are a unified kernel image that is taken apart and put together again, or an error, never a panic.
#![no_main]

use ichor_image::media::Content;
use ichor_image::media::uki::{Section, Uki, write};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let content = Content::from(bytes);
    let sections =
        [Section::new(".cmdline", b"talos.platform=metal"), Section::new(".linux", content.clone())];
    // As a stub, and as an image that one is taken out of.
    if let Ok(image) = write(&content, &sections, 0) {
        let found = Uki::find_in(&image).expect("written by us").expect("it has a kernel");
        assert_eq!(found.sections().last().map(|section| &section.content), Some(&content));
    }
    if let Ok(Some(found)) = Uki::find_in(&content) {
        let _ = found.menu();
        let _ = found.stub().map(|stub| write(&stub, &sections, 0));
    }
});
