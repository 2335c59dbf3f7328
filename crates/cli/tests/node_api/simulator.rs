//! The simulator answers as real nodes do.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use ichor_simulator::fleet::{Delays, Fleet, Hardware, Machine};
use ichor_simulator::serve::{self, NetworkClaim, SimulatorFolder};
use ichor_talos::api::PORT;
use ichor_talos::secrets::Bundle;
use ichor_values::{Mac, TalosVersion};
use regex::Regex;
use serde_json::Value;

use super::answers::{Release, differences};
use super::session::Session;
use super::{RELEASES, cluster, configuration};
use crate::common::root;

/// The differences that remain: the pattern of a line of [`differences`], and the words of the table in the reference.
const ALLOWED: [(&str, &str); 6] = [
    ("^. /answers/list [A-Za-z]+/encoded = ", "resources in YAML only"),
    (
        "^. /answers/list (Disks|LinkStatuses|SystemInformations)/specs/",
        "with the attributes that ichor reads",
    ),
    (
        "^. /answers/dry run of [^/]+/error = ",
        "errors of an invalid configuration in the words of `ichor check`",
    ),
    ("^. /answers/dry run, mode [a-z-]+/messages/0/messages/0/mode_details = ", "a dry run shows no changes"),
    ("^. /answers/etcd (members|status|alarms)/", "calls for an etcd that does not run fail"),
    ("^. /answers/events/kinds/", "events of sequences and stages only"),
];

const SHORT: Duration = Duration::from_millis(20);
const LIMIT: Duration = Duration::from_secs(30);

/// Records the simulator in maintenance mode and configured.
async fn simulated(release: &Release) -> [Value; 2] {
    let claim = NetworkClaim::claim(None).unwrap();
    let place = |last| IpAddr::from(Ipv4Addr::new(127, claim.id, 0, last));
    let at = |last| SocketAddr::new(place(last), PORT);
    let (waiting, configured) = (at(101), at(1));
    let desk = cluster(release.version, &format!("{{v4: 127.{}.0.0/24, v6: null}}", claim.id));
    let mut hardware = Hardware::new("n1", vec![Mac([0x52, 0x54, 0, 0x12, 0, 1])], vec![place(101)]);
    (hardware.image, hardware.has_medium) = (true, true);
    let machine = Machine::new(hardware, TalosVersion::parse(release.version).unwrap());
    let delays = Delays { boot: SHORT, install: SHORT, start: SHORT };
    let fleet = Fleet::new(vec![machine], delays, ichor_system::now());
    let site = SimulatorFolder::new(desk.path());
    site.make().unwrap();
    // Until the test ends, and its runtime with it.
    tokio::spawn(async move {
        let _claim = claim;
        serve::run(fleet, &site, true, || {}).await.unwrap();
    });
    let read = |path: &str| fs::read_to_string(desk.path().join(path)).unwrap();
    let valid = configuration(&desk);
    let bundle = Bundle::read(&read("talosctl.yaml")).unwrap();
    let session = Session { release, bundle, valid: &valid, silence: Duration::from_millis(300) };
    session.wait_for_maintenance(waiting, LIMIT).await;
    let maintenance = session.in_maintenance(waiting).await;
    session.configure(waiting, configured, LIMIT).await;
    let running = session.when_configured(configured).await;
    [maintenance, running]
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_those_of_real_nodes() {
    let mut unexpected = Vec::new();
    let patterns = ALLOWED.map(|(pattern, _)| Regex::new(pattern).unwrap());
    let mut seen = [false; ALLOWED.len()];
    for release in &RELEASES {
        for (state, found) in ["maintenance", "configured"].into_iter().zip(simulated(release).await) {
            for line in differences(&release.recorded(state), &found) {
                if line[2..].starts_with("/fields that ichor does not read") {
                    continue; // The simulator sends no others.
                }
                let allowed = patterns.iter().position(|pattern| pattern.is_match(&line));
                match allowed {
                    Some(nth) => seen[nth] = true,
                    None => unexpected.push(format!("{} {state}: {line}", release.version)),
                }
            }
        }
    }
    assert!(unexpected.is_empty(), "- real, + simulated\n{}", unexpected.join("\n"));
    let reference = fs::read_to_string(root().join("docs/reference/node-simulator.md")).unwrap();
    for ((pattern, words), seen) in ALLOWED.iter().zip(seen) {
        assert!(seen, "{pattern} is no difference any more");
        assert!(reference.contains(words), "docs/reference/node-simulator.md does not have: {words}");
    }
}
