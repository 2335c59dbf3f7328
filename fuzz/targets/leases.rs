//! Any text is a file of leases or is none, never a panic; no lease that is over is told, and none twice for a port.
#![no_main]

use std::collections::BTreeSet;

use ichor_core::bringup::leases::parse_leases;
use ichor_values::Moment;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let now = Moment::from_unix(1_769_860_800).expect("in 2026");
    let Ok(told) = parse_leases(text, now) else { return };
    let mut ports = BTreeSet::new();
    for lease in &told.leases {
        assert!(lease.ends.is_none_or(|ends| ends > now), "{lease:?}");
        assert!(ports.insert((lease.mac, lease.address.is_ipv6())), "{lease:?}");
    }
    assert!(told.wrong.iter().all(|wrong| wrong.line > 0 && wrong.line <= text.lines().count()));
});
