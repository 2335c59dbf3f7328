//! The rungs below the nodes, as far as they speak of the network.

use crate::cluster::section::{Network, Role, Rung};
use crate::cluster::value::Word;
use crate::model::{self, Cluster};
use crate::plan::{NodePlan, Plan};

/// A rung that says something of the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'c> {
    whose: Whose<'c>,
    /// What it says.
    pub network: &'c Network,
}

#[derive(Clone, Copy, Debug)]
enum Whose<'c> {
    File,
    Defaults,
    Role(Role),
    Site(&'c Word),
    Group(&'c Word),
}

/// Every rung below the nodes that says something of the network, from the lowest up.
pub(super) fn steps(cluster: &Cluster) -> Vec<Step<'_>> {
    let file = &cluster.file;
    let mut steps = Vec::new();
    let mut push = |whose, network: Option<_>| steps.extend(network.map(|network| Step { whose, network }));
    let of = |rung: &'_ Rung| rung.network.is_set();
    push(Whose::File, file.network.get());
    push(Whose::Defaults, file.defaults.get().and_then(|rung| rung.network.get()));
    if let Some(roles) = file.roles.get() {
        let rungs = [(Role::Controlplane, &roles.controlplane), (Role::Worker, &roles.worker)];
        for (role, rung) in rungs {
            push(Whose::Role(role), rung.get().and_then(|rung| rung.network.get()));
        }
    }
    for (name, site) in file.sites.entries().filter(|(_, site)| of(&site.value.rung)) {
        push(Whose::Site(name), site.value.rung.network.get());
    }
    for (name, group) in file.groups.entries().filter(|(_, group)| of(group.value)) {
        push(Whose::Group(name), group.value.network.get());
    }
    steps
}

impl<'c> Step<'c> {
    /// The path of a key below `network`.
    pub fn path(&self, key: &str) -> String {
        match self.whose {
            Whose::File => format!("network.{key}"),
            Whose::Defaults => format!("defaults.network.{key}"),
            Whose::Role(role) => format!("roles.{role}.network.{key}"),
            Whose::Site(name) => format!("sites.{name}.network.{key}"),
            Whose::Group(name) => format!("groups.{name}.network.{key}"),
        }
    }

    /// Whether it holds for every node.
    pub fn is_common(&self) -> bool {
        matches!(self.whose, Whose::File | Whose::Defaults)
    }

    /// The nodes it holds for.
    pub fn nodes<'p>(&self, cluster: &'p Cluster, plan: &'p Plan) -> impl Iterator<Item = &'p NodePlan>
    where
        'c: 'p,
    {
        let whose = self.whose;
        let nodes = cluster.nodes().iter().zip(&plan.nodes);
        let held = nodes.filter(move |(node, _)| match whose {
            Whose::File | Whose::Defaults => true,
            Whose::Role(role) => model::role(&node.value) == role,
            Whose::Site(site) => node.value.site.get() == Some(site),
            Whose::Group(group) => node.value.groups.values().any(|name| name == group),
        });
        held.map(|(_, plan)| plan)
    }
}
