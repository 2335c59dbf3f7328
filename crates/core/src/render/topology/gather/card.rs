//! The card of one node.

use super::grouping::DetailLevel;
use super::speaker::speaker;
use super::wires::wires;
use super::{DiagramSources, title};
use crate::cluster::section::{Addressing, Role};
use crate::plan::{NodePlan, Prefixes};
use crate::render::topology::diagram::{Card, Fact, Hub, facts_text};
use ichor_values::Arch;

/// The card of node `nth`.
pub(crate) fn card(sources: &DiagramSources<'_>, nth: usize, hubs: &[Hub], detail: DetailLevel) -> Card {
    let node = &sources.plan.nodes[nth];
    let all = facts(sources, node);
    let drain = node.drain.value;
    let caption = match (drain, detail, node.role) {
        (true, ..) => "drained",
        (_, DetailLevel::Full, role) => title::role(role),
        (_, DetailLevel::Compact, _) if may_hold_vip(sources, node) => "VIP",
        (_, DetailLevel::Compact, _) => "",
    };
    Card {
        name: node.name.to_string(),
        role: node.role,
        caption: caption.to_owned(),
        detail: format!("{}, {}\n{}", node.name, title::role(node.role), facts_text(&all)),
        facts: if detail == DetailLevel::Full { all } else { compact_facts(node) },
        speaker: node.routing.as_ref().and_then(|routing| routing.workload.as_ref()).map(|workload| {
            let mut speaker = speaker(workload);
            speaker.lines.truncate(if detail == DetailLevel::Full { 3 } else { 1 });
            speaker
        }),
        wires: wires(sources, nth, hubs),
        count: 1,
    }
}

fn may_hold_vip(sources: &DiagramSources<'_>, node: &NodePlan) -> bool {
    node.role == Role::Controlplane && sources.plan.cluster.vip.is_some()
}

fn facts(sources: &DiagramSources<'_>, node: &NodePlan) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(routing) = &node.routing {
        facts.extend(node.asn.iter().map(|asn| Fact::new("AS", asn.value.to_string())));
        facts.extend(node.router_id.iter().map(|id| Fact::new("router id", id.value.to_string())));
        facts.push(Fact::new("BGP by", routing.backend.value.to_string()));
    }
    facts.extend(address_facts(node));
    if node.routing.is_some() {
        facts.extend(prefixes("lo", &node.loopback, false));
    }
    for dummy in &node.dummies {
        let label = if dummy.anycast { "anycast" } else { dummy.name.as_str() };
        facts.extend(
            prefixes(label, &dummy.address, false).map(|fact| Fact { accent: dummy.anycast, ..fact }),
        );
    }
    if may_hold_vip(sources, node) {
        facts.extend(sources.plan.cluster.vip.iter().map(|vip| Fact::accent("VIP", vip.value.to_string())));
    }
    for port in &node.ports {
        facts.extend(
            port.mac
                .iter()
                .map(|mac| Fact::new(format!("MAC {}", port.name.as_str()), mac.value.to_string())),
        );
    }
    facts.push(Fact::new("runs on", machine(node)));
    if node.talos.value != sources.plan.cluster.talos {
        facts.push(Fact::accent("Talos", node.talos.value.to_string()));
    }
    facts
}

/// The known addresses of the node at every stage.
fn address_facts(node: &NodePlan) -> Vec<Fact> {
    let mut facts: Vec<_> = prefixes(node.link.value.as_str(), &node.address, true).collect();
    if facts.is_empty() && node.addressing.value != Addressing::Static {
        let address = node.stages.dhcp().map(|address| address.to_string());
        facts.push(Fact::new(
            node.link.value.as_str(),
            address.map_or_else(|| "by DHCP".to_owned(), |address| address + " by DHCP"),
        ));
    }
    if let Some(external) = node.stages.external() {
        facts.push(Fact::new("external", external.to_string()));
    }
    if node.joins_overlay() {
        let address = node.stages.overlay().map(|address| address.to_string());
        facts.push(Fact::new("overlay", address.unwrap_or_else(|| "after joining".to_owned())));
    }
    facts
}

/// Facts for both families, with the label on the first only.
fn prefixes(label: &str, prefixes: &Prefixes, length: bool) -> impl Iterator<Item = Fact> {
    prefixes.iter().enumerate().map(move |(nth, (prefix, _))| {
        let value = if length { prefix.to_string() } else { prefix.addr().to_string() };
        Fact::new(if nth == 0 { label } else { "" }, value)
    })
}

fn machine(node: &NodePlan) -> String {
    let mut words = vec![node.platform.value.to_string()];
    if node.arch.value != Arch::Amd64 {
        words.push(node.arch.value.to_string());
    }
    if let Some(vm) = &node.vm {
        let id = vm.id.as_ref().map_or_else(String::new, |id| format!(" {}", id.value));
        words.push(format!("VM{id}"));
        words.extend(vm.hypervisor.iter().map(|name| format!("on {}", name.value.as_str())));
    }
    words.join(" ")
}

/// The most important facts, for a compact card.
fn compact_facts(node: &NodePlan) -> Vec<Fact> {
    let mut facts = Vec::new();
    if node.routing.is_some() {
        facts.extend(node.asn.iter().map(|asn| Fact::new("AS", asn.value.to_string())));
    }
    facts.extend(address_facts(node).into_iter().map(|fact| match fact.value.split_once('/') {
        Some((address, _)) => Fact::new("", address),
        None => fact,
    }));
    if node.routing.is_some() {
        facts.extend(prefixes("lo", &node.loopback, false).take(1));
    }
    facts
}
