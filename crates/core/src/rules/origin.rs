//! The rung a node has a setting from: what the key path of a finding begins with.

use crate::cluster::Place;
use crate::cluster::section::{Role, Routing, Rung};
use crate::model::{self, Cluster};

/// The highest rung of node `nth` in which `find` finds something, as a key path that ends in a dot or is empty.
pub(super) fn find<T>(
    cluster: &Cluster,
    nth: usize,
    find: impl Fn(&Rung) -> Option<T>,
) -> Option<(String, T)> {
    let node = &cluster.nodes()[nth].value;
    if let Some(found) = find(&node.rung) {
        let name = node.name.get().map(|name| name.as_str()).unwrap_or_default();
        return Some((format!("nodes.{name}."), found));
    }
    let file = &cluster.file;
    let groups: Vec<_> = node.groups.values().collect();
    for group in groups.into_iter().rev() {
        let rung = file.groups.get().and_then(|groups| groups.get(group.as_str()));
        if let Some(found) = rung.and_then(|rung| find(rung.value)) {
            return Some((format!("groups.{group}."), found));
        }
    }
    if let Some(site) = node.site.get() {
        let rung = file.sites.get().and_then(|sites| sites.get(site.as_str()));
        if let Some(found) = rung.and_then(|rung| find(&rung.value.rung)) {
            return Some((format!("sites.{site}."), found));
        }
    }
    let roles = file.roles.get();
    let (role, rung) = match model::role(node) {
        Role::Controlplane => ("controlplane", roles.and_then(|roles| roles.controlplane.get())),
        Role::Worker => ("worker", roles.and_then(|roles| roles.worker.get())),
    };
    if let Some(found) = rung.and_then(&find) {
        return Some((format!("roles.{role}."), found));
    }
    if let Some(found) = file.defaults.get().and_then(&find) {
        return Some(("defaults.".to_owned(), found));
    }
    let ground = Rung { network: file.network.clone(), routing: file.routing.clone(), ..Rung::default() };
    find(&ground).map(|found| (String::new(), found))
}

/// The path of what stands at `place`, where `at` says where a rung has it and `key` is its path below the rung.
pub(super) fn path(
    cluster: &Cluster,
    nth: usize,
    key: &str,
    place: Place,
    at: impl Fn(&Rung) -> Option<Place>,
) -> String {
    let found = find(cluster, nth, |rung| at(rung).filter(|found| *found == place));
    format!("{}{key}", found.map(|(rung, _)| rung).unwrap_or_default())
}

/// The path of something below `routing` that stands at `place`.
pub(super) fn routing(
    cluster: &Cluster,
    nth: usize,
    key: &str,
    place: Place,
    at: impl Fn(&Routing) -> Option<Place>,
) -> String {
    let key = if key.is_empty() { "routing".to_owned() } else { format!("routing.{key}") };
    path(cluster, nth, &key, place, |rung| at(rung.routing.get()?))
}
