//! Any text is a file of leases or an error, never a panic. No expired lease is returned, and one lease per port.
#![no_main]

use std::collections::BTreeSet;

use ichor_core::bringup::leases::parse_leases;
use ichor_values::Moment;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let now = Moment::from_unix(1_769_860_800).expect("in 2026");
    let Ok(leases) = parse_leases(text, now) else { return };
    let mut ports = BTreeSet::new();
    for lease in &leases.leases {
        assert!(lease.ends.is_none_or(|ends| ends > now), "{lease:?}");
        assert!(ports.insert((lease.mac, lease.address.is_ipv6())), "{lease:?}");
    }
    assert!(leases.wrong.iter().all(|wrong| wrong.line > 0 && wrong.line <= text.lines().count()));
});
