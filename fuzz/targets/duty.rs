//! Any text is a duty or none, and one that is can be looked at and rendered on any node; never a panic.
#![no_main]

use std::collections::BTreeSet;

use ichor_core::agent::Link;
use ichor_core::agent::duty::Duty;
use ichor_core::agent::scene::{Conditions, Scene};

/// A node with a port, as `ichor-agent render --json` describes it.
const LINKS: &str = include_str!("../seeds/links.json");

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(duty) = Duty::parse(text) else { return };
    let links: Vec<Link> = serde_json::from_str(LINKS).expect("links");
    let advertised: BTreeSet<String> = links.iter().map(|link| link.name.clone()).collect();
    for there in [true, false] {
        let links = if there { &links[..] } else { &[] };
        let now = Conditions { links, advertised: &advertised, vrf: there, healthy: there, leaving: !there };
        let Ok(scene) = Scene::of(&duty, now) else { continue };
        let _ = scene.render(&duty, None);
        let _ = scene.without_speaker().render(&duty, None);
    }
});
