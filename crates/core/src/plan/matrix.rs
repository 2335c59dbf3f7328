//! Comparison of the features of all backends.
//!
//! The cells are computed: a small cluster with one feature is planned, and [`backend`](super::backend) returns its
//! limitations. The table therefore always agrees with `check`.

use super::plan;
use crate::cluster::{FileError, Files, load};
use crate::model;
use ichor_bgp::setting::Carrier;
use ichor_values::Backend;

/// A backend, its carrier and release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendVariant {
    /// The backend.
    pub backend: Backend,
    /// Provider of its extension; none for the native backend.
    pub carrier: Option<Carrier>,
    /// The release, if it makes a difference.
    pub version: Option<&'static str>,
}

/// Every variant, on the newest known Talos release.
pub const VARIANTS: [BackendVariant; 7] = [
    BackendVariant { backend: Backend::Native, carrier: None, version: None },
    BackendVariant { backend: Backend::Frr, carrier: Some(Carrier::Ichor), version: Some("8.4") },
    BackendVariant { backend: Backend::Frr, carrier: Some(Carrier::Ichor), version: Some("10.5") },
    BackendVariant { backend: Backend::Bird, carrier: Some(Carrier::Ichor), version: None },
    BackendVariant { backend: Backend::Bird, carrier: Some(Carrier::Official), version: None },
    BackendVariant { backend: Backend::Gobgp, carrier: Some(Carrier::Ichor), version: Some("3.36") },
    BackendVariant { backend: Backend::Gobgp, carrier: Some(Carrier::Ichor), version: Some("4.8") },
];

/// A feature of the cluster file.
struct Feature {
    name: &'static str,
    /// Keys of `routing` that request it.
    routing: &'static str,
}

const FEATURES: [Feature; 20] = [
    Feature { name: "unnumbered sessions", routing: "neighbors: [{link: eth0, bfd: false}]" },
    Feature { name: "sessions by IPv4 address", routing: "neighbors: [{router: plain}]" },
    Feature { name: "sessions by IPv6 address", routing: "neighbors: [{router: six}]" },
    Feature {
        name: "two leafs without transit",
        routing: "neighbors: [{router: plain}, {address: 10.1.0.253, asn: 65002}]",
    },
    Feature { name: "session passwords", routing: "neighbors: [{router: plain, password: {env: PW}}]" },
    Feature { name: "BFD", routing: "neighbors: [{router: plain, bfd: true}]" },
    Feature { name: "BFD against a listen range", routing: "neighbors: [{router: range, bfd: true}]" },
    Feature { name: "graceful restart", routing: "graceful_restart: {time: 30}" },
    Feature { name: "import filter", routing: "policy: {in: {allow: [10.0.0.0/8]}}" },
    Feature { name: "prefix limit", routing: "policy: {in: {max_prefixes: 1000}}" },
    Feature { name: "local preference", routing: "policy: {in: {local_preference: 200}}" },
    Feature { name: "communities", routing: "policy: {out: {communities: [65000:1]}}" },
    Feature { name: "AS-path prepending", routing: "policy: {out: {prepend: 1}}" },
    Feature { name: "aggregates", routing: "aggregates: [10.1.254.0/24]" },
    Feature { name: "speaker in a VRF", routing: "workload: {speaker: metallb, isolation: vrf}" },
    Feature {
        name: "speaker in a network namespace",
        routing: "workload: {speaker: metallb, isolation: netns}",
    },
    Feature { name: "speaker without isolation", routing: "workload: {speaker: cilium, isolation: none}" },
    Feature { name: "BFD with the speaker", routing: "workload: {speaker: metallb, bfd: true}" },
    Feature { name: "agent status", routing: "agent: {status: {listen: \"node:9179\"}}" },
    Feature { name: HEALTH, routing: "" },
];

const HEALTH: &str = "anycast that depends on health";

/// The support of one feature by each of [`VARIANTS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureSupport {
    /// The feature.
    pub feature: &'static str,
    /// Why a variant does not support it, if it does not.
    pub limitations: Vec<Option<&'static str>>,
}

/// The support of all features.
pub fn matrix() -> Vec<FeatureSupport> {
    let reasons =
        |feature: &Feature| VARIANTS.iter().map(|variant| unsupported_reason(feature, variant)).collect();
    FEATURES
        .iter()
        .map(|feature| FeatureSupport { feature: feature.name, limitations: reasons(feature) })
        .collect()
}

/// Why a variant does not support a feature.
fn unsupported_reason(feature: &Feature, variant: &BackendVariant) -> Option<&'static str> {
    let loaded = load("ichor.yaml", &mut InlineFile(cluster_text(feature, variant)));
    let cluster = model::validate(loaded.file, loaded.problems).expect("the texts above are understood");
    let plan = plan(&cluster);
    let reasons = &plan.nodes.first()?.routing.as_ref()?.limitations;
    reasons.first().map(|lack| lack.why)
}

fn cluster_text(feature: &Feature, variant: &BackendVariant) -> String {
    let mut routing = format!("backend: {}", variant.backend);
    if let Some(carrier) = variant.carrier {
        routing += &format!(", carrier: {carrier}");
    }
    if let Some(version) = variant.version {
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

/// A cluster file in memory.
struct InlineFile(String);

impl Files for InlineFile {
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
        row.limitations.iter().map(Option::is_none).collect()
    }

    #[test]
    fn every_variant_supports_sessions_by_ipv4_address() {
        assert_eq!(row("sessions by IPv4 address"), [true; 7]);
        assert_eq!(row("sessions by IPv6 address"), [false, true, true, true, true, true, true]);
    }

    #[test]
    fn the_limitations_of_each_variant_are_listed() {
        assert_eq!(row("session passwords"), [false, true, true, true, true, true, true]);
        assert_eq!(row("unnumbered sessions"), [true, true, true, true, true, false, true]);
        assert_eq!(row("two leafs without transit"), [false, true, true, true, true, true, true]);
        assert_eq!(row("speaker in a VRF"), [true, true, true, true, true, false, false]);
        assert_eq!(row("speaker in a network namespace"), [false, true, true, false, false, false, false]);
        assert_eq!(row("speaker without isolation"), [false, true, false, true, true, true, true]);
        assert_eq!(row("aggregates"), [false, true, true, false, false, false, false]);
        assert_eq!(row("graceful restart"), [false, true, true, true, false, true, true]);
        assert_eq!(row("anycast that depends on health"), [false, true, true, true, false, true, true]);
    }
}
