//! Any text is either a secrets bundle or has problems, never a panic; what is written reads the same.
#![no_main]

use ichor_talos::secrets::{Bundle, from_config};
use ichor_values::Moment;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = from_config(text);
    match Bundle::read(text) {
        Ok(bundle) => {
            let _ = bundle.warnings(Moment::from_unix(1_800_000_000).expect("in 2027"));
            assert_eq!(Bundle::read(&bundle.write()), Ok(bundle));
        }
        Err(problems) => assert!(!problems.0.is_empty()),
    }
});
