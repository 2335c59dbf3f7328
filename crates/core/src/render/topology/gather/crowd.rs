//! Which nodes share a box.
//!
//! Few nodes have a box each. Many are put together by what they have in common, first by everything that shows in
//! the picture, and with less and less until the boxes are few enough.

use std::collections::BTreeMap;

use super::Sources;
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
pub enum Detail {
    Full,
    Compact,
}

/// Nodes in one box, by their numbers.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    pub role: Role,
    pub site: Option<&'a str>,
    pub members: Vec<usize>,
}

/// The boxes, and how much each says.
pub(crate) fn groups<'a>(sources: &Sources<'a>) -> (Vec<Group<'a>>, Detail) {
    let count = sources.plan.nodes.len();
    if count <= COMPACT {
        let each = (0..count).map(|nth| Group { members: vec![nth], ..alike(sources, nth) });
        return (each.collect(), if count <= FULL { Detail::Full } else { Detail::Compact });
    }
    let mut groups = (0..Trait::ALL.len()).map(|drop| by(sources, &Trait::ALL[drop..]));
    let found = groups.find(|groups| groups.len() <= STACKS);
    (found.unwrap_or_else(|| by(sources, &[])), Detail::Full)
}

/// What nodes can have in common beside their role, the first to be given up first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trait {
    Groups,
    Site,
    Links,
}

impl Trait {
    const ALL: [Self; 3] = [Self::Groups, Self::Site, Self::Links];
}

type Common<'a> = (Role, Option<&'a str>, Vec<&'a str>, Vec<(usize, WireKind, &'a str)>);

fn by<'a>(sources: &Sources<'a>, traits: &[Trait]) -> Vec<Group<'a>> {
    let mut found: BTreeMap<Common<'a>, Vec<usize>> = BTreeMap::new();
    for nth in 0..sources.plan.nodes.len() {
        found.entry(common(sources, traits, nth)).or_default().push(nth);
    }
    let mut groups: Vec<_> =
        found.into_iter().map(|((role, site, ..), members)| Group { role, site, members }).collect();
    groups.sort_by_key(|group| group.members[0]);
    groups
}

fn common<'a>(sources: &Sources<'a>, traits: &[Trait], nth: usize) -> Common<'a> {
    let has = |one| traits.contains(&one);
    let Group { role, site, .. } = alike(sources, nth);
    let groups = sources.plan.nodes[nth].groups.iter().map(|group| group.as_str());
    let links = sources.links[nth].iter().map(|link| (link.hub, link.kind, link.port));
    (
        role,
        site.filter(|_| has(Trait::Site)),
        groups.filter(|_| has(Trait::Groups)).collect(),
        links.filter(|_| has(Trait::Links)).collect(),
    )
}

fn alike<'a>(sources: &Sources<'a>, nth: usize) -> Group<'a> {
    let node = &sources.plan.nodes[nth];
    Group { role: node.role, site: node.site.as_ref().map(|site| site.as_str()), members: Vec::new() }
}
