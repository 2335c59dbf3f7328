//! Inheritance of settings: cluster-wide sections, `defaults`, role, site, groups, node.

use std::collections::HashMap;

use super::role;
use crate::cluster::section::{File, Node, NodeSettings, Role};
use ichor_values::key::{MergeOver, Spanned};

/// Merges the shared layers once for each combination of role, site and groups.
///
/// The second list has the combination of each node.
pub(crate) fn inherited_settings(
    file: &File,
    file_settings: &NodeSettings,
    nodes: &[Spanned<Node>],
) -> (Vec<NodeSettings>, Vec<u32>) {
    let mut known: HashMap<(Role, &str, Vec<&str>), u32> = HashMap::new();
    let mut bases = Vec::new();
    let base_of = nodes
        .iter()
        .map(|node| {
            let node = &node.value;
            let site = node.site.get().map_or("", |site| site.as_str());
            let groups: Vec<_> = node.groups.values().map(|group| group.as_str()).collect();
            *known.entry((role(node), site, groups.clone())).or_insert_with(|| {
                bases.push(merge_layers(file, file_settings, role(node), site, &groups));
                u32::try_from(bases.len() - 1).expect("no more bases than nodes")
            })
        })
        .collect();
    (bases, base_of)
}

/// The top-level sections of the file that nodes have as well.
pub(crate) fn file_settings(file: &File) -> NodeSettings {
    NodeSettings {
        network: file.network.clone(),
        routing: file.routing.clone(),
        boot: file.boot.clone(),
        image: file.image.clone(),
        overlay: file.overlay.clone(),
        ..NodeSettings::default()
    }
}

fn merge_layers(
    file: &File,
    file_settings: &NodeSettings,
    role: Role,
    site: &str,
    groups: &[&str],
) -> NodeSettings {
    let roles = file.roles.get();
    let by_role = roles.and_then(|roles| match role {
        Role::Controlplane => roles.controlplane.get(),
        Role::Worker => roles.worker.get(),
    });
    let by_site = file.sites.get().and_then(|sites| sites.get(site)).map(|site| &site.value.settings);
    let by_group = groups.iter().filter_map(|group| file.groups.get()?.get(*group)).map(|group| group.value);
    [file.defaults.get(), by_role, by_site]
        .into_iter()
        .flatten()
        .chain(by_group)
        .fold(file_settings.clone(), |base, layer| layer.merge_over(&base))
}
