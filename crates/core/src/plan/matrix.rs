//! What every backend can do, side by side.
//!
//! A cell is not written down: a small cluster that asks for just that one thing is planned, and [`backend`](super::backend) says
//! what is lacking. So the table cannot say anything else than `check` does.

use super::plan;
use crate::cluster::{FileError, Files, load};
use crate::model;
use ichor_bgp::setting::Carrier;
use ichor_values::Backend;

/// A backend as it can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Who speaks BGP.
    pub backend: Backend,
    /// What brings it; none for the native backend.
    pub carrier: Option<Carrier>,
    /// The release, where it makes a difference.
    pub version: Option<&'static str>,
}

/// Every way, on the newest Talos release that is known.
pub const WAYS: [Way; 7] = [
    Way { backend: Backend::Native, carrier: None, version: None },
    Way { backend: Backend::Frr, carrier: Some(Carrier::Ichor), version: Some("8.4") },
    Way { backend: Backend::Frr, carrier: Some(Carrier::Ichor), version: Some("10.5") },
    Way { backend: Backend::Bird, carrier: Some(Carrier::Ichor), version: None },
    Way { backend: Backend::Bird, carrier: Some(Carrier::Official), version: None },
    Way { backend: Backend::Gobgp, carrier: Some(Carrier::Ichor), version: Some("3.36") },
    Way { backend: Backend::Gobgp, carrier: Some(Carrier::Ichor), version: Some("4.8") },
];

/// Something a file can ask for.
struct Feature {
    name: &'static str,
    /// Keys of `routing` that ask for it.
    routing: &'static str,
}

const FEATURES: [Feature; 20] = [
    Feature { name: "sessions without addresses", routing: "neighbors: [{link: eth0, bfd: false}]" },
    Feature { name: "sessions by IPv4 address", routing: "neighbors: [{router: plain}]" },
    Feature { name: "sessions by IPv6 address", routing: "neighbors: [{router: six}]" },
    Feature {
        name: "two leafs, never transit",
        routing: "neighbors: [{router: plain}, {address: 10.1.0.253, asn: 65002}]",
    },
    Feature { name: "session passwords", routing: "neighbors: [{router: plain, password: {env: PW}}]" },
    Feature { name: "BFD", routing: "neighbors: [{router: plain, bfd: true}]" },
    Feature { name: "BFD against a listen range", routing: "neighbors: [{router: range, bfd: true}]" },
    Feature { name: "graceful restart", routing: "graceful_restart: {time: 30}" },
    Feature { name: "filter on what comes in", routing: "policy: {in: {allow: [10.0.0.0/8]}}" },
    Feature { name: "prefix limit", routing: "policy: {in: {max_prefixes: 1000}}" },
    Feature { name: "local preference", routing: "policy: {in: {local_preference: 200}}" },
    Feature { name: "communities", routing: "policy: {out: {communities: [65000:1]}}" },
    Feature { name: "prepending", routing: "policy: {out: {prepend: 1}}" },
    Feature { name: "aggregates", routing: "aggregates: [10.1.254.0/24]" },
    Feature { name: "speaker in a VRF", routing: "workload: {speaker: metallb, isolation: vrf}" },
    Feature { name: "speaker by a namespace", routing: "workload: {speaker: metallb, isolation: netns}" },
    Feature { name: "speaker without isolation", routing: "workload: {speaker: cilium, isolation: none}" },
    Feature { name: "BFD with the speaker", routing: "workload: {speaker: metallb, bfd: true}" },
    Feature { name: "status of the agent", routing: "agent: {status: {listen: \"node:9179\"}}" },
    Feature { name: HEALTH, routing: "" },
];

const HEALTH: &str = "anycast that follows health";

/// One row: what is asked for, and for each of [`WAYS`] why it cannot be done, if it cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What is asked for.
    pub feature: &'static str,
    /// The reasons.
    pub lacks: Vec<Option<&'static str>>,
}

/// All rows.
pub fn matrix() -> Vec<Row> {
    let lacks = |feature: &Feature| WAYS.iter().map(|way| lack(feature, way)).collect();
    FEATURES.iter().map(|feature| Row { feature: feature.name, lacks: lacks(feature) }).collect()
}

/// Why a way cannot do it.
fn lack(feature: &Feature, way: &Way) -> Option<&'static str> {
    let loaded = load("ichor.yaml", &mut Text(text(feature, way)));
    let cluster = model::validate(loaded.file, loaded.problems).expect("the texts above are understood");
    let plan = plan(&cluster);
    let lacks = &plan.nodes.first()?.routing.as_ref()?.lacks;
    lacks.first().map(|lack| lack.why)
}

fn text(feature: &Feature, way: &Way) -> String {
    let mut routing = format!("backend: {}", way.backend);
    if let Some(carrier) = way.carrier {
        routing += &format!(", carrier: {carrier}");
    }
    if let Some(version) = way.version {
        routing += &format!(", version: {version}");
    }
    if !feature.routing.is_empty() {
        routing += &format!(", {}", feature.routing);
    }
    let health = if feature.name == HEALTH { ", health: \"https://127.0.0.1:6443/readyz\"" } else { "" };
    format!(
        "cluster: {{name: a, id: 1, talos: v1.14.0}}\n\
         network: {{api: {{anycast: [10.1.0.100/32]{health}}}, services: {{pools: {{all: [198.51.100.0/24]}}}}}}\n\
         fabric: {{routers: [{{name: plain, asn: 65001, addresses: [10.1.0.254]}},\
         {{name: six, asn: 65001, addresses: [\"fd00:1::fffe\"]}},\
         {{name: range, asn: 65001, addresses: [10.1.0.252], listen: 10.1.0.0/24}}]}}\n\
         routing: {{{routing}}}\n\
         nodes: [{{name: a, role: controlplane, index: 1}}]\n"
    )
}

/// A cluster file that is no file.
struct Text(String);

impl Files for Text {
    fn read(&mut self, _: &str) -> Result<Vec<u8>, FileError> {
        Ok(self.0.clone().into_bytes())
    }

    fn find(&mut self, _: &str) -> Result<Vec<String>, FileError> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(feature: &str) -> Vec<bool> {
        let matrix = matrix();
        let row = matrix.iter().find(|row| row.feature == feature).unwrap();
        row.lacks.iter().map(Option::is_none).collect()
    }

    #[test]
    fn every_way_has_sessions_by_address() {
        assert_eq!(row("sessions by IPv4 address"), [true; 7]);
        assert_eq!(row("sessions by IPv6 address"), [false, true, true, true, true, true, true]);
    }

    #[test]
    fn what_one_way_alone_can_or_cannot_do_is_told_apart() {
        assert_eq!(row("session passwords"), [false, true, true, true, true, true, true]);
        assert_eq!(row("sessions without addresses"), [true, true, true, true, true, false, true]);
        assert_eq!(row("two leafs, never transit"), [false, true, true, true, true, true, true]);
        assert_eq!(row("speaker in a VRF"), [true, true, true, true, true, false, false]);
        assert_eq!(row("speaker by a namespace"), [false, true, true, false, false, false, false]);
        assert_eq!(row("speaker without isolation"), [false, true, false, true, true, true, true]);
        assert_eq!(row("aggregates"), [false, true, true, false, false, false, false]);
        assert_eq!(row("graceful restart"), [false, true, true, true, false, true, true]);
        assert_eq!(row("anycast that follows health"), [false, true, true, true, false, true, true]);
    }
}
