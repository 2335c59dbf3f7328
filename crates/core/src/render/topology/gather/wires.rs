//! The wires of one node, with tooltips.

use super::DiagramSources;
use super::facts::list;
use super::links::HubLink;
use super::stack::ends;
use crate::plan::NodePlan;
use crate::render::topology::diagram::{Hub, Wire, WireKind};

/// The wires of node `nth`: one for all sessions over the same port with the same hub, and one to each merged hub.
pub(crate) fn wires(sources: &DiagramSources<'_>, nth: usize, hubs: &[Hub]) -> Vec<Wire> {
    let mut kept: Vec<(Wire, String)> = Vec::new();
    for wire in sources.links[nth].iter().map(|link| wire(sources, nth, link, hubs)) {
        let port = |port: &str| hubs[wire.hub].count > 1 || port == wire.port;
        let same = |old: &Wire| (old.hub, old.kind) == (wire.hub, wire.kind) && port(&old.port);
        match kept.iter_mut().find(|(old, _)| same(old)) {
            Some((old, last)) => {
                old.detail = format!("{}\n{}", old.detail, wire.detail);
                last.clone_from(&wire.port);
            }
            None => kept.push((wire.clone(), wire.port)),
        }
    }
    kept.into_iter().map(|(wire, last)| Wire { port: ends(Some(wire.port), Some(last)), ..wire }).collect()
}

fn wire(sources: &DiagramSources<'_>, nth: usize, link: &HubLink<'_>, hubs: &[Hub]) -> Wire {
    let node = &sources.plan.nodes[nth];
    let far = sources.cables.nodes.get(&(nth, link.port)).map(|(_, port)| (*port).to_owned());
    let hub = &hubs[link.hub].name;
    let ends = format!("{} {} – {hub} {}", node.name, link.port, far.as_deref().unwrap_or_default());
    let detail = format!("{}\n{}", ends.trim_end(), session(node, link));
    let bfd = link.neighbor.is_some_and(|neighbor| neighbor.bfd.is_some());
    Wire {
        hub: link.hub,
        kind: link.kind,
        port: link.port.to_owned(),
        far,
        bfd,
        detail: detail.trim().to_owned(),
    }
}

fn session(node: &NodePlan, link: &HubLink<'_>) -> String {
    let Some(neighbor) = link.neighbor else { return String::new() };
    let kind = if link.kind == WireKind::Unnumbered { "unnumbered" } else { "numbered" };
    let asn = |asn: Option<String>| asn.unwrap_or_else(|| "any".to_owned());
    let mut words = vec![
        format!("BGP {kind}"),
        format!(
            "AS {} – AS {}",
            asn(node.asn.as_ref().map(|asn| asn.value.to_string())),
            asn(neighbor.asn().map(|asn| asn.to_string()))
        ),
        format!("timers {} s and {} s", neighbor.timers.value.0, neighbor.timers.value.1),
    ];
    words.extend(
        neighbor.bfd.iter().map(|bfd| format!("BFD {} ms × {}", bfd.interval.value, bfd.multiplier.value)),
    );
    words.extend(neighbor.passive.value.then(|| "passive".to_owned()));
    words.extend(neighbor.password.is_some().then(|| "with password".to_owned()));
    list(words)
}
