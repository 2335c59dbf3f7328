//! Any text is either META values or an error, never a panic; values come back as they were encoded. The same for a partition.
#![no_main]

use ichor_talos::digest;
use ichor_talos::{meta, meta_partition as adv, platform_network};
use ichor_values::TalosVersion;

/// A META partition with these records, whose sum is right.
fn partition(records: &[u8]) -> Vec<u8> {
    let mut copy = 0x5a4b_3c2d_u32.to_be_bytes().to_vec();
    copy.extend(records);
    copy.resize(adv::LENGTH / 2 - 4, 0);
    copy.extend(0xa5b4_c3d2_u32.to_be_bytes());
    let end = copy.len() - 4;
    copy[end - 32..end].fill(0);
    let sum = digest::sha256(&copy);
    for (nth, place) in (end - 32..end).enumerate() {
        copy[place] = u8::from_str_radix(&sum[2 * nth..2 * nth + 2], 16).expect("two digits");
    }
    copy.extend(copy.clone());
    copy
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = adv::read(&partition(text.as_bytes()));
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
