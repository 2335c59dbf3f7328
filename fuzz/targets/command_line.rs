//! Any text is a kernel command line that a machine does something with, never a panic.
#![no_main]

use std::collections::BTreeMap;

use ichor_image::inspect::{BootMedia, TargetMachine, inspect};
use ichor_talos::config_url;
use ichor_values::TalosVersion;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let talos = TalosVersion::parse("v1.13.9").expect("a release");
    let machine = TargetMachine { talos, links: Vec::new() };
    let inspection =
        inspect(&BootMedia::of_command_line(text), &machine).expect("a command line is something to look at");
    assert!(inspection.network.is_none() || inspection.error.is_none(), "a network or an error");
    let _ = inspection.hostname();
    let known = BTreeMap::from([("uuid".to_owned(), "$1${mac}".to_owned())]);
    if let Ok(expanded) = config_url::expand(text, &known) {
        assert!(config_url::expand(&expanded.url, &known).is_ok(), "a URL stays one");
    }
});
