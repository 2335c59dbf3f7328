//! Which nodes share a box.
//!
//! Few nodes have a box each. Many are put together by what they have in common, first by everything that shows in
//! the picture, and with less and less until the boxes are few enough.

use std::collections::BTreeMap;

use super::DiagramSources;
use crate::cluster::section::Role;
use crate::render::topology::scene::WireKind;

/// Up to this many nodes, each box says everything.
const FULL: usize = 8;
/// Up to this many nodes, each has a box.
const COMPACT: usize = 60;
/// No more boxes than this for more nodes.
const STACKS: usize = 24;

/// How much the boxes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetailLevel {
    Full,
    Compact,
}

/// Nodes in one box, by their numbers.
#[derive(Debug)]
pub(crate) struct NodeGroup<'a> {
    pub role: Role,
    pub site: Option<&'a str>,
    pub members: Vec<usize>,
}

/// The boxes, and how much each says.
pub(crate) fn groups<'a>(sources: &DiagramSources<'a>) -> (Vec<NodeGroup<'a>>, DetailLevel) {
    let count = sources.plan.nodes.len();
    if count <= COMPACT {
        let each = (0..count).map(|nth| NodeGroup { members: vec![nth], ..alike(sources, nth) });
        return (each.collect(), if count <= FULL { DetailLevel::Full } else { DetailLevel::Compact });
    }
    let mut groups = (0..GroupingKey::ALL.len()).map(|drop| by(sources, &GroupingKey::ALL[drop..]));
    let found = groups.find(|groups| groups.len() <= STACKS);
    (found.unwrap_or_else(|| by(sources, &[])), DetailLevel::Full)
}

/// What nodes can have in common beside their role, the first to be given up first.
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

fn by<'a>(sources: &DiagramSources<'a>, traits: &[GroupingKey]) -> Vec<NodeGroup<'a>> {
    let mut found: BTreeMap<GroupKey<'a>, Vec<usize>> = BTreeMap::new();
    for nth in 0..sources.plan.nodes.len() {
        found.entry(common(sources, traits, nth)).or_default().push(nth);
    }
    let mut groups: Vec<_> =
        found.into_iter().map(|((role, site, ..), members)| NodeGroup { role, site, members }).collect();
    groups.sort_by_key(|group| group.members[0]);
    groups
}

fn common<'a>(sources: &DiagramSources<'a>, traits: &[GroupingKey], nth: usize) -> GroupKey<'a> {
    let has = |one| traits.contains(&one);
    let NodeGroup { role, site, .. } = alike(sources, nth);
    let groups = sources.plan.nodes[nth].groups.iter().map(|group| group.as_str());
    let links = sources.links[nth].iter().map(|link| (link.hub, link.kind, link.port));
    (
        role,
        site.filter(|_| has(GroupingKey::Site)),
        groups.filter(|_| has(GroupingKey::Groups)).collect(),
        links.filter(|_| has(GroupingKey::Links)).collect(),
    )
}

fn alike<'a>(sources: &DiagramSources<'a>, nth: usize) -> NodeGroup<'a> {
    let node = &sources.plan.nodes[nth];
    NodeGroup { role: node.role, site: node.site.as_ref().map(|site| site.as_str()), members: Vec::new() }
}
