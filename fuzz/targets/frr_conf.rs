//! Any two texts are configurations of FRR: the one can be made of the other, and nothing has to change where nothing differs.
#![no_main]

use ichor_bgp::reload::{FrrConfig, compare, difference};

libfuzzer_sys::fuzz_target!(|texts: (&str, &str)| {
    let (one, other) = (FrrConfig::parse(texts.0), FrrConfig::parse(texts.1));
    assert!(difference(&one, &one).is_empty(), "nothing differs");
    assert!(compare(&one, &one).is_same(), "nothing differs");
    for change in difference(&one, &other) {
        assert!(change.commands().len() > 2, "a change has commands");
    }
});
