//! The layers of settings: their owner, key paths and nodes.
//!
//! Later layers override earlier ones. [`all_layers`] iterates over all of them in order, [`shared_layers`] without those of
//! single nodes. [`find_setting`] and [`setting_path`] find the layer from which a node has a setting, [`layer_at`] the layer
//! at a place.

use crate::cluster::section::{Network, Node, NodeSettings, Role, Site};
use crate::model::{self, Cluster};
use ichor_values::Location;
use ichor_values::Word;
use ichor_values::key::Spanned;

/// A layer of settings and its owner.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'c> {
    owner: LayerOwner<'c>,
    /// Its settings.
    pub(crate) settings: &'c NodeSettings,
    /// Its start; none for the top-level sections.
    place: Option<Location>,
}

#[derive(Clone, Copy, Debug)]
enum LayerOwner<'c> {
    File,
    Defaults,
    Role(Role),
    Site(&'c Word),
    Group(&'c Word),
    Node(&'c Node),
}

impl<'c> Layer<'c> {
    fn new(owner: LayerOwner<'c>, at: Spanned<&'c NodeSettings>) -> Self {
        Self { owner, settings: at.value, place: Some(at.place) }
    }

    fn from_site(name: &'c Word, at: Spanned<&'c Site>) -> Self {
        Self { owner: LayerOwner::Site(name), settings: &at.value.settings, place: Some(at.place) }
    }

    fn from_node(node: &'c Spanned<Node>) -> Self {
        Self { owner: LayerOwner::Node(&node.value), settings: &node.value.settings, place: Some(node.place) }
    }

    /// The path of a key of the settings.
    pub fn path(&self, key: &str) -> String {
        match self.owner {
            LayerOwner::File => key.to_owned(),
            LayerOwner::Defaults => format!("defaults.{key}"),
            LayerOwner::Role(role) => format!("roles.{role}.{key}"),
            LayerOwner::Site(name) => format!("sites.{name}.{key}"),
            LayerOwner::Group(name) => format!("groups.{name}.{key}"),
            LayerOwner::Node(node) => {
                format!("nodes.{}.{key}", node.name.get().map_or("", |name| name.as_str()))
            }
        }
    }

    /// Whether it applies to every node.
    pub(crate) fn is_common(&self) -> bool {
        matches!(self.owner, LayerOwner::File | LayerOwner::Defaults)
    }

    /// Whether it belongs to a single node.
    pub(crate) fn is_node(&self) -> bool {
        matches!(self.owner, LayerOwner::Node(_))
    }

    fn applies_to(&self, node: &Node) -> bool {
        match self.owner {
            LayerOwner::File | LayerOwner::Defaults => true,
            LayerOwner::Role(role) => model::role(node) == role,
            LayerOwner::Site(site) => node.site.get() == Some(site),
            LayerOwner::Group(group) => node.groups.values().any(|name| name == group),
            LayerOwner::Node(own) => std::ptr::eq(own, node),
        }
    }

    /// The values of the nodes it applies to; `values` has one for each node of the cluster, in order.
    pub fn nodes<'p, T>(&self, cluster: &'p Cluster, values: &'p [T]) -> impl Iterator<Item = &'p T>
    where
        'c: 'p,
    {
        let layer = *self;
        let nodes = cluster.nodes().iter().zip(values);
        nodes.filter(move |(node, _)| layer.applies_to(&node.value)).map(|(_, value)| value)
    }
}

/// Every layer, each after those it overrides.
pub(crate) fn all_layers(cluster: &Cluster) -> impl Iterator<Item = Layer<'_>> {
    shared_layers(cluster).chain(cluster.nodes().iter().map(Layer::from_node))
}

/// Every layer but those of single nodes, each after those it overrides.
pub(crate) fn shared_layers(cluster: &Cluster) -> impl Iterator<Item = Layer<'_>> {
    let sites = cluster.file.sites.entries().map(|(name, at)| Layer::from_site(name, at));
    let groups = cluster.file.groups.entries().map(|(name, at)| Layer::new(LayerOwner::Group(name), at));
    unnamed_layers(cluster).chain(sites).chain(groups)
}

/// Every shared layer with network settings.
pub fn network_layers(cluster: &Cluster) -> impl Iterator<Item = (Layer<'_>, &Network)> {
    shared_layers(cluster).filter_map(|layer| Some((layer, layer.settings.network.get()?)))
}

/// The layers without names: top-level sections, defaults and roles.
fn unnamed_layers(cluster: &Cluster) -> impl Iterator<Item = Layer<'_>> {
    let file = &cluster.file;
    let top_level = Layer { owner: LayerOwner::File, settings: cluster.file_settings(), place: None };
    let defaults = file.defaults.at().map(|at| Layer::new(LayerOwner::Defaults, at));
    let roles = file.roles.get().into_iter().flat_map(|roles| {
        let layers = [(Role::Controlplane, roles.controlplane.at()), (Role::Worker, roles.worker.at())];
        layers.map(|(role, at)| at.map(|at| Layer::new(LayerOwner::Role(role), at)))
    });
    std::iter::once(top_level).chain(defaults).chain(roles.flatten())
}

/// The layers that apply to node number `node`, its own first.
fn node_layers(cluster: &Cluster, node: usize) -> impl Iterator<Item = Layer<'_>> {
    let (file, own) = (&cluster.file, &cluster.nodes()[node]);
    let mut steps: Vec<_> = unnamed_layers(cluster).filter(|layer| layer.applies_to(&own.value)).collect();
    let site = own.value.site.get();
    steps.extend(site.and_then(|name| Some(Layer::from_site(name, file.sites.get()?.get(name.as_str())?))));
    steps.extend(own.value.groups.values().filter_map(|name| {
        Some(Layer::new(LayerOwner::Group(name), file.groups.get()?.get(name.as_str())?))
    }));
    steps.push(Layer::from_node(own));
    steps.into_iter().rev()
}

/// The layer from which node number `node` has the setting that `find` returns.
pub(crate) fn find_setting<'c, T>(
    cluster: &'c Cluster,
    node: usize,
    find: impl Fn(&'c NodeSettings) -> Option<T>,
) -> Option<(Layer<'c>, T)> {
    node_layers(cluster, node).find_map(|layer| Some((layer, find(layer.settings)?)))
}

/// The key path of the value at `place`. `at` returns the place of the value in a layer, `key` is its path below the settings.
pub fn setting_path(
    cluster: &Cluster,
    node: usize,
    key: &str,
    place: Location,
    at: impl Fn(&NodeSettings) -> Option<Location>,
) -> String {
    let found = find_setting(cluster, node, |settings| at(settings).filter(|found| *found == place));
    found.map_or_else(|| key.to_owned(), |(layer, _)| layer.path(key))
}

/// The layer with `place`: the last one in its file that starts before it. Without a place, the node's own.
pub(crate) fn layer_at(cluster: &Cluster, node: usize, place: Option<Location>) -> Layer<'_> {
    let own = Layer::from_node(&cluster.nodes()[node]);
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
    let top_level = |place| Layer { owner: LayerOwner::File, settings: cluster.file_settings(), place };
    sections
        .into_iter()
        .map(top_level)
        .chain(shared_layers(cluster))
        .chain([own])
        .filter(|layer| layer.place.is_some_and(|start| start.file == place.file && start <= place))
        .max_by_key(|layer| layer.place)
        .unwrap_or(own)
}
