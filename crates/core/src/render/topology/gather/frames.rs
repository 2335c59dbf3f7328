//! Groups cards into frames by site, or by role if there are no sites.

use std::collections::BTreeMap;

use super::facts::list;
use super::grouping::{self, NodeGroup};
use super::{DiagramSources, card, stack, title};
use crate::cluster::section::Role;
use crate::render::topology::diagram::{Card, Frame, Hub};

/// The frames, those with a control plane first.
pub(crate) fn frames(sources: &DiagramSources<'_>, hubs: &[Hub]) -> Vec<Frame> {
    let (groups, detail) = grouping::groups(sources);
    let by_site = groups.iter().any(|group| group.site.is_some());
    let mut framed: BTreeMap<Option<&str>, Vec<&NodeGroup<'_>>> = BTreeMap::new();
    for group in &groups {
        let key = if by_site { group.site } else { Some(title::role(group.role)) };
        framed.entry(key).or_default().push(group);
    }
    let mut framed: Vec<_> = framed.into_iter().collect();
    framed.sort_by_key(|(_, groups)| groups.iter().map(|group| group.role).min());
    let card = |group: &NodeGroup<'_>| match group.members.as_slice() {
        [one] => card::card(sources, *one, hubs, detail),
        _ => stack::stack(sources, group, hubs),
    };
    let frame = |(name, mut groups): (Option<&str>, Vec<&NodeGroup<'_>>)| {
        groups.sort_by_key(|group| group.role);
        let cards: Vec<_> = groups.into_iter().map(card).collect();
        if by_site { site(sources, name, cards) } else { role(sources, cards) }
    };
    framed.into_iter().map(frame).collect()
}

fn site(sources: &DiagramSources<'_>, name: Option<&str>, cards: Vec<Card>) -> Frame {
    let label = name.map_or_else(|| "without a site".to_owned(), |name| format!("site {name}"));
    let relay = name.and_then(|name| sources.plan.cluster.relays.get(name));
    let note = relay.map_or_else(String::new, |relay| format!("relay {}", relay.value));
    Frame { label, shared: shared(sources, &cards), note, cards }
}

fn role(sources: &DiagramSources<'_>, cards: Vec<Card>) -> Frame {
    let label = if has_control_plane(&cards) { "control plane" } else { "workers" };
    Frame { label: label.to_owned(), shared: shared(sources, &cards), note: String::new(), cards }
}

fn has_control_plane(cards: &[Card]) -> bool {
    cards.iter().any(|card| card.role == Role::Controlplane)
}

/// The shared addresses of the control planes.
fn shared(sources: &DiagramSources<'_>, cards: &[Card]) -> String {
    if !has_control_plane(cards) {
        return String::new();
    }
    let plan = &sources.plan.cluster;
    let vip = plan.vip.iter().map(|vip| format!("VIP {}", vip.value));
    let anycast = list(plan.anycast.iter().map(|anycast| anycast.value));
    let anycast = (!anycast.is_empty()).then(|| format!("anycast {anycast}"));
    list(vip.chain(anycast))
}
