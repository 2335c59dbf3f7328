//! Groups nodes into cards.
//!
//! Few nodes have a card each. Many nodes are grouped by common properties: first by all visible ones, then by fewer until the
//! number of cards is small enough.

use std::collections::BTreeMap;

use super::DiagramSources;
use crate::cluster::section::Role;
use crate::render::topology::diagram::WireKind;

/// Maximum number of nodes with all facts.
const FULL: usize = 8;
/// Maximum number of nodes with a card each.
const COMPACT: usize = 60;
/// Maximum number of cards for more nodes.
const STACKS: usize = 24;

/// Level of detail of the cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetailLevel {
    Full,
    Compact,
}

/// The numbers of the nodes in one card.
#[derive(Debug)]
pub(crate) struct NodeGroup<'a> {
    pub role: Role,
    pub site: Option<&'a str>,
    pub members: Vec<usize>,
}

/// The groups, and the level of detail.
pub(crate) fn groups<'a>(sources: &DiagramSources<'a>) -> (Vec<NodeGroup<'a>>, DetailLevel) {
    let count = sources.plan.nodes.len();
    if count <= COMPACT {
        let each = (0..count).map(|nth| NodeGroup { members: vec![nth], ..role_and_site(sources, nth) });
        return (each.collect(), if count <= FULL { DetailLevel::Full } else { DetailLevel::Compact });
    }
    let mut groups = (0..GroupingKey::ALL.len()).map(|drop| group_by(sources, &GroupingKey::ALL[drop..]));
    let found = groups.find(|groups| groups.len() <= STACKS);
    (found.unwrap_or_else(|| group_by(sources, &[])), DetailLevel::Full)
}

/// Common properties besides the role, in the order in which they are dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupingKey {
    Groups,
    Site,
    Links,
}

impl GroupingKey {
    const ALL: [Self; 3] = [Self::Groups, Self::Site, Self::Links];
}

type GroupKey<'a> = (Role, Option<&'a str>, Vec<&'a str>, Vec<(usize, WireKind, &'a str)>);

fn group_by<'a>(sources: &DiagramSources<'a>, traits: &[GroupingKey]) -> Vec<NodeGroup<'a>> {
    let mut found: BTreeMap<GroupKey<'a>, Vec<usize>> = BTreeMap::new();
    for nth in 0..sources.plan.nodes.len() {
        found.entry(group_key(sources, traits, nth)).or_default().push(nth);
    }
    let mut groups: Vec<_> =
        found.into_iter().map(|((role, site, ..), members)| NodeGroup { role, site, members }).collect();
    groups.sort_by_key(|group| group.members[0]);
    groups
}

fn group_key<'a>(sources: &DiagramSources<'a>, traits: &[GroupingKey], nth: usize) -> GroupKey<'a> {
    let has = |one| traits.contains(&one);
    let NodeGroup { role, site, .. } = role_and_site(sources, nth);
    let groups = sources.plan.nodes[nth].groups.iter().map(|group| group.as_str());
    let links = sources.links[nth].iter().map(|link| (link.hub, link.kind, link.port));
    (
        role,
        site.filter(|_| has(GroupingKey::Site)),
        groups.filter(|_| has(GroupingKey::Groups)).collect(),
        links.filter(|_| has(GroupingKey::Links)).collect(),
    )
}

fn role_and_site<'a>(sources: &DiagramSources<'a>, nth: usize) -> NodeGroup<'a> {
    let node = &sources.plan.nodes[nth];
    NodeGroup { role: node.role, site: node.site.as_ref().map(|site| site.as_str()), members: Vec::new() }
}
