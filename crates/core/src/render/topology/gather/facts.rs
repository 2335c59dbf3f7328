//! The hubs and their facts.

use super::hubs::{SharedNetwork, kind};
use crate::plan::{RouterPlan, TailscalePlan};
use crate::render::topology::diagram::{Fact, Hub, HubKind};

/// Joins values with commas.
pub fn list<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(", ")
}

/// The hub of a router in the file.
pub(crate) fn router_hub(router: &RouterPlan) -> Hub {
    let mut facts = Vec::new();
    let mut fact = |label: &str, value: String| {
        if !value.is_empty() {
            facts.push(Fact::new(label, value));
        }
    };
    fact("AS", list(router.asn.iter().map(|asn| asn.value)));
    fact("address", list(router.addresses.iter().map(|address| address.value)));
    fact("VRF", list(router.vrf.iter().map(|vrf| &vrf.value)));
    fact("listens", list(router.listen.iter().map(|listen| &listen.value)));
    let software = Some(&router.software).filter(|software| software.is_written());
    let software = software.map(|software| software.value.to_string());
    let version = router.version.as_ref().map(|version| version.value.to_string());
    fact("runs", software.into_iter().chain(version).collect::<Vec<_>>().join(" "));
    Hub { kind: kind(Some(router.role.value)), name: list(&router.name), facts, count: 1 }
}

/// The hub of a shared network.
pub(crate) fn network_hub(network: &SharedNetwork) -> Hub {
    let prefixes: Vec<_> = network
        .v4
        .iter()
        .map(ToString::to_string)
        .chain(network.v6.iter().map(ToString::to_string))
        .collect();
    let name = match (prefixes.is_empty(), network.dhcp) {
        (false, _) => prefixes.join(", "),
        (true, true) => "network with DHCP".to_owned(),
        (true, false) => "network".to_owned(),
    };
    let mut facts = Vec::new();
    if network.gateway.iter().any(Option::is_some) {
        facts.push(Fact::new("gateway", list(network.gateway.iter().flatten())));
    }
    if network.dhcp && !prefixes.is_empty() {
        facts.push(Fact::new("addresses", "by DHCP"));
    }
    Hub { kind: HubKind::Network, name, facts, count: 1 }
}

/// The hub of an overlay.
pub(crate) fn overlay_hub(tailscale: &TailscalePlan, prefix: Option<String>) -> Hub {
    let mut facts = Vec::new();
    facts.extend(prefix.map(|prefix| Fact::new("prefix", prefix)));
    facts.extend(tailscale.server.iter().map(|server| Fact::new("server", server.value.to_string())));
    let tags = list(tailscale.tags.iter().flat_map(|tags| tags.value.values()));
    if !tags.is_empty() {
        facts.push(Fact::new("tags", tags));
    }
    let name = if tailscale.server.is_some() { "Headscale overlay" } else { "Tailscale overlay" };
    Hub { kind: HubKind::Overlay, name: name.to_owned(), facts, count: 1 }
}
