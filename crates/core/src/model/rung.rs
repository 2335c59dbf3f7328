//! The rungs of the ladder: whose each is, what its keys are called, and which nodes it holds for.
//!
//! [`all`] walks them from the lowest up, [`below_nodes`] leaves out the nodes' own. [`find`] and [`path`] look from a
//! node downward, for the rung it has a setting from; [`around`] goes by the place alone.

use crate::cluster::section::{Network, Node, Role, Rung, Site};
use crate::model::{self, Cluster};
use ichor_values::Place;
use ichor_values::Word;
use ichor_values::key::At;

/// A rung and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct Step<'c> {
    whose: Whose<'c>,
    /// What it says.
    pub(crate) rung: &'c Rung,
    /// Where it begins; the lowest has no beginning.
    place: Option<Place>,
}

#[derive(Clone, Copy, Debug)]
enum Whose<'c> {
    File,
    Defaults,
    Role(Role),
    Site(&'c Word),
    Group(&'c Word),
    Node(&'c Node),
}

impl<'c> Step<'c> {
    fn new(whose: Whose<'c>, at: At<&'c Rung>) -> Self {
        Self { whose, rung: at.value, place: Some(at.place) }
    }

    fn of_site(name: &'c Word, at: At<&'c Site>) -> Self {
        Self { whose: Whose::Site(name), rung: &at.value.rung, place: Some(at.place) }
    }

    fn of_node(node: &'c At<Node>) -> Self {
        Self { whose: Whose::Node(&node.value), rung: &node.value.rung, place: Some(node.place) }
    }

    /// The path of a key of the rung.
    pub fn path(&self, key: &str) -> String {
        match self.whose {
            Whose::File => key.to_owned(),
            Whose::Defaults => format!("defaults.{key}"),
            Whose::Role(role) => format!("roles.{role}.{key}"),
            Whose::Site(name) => format!("sites.{name}.{key}"),
            Whose::Group(name) => format!("groups.{name}.{key}"),
            Whose::Node(node) => {
                format!("nodes.{}.{key}", node.name.get().map_or("", |name| name.as_str()))
            }
        }
    }

    /// Whether it holds for every node.
    pub(crate) fn is_common(&self) -> bool {
        matches!(self.whose, Whose::File | Whose::Defaults)
    }

    /// Whether it is a node's own.
    pub(crate) fn is_node(&self) -> bool {
        matches!(self.whose, Whose::Node(_))
    }

    fn holds_for(&self, node: &Node) -> bool {
        match self.whose {
            Whose::File | Whose::Defaults => true,
            Whose::Role(role) => model::role(node) == role,
            Whose::Site(site) => node.site.get() == Some(site),
            Whose::Group(group) => node.groups.values().any(|name| name == group),
            Whose::Node(own) => std::ptr::eq(own, node),
        }
    }

    /// The values of the nodes it holds for; `values` has one for each node of the cluster, in its order.
    pub fn nodes<'p, T>(&self, cluster: &'p Cluster, values: &'p [T]) -> impl Iterator<Item = &'p T>
    where
        'c: 'p,
    {
        let step = *self;
        let nodes = cluster.nodes().iter().zip(values);
        nodes.filter(move |(node, _)| step.holds_for(&node.value)).map(|(_, value)| value)
    }
}

/// Every rung, from the lowest up.
pub(crate) fn all(cluster: &Cluster) -> impl Iterator<Item = Step<'_>> {
    below_nodes(cluster).chain(cluster.nodes().iter().map(Step::of_node))
}

/// Every rung below the nodes' own, from the lowest up.
pub(crate) fn below_nodes(cluster: &Cluster) -> impl Iterator<Item = Step<'_>> {
    let sites = cluster.file.sites.entries().map(|(name, at)| Step::of_site(name, at));
    let groups = cluster.file.groups.entries().map(|(name, at)| Step::new(Whose::Group(name), at));
    lowest(cluster).chain(sites).chain(groups)
}

/// Every rung below the nodes' own that says something of the network, with what it says.
pub fn networks(cluster: &Cluster) -> impl Iterator<Item = (Step<'_>, &Network)> {
    below_nodes(cluster).filter_map(|step| Some((step, step.rung.network.get()?)))
}

/// The rungs below those with names.
fn lowest(cluster: &Cluster) -> impl Iterator<Item = Step<'_>> {
    let file = &cluster.file;
    let ground = Step { whose: Whose::File, rung: cluster.ground(), place: None };
    let defaults = file.defaults.at().map(|at| Step::new(Whose::Defaults, at));
    let roles = file.roles.get().into_iter().flat_map(|roles| {
        let rungs = [(Role::Controlplane, roles.controlplane.at()), (Role::Worker, roles.worker.at())];
        rungs.map(|(role, at)| at.map(|at| Step::new(Whose::Role(role), at)))
    });
    std::iter::once(ground).chain(defaults).chain(roles.flatten())
}

/// The rungs that hold for node number `node`, from its own down.
fn of(cluster: &Cluster, node: usize) -> impl Iterator<Item = Step<'_>> {
    let (file, own) = (&cluster.file, &cluster.nodes()[node]);
    let mut steps: Vec<_> = lowest(cluster).filter(|step| step.holds_for(&own.value)).collect();
    let site = own.value.site.get();
    steps.extend(site.and_then(|name| Some(Step::of_site(name, file.sites.get()?.get(name.as_str())?))));
    steps.extend(
        own.value
            .groups
            .values()
            .filter_map(|name| Some(Step::new(Whose::Group(name), file.groups.get()?.get(name.as_str())?))),
    );
    steps.push(Step::of_node(own));
    steps.into_iter().rev()
}

/// The highest rung of node number `node` in which `find` finds something.
pub(crate) fn find<'c, T>(
    cluster: &'c Cluster,
    node: usize,
    find: impl Fn(&'c Rung) -> Option<T>,
) -> Option<(Step<'c>, T)> {
    of(cluster, node).find_map(|step| Some((step, find(step.rung)?)))
}

/// The path of what stands at `place`, where `at` says where a rung has it and `key` is its path below the rung.
pub fn path(
    cluster: &Cluster,
    node: usize,
    key: &str,
    place: Place,
    at: impl Fn(&Rung) -> Option<Place>,
) -> String {
    let found = find(cluster, node, |rung| at(rung).filter(|found| *found == place));
    found.map_or_else(|| key.to_owned(), |(step, _)| step.path(key))
}

/// The rung that `place` is in: the last one in its file that begins before it. A node's own for no place at all.
pub(crate) fn around(cluster: &Cluster, node: usize, place: Option<Place>) -> Step<'_> {
    let own = Step::of_node(&cluster.nodes()[node]);
    let Some(place) = place else { return own };
    let file = &cluster.file;
    let sections = [
        file.cluster.place(),
        file.network.place(),
        file.routing.place(),
        file.boot.place(),
        file.image.place(),
        file.overlay.place(),
    ];
    let ground = |place| Step { whose: Whose::File, rung: cluster.ground(), place };
    sections
        .into_iter()
        .map(ground)
        .chain(below_nodes(cluster))
        .chain([own])
        .filter(|step| step.place.is_some_and(|start| start.file == place.file && start <= place))
        .max_by_key(|step| step.place)
        .unwrap_or(own)
}
