//! The override ladder: cluster-wide sections, `defaults`, role, site, groups, node.

use std::collections::HashMap;

use super::role;
use crate::cluster::section::{File, Node, Role, Rung};
use ichor_values::key::{At, Over};

/// What stands below a node's own rung, once for each combination of role, site and groups, and which one each node has.
pub(crate) fn bases(file: &File, ground: &Rung, nodes: &[At<Node>]) -> (Vec<Rung>, Vec<u32>) {
    let mut known: HashMap<(Role, &str, Vec<&str>), u32> = HashMap::new();
    let mut bases = Vec::new();
    let base_of = nodes
        .iter()
        .map(|node| {
            let node = &node.value;
            let site = node.site.get().map_or("", |site| site.as_str());
            let groups: Vec<_> = node.groups.values().map(|group| group.as_str()).collect();
            *known.entry((role(node), site, groups.clone())).or_insert_with(|| {
                bases.push(climb(file, ground, role(node), site, &groups));
                u32::try_from(bases.len() - 1).expect("no more bases than nodes")
            })
        })
        .collect();
    (bases, base_of)
}

/// The sections of the file that a node has too.
pub(crate) fn ground(file: &File) -> Rung {
    Rung {
        network: file.network.clone(),
        routing: file.routing.clone(),
        boot: file.boot.clone(),
        image: file.image.clone(),
        overlay: file.overlay.clone(),
        ..Rung::default()
    }
}

fn climb(file: &File, ground: &Rung, role: Role, site: &str, groups: &[&str]) -> Rung {
    let roles = file.roles.get();
    let by_role = roles.and_then(|roles| match role {
        Role::Controlplane => roles.controlplane.get(),
        Role::Worker => roles.worker.get(),
    });
    let by_site = file.sites.get().and_then(|sites| sites.get(site)).map(|site| &site.value.rung);
    let by_group = groups.iter().filter_map(|group| file.groups.get()?.get(*group)).map(|group| group.value);
    [file.defaults.get(), by_role, by_site]
        .into_iter()
        .flatten()
        .chain(by_group)
        .fold(ground.clone(), |base, rung| rung.over(&base))
}
