//! Any text is a duty or none, and one that is can be looked at and rendered on any node; never a panic.
#![no_main]

use std::collections::BTreeSet;

use ichor_bgp::agent::desired_state::{Conditions, DesiredState};
use ichor_bgp::agent::{AgentConfig, Link};

/// A link with an address.
fn link(index: u32, name: &str, net: &str) -> Link {
    let addresses = vec![net.parse().expect("a net")];
    Link {
        index,
        name: name.to_owned(),
        loopback: name == "lo",
        up: true,
        mtu: 1500,
        addresses,
        ..Link::default()
    }
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(parsed) = AgentConfig::parse(text) else { return };
    let duty = parsed.config;
    let links = [link(1, "lo", "10.0.0.1/32"), link(2, "eth0", "192.0.2.1/24")];
    let advertised = BTreeSet::from(["eth0".to_owned()]);
    for there in [true, false] {
        let links = if there { &links[..] } else { &[] };
        let now = Conditions { links, advertised: &advertised, vrf: there, healthy: there, leaving: !there };
        let Ok(scene) = DesiredState::new(&duty, now) else { continue };
        let _ = scene.render(&duty, None);
        let _ = scene.without_load_balancer().render(&duty, None);
    }
});
