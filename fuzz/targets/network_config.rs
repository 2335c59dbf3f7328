//! Any files of a nocloud volume are a network or an error, never a panic.
#![no_main]

use ichor_talos::nocloud;
use ichor_talos::nocloud::{Files, Link, UserData};
use ichor_values::{Mac, TalosVersion};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let links = [Link { name: "eth0".to_owned(), mac: Mac([0x52, 0x54, 0, 0, 1, 0x0b]) }];
    let files = Files { meta_data: Some(bytes), network_config: Some(bytes), user_data: Some(bytes) };
    for release in ["v1.11.5", "v1.14.0"] {
        let talos = TalosVersion::parse(release).expect("a release");
        if let Ok(network) = nocloud::network(files, &links, &talos) {
            assert!(network.expect("there is a network-config").config.is_object());
        }
    }
    let _ = UserData::parse(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = nocloud::passed_over(text);
    }
});
