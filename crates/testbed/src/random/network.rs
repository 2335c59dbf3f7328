//! Addresses of any kind, in either family or both.

use proptest::option;
use proptest::prelude::*;

use super::{families, map, quoted, some};

pub fn network(id: u32) -> BoxedStrategy<String> {
    let node = prop_oneof![
        Just("null".to_owned()),
        families(format!("10.{id}.0.0/24"), format!("fd00:{id}::/64")),
        Just(format!("{{v4: 10.{id}.0.0/24, addressing: dhcp-then-static}}")),
    ];
    let loopback = families(format!("10.{id}.254.0/24"), format!("fd00:{id}:fe::/64"));
    let dummy = families(format!("10.{id}.1.0/24"), format!("fd00:{id}:d::/64"));
    let dummy = option::of(dummy.prop_map(|dummy| format!("{{dummy0: {dummy}}}")));
    let anycast = vec![format!("10.{id}.2.100/32"), quoted(format!("fd00:{id}:a::100/128"))];
    let anycast = option::of(some(anycast, 1).prop_map(|anycast| format!("{{anycast: {anycast}}}")));
    // One of them lies within the node prefix.
    let pools = vec![format!("10.{id}.0.192/26"), "198.51.100.0/24".to_owned(), quoted("2001:db8:5::/112")];
    let pools = option::of(some(pools, 1).prop_map(|pools| format!("{{pools: {{default: {pools}}}}}")));
    (node, loopback, dummy, anycast, pools)
        .prop_map(|(node, loopback, dummy, anycast, pools)| {
            map([
                ("node", Some(node)),
                ("loopback", Some(loopback)),
                ("dummy", dummy),
                ("api", anycast),
                ("services", pools),
            ])
        })
        .boxed()
}
