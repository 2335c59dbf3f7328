//! What a file must have, and what it may refer to.

use std::collections::{HashMap, HashSet};

use crate::cluster::section::{
    ClusterSection, Fabric, File, Hypervisor, Neighbor, Node, Nodes, Routing, Rung,
};
use ichor_values::key::{At, Key};
use ichor_values::{Either, FileIssue, Place, nearest};

/// Adds everything that keeps `file` from being a cluster to what reading it found.
pub(crate) fn add_problems(file: &File, problems: &mut Vec<FileIssue>) {
    let mut found = find(file);
    // A value that could not be read is not missing as well.
    let paths: HashSet<&str> = problems.iter().map(|problem| problem.issue.subject.as_str()).collect();
    let places: HashSet<Place> = problems.iter().map(|problem| problem.place).collect();
    // Nor is one whose key was misspelt.
    let meant: HashSet<String> = problems
        .iter()
        .filter_map(|problem| {
            let (_, rest) = problem.issue.message.split_once("did you mean `")?;
            let (parent, _) = problem.issue.subject.rsplit_once('.')?;
            Some(format!("{parent}.{}", rest.split('`').next()?))
        })
        .collect();
    let lost_nodes = problems.iter().any(|problem| problem.issue.subject.starts_with("nodes"));
    found.retain(|problem| {
        let unread = problem.issue.message.ends_with("missing") && places.contains(&problem.place);
        let lost = lost_nodes && problem.issue.message.starts_with("no node");
        !unread
            && !lost
            && !paths.contains(problem.issue.subject.as_str())
            && !meant.contains(&problem.issue.subject)
    });
    problems.extend(found);
}

fn find(file: &File) -> Vec<FileIssue> {
    let mut check = Check { file, problems: Vec::new() };
    if let Some(0) = file.version.value() {
        check.problem("version", file.version.place(), "there is no format 0", "want 1, or leave it out");
    }
    match file.cluster.at() {
        Some(cluster) => check.cluster(&cluster),
        None => check.problem("cluster", None, "missing", "want `cluster` with `name` and `talos`"),
    }
    match file.nodes.get() {
        Some(Nodes::List(nodes)) => check.nodes(&nodes.0),
        Some(Nodes::Table(_)) => {}
        None => check.problem("nodes", None, "missing", "want `nodes`, a list of machines"),
    }
    if let Some(fabric) = file.fabric.get() {
        check.fabric(fabric);
    }
    check.routing("routing", &file.routing);
    check.rungs();
    for (name, hypervisor) in file.hypervisors.entries() {
        check.hypervisor(name.as_str(), &hypervisor);
    }
    for (nth, silence) in file.silence.items().enumerate() {
        let path = format!("silence[{nth}]");
        check.required(&path, silence.place, "rule", &silence.value.rule);
        check.required(&path, silence.place, "why", &silence.value.why);
    }
    check.problems
}

struct Check<'a> {
    file: &'a File,
    problems: Vec<FileIssue>,
}

impl Check<'_> {
    fn problem(
        &mut self,
        path: &str,
        place: Option<Place>,
        message: impl Into<String>,
        want: impl Into<String>,
    ) {
        let place = place.unwrap_or(Place { line: 1, column: 1, ..Place::default() });
        self.problems.push(FileIssue::new(path, place, message).want(want));
    }

    fn required<T>(&mut self, path: &str, place: Place, key: &str, value: &Key<T>) {
        if !value.is_set() {
            self.problem(
                &format!("{path}.{key}"),
                Some(value.place().unwrap_or(place)),
                format!("`{key}` is missing"),
                format!("want `{key}` here"),
            );
        }
    }

    fn cluster(&mut self, cluster: &At<&ClusterSection>) {
        self.required("cluster", cluster.place, "name", &cluster.value.name);
        self.required("cluster", cluster.place, "talos", &cluster.value.talos);
        if let Some(bootstrap) = cluster.value.bootstrap.at() {
            self.node_exists("cluster.bootstrap", bootstrap.value.as_str(), bootstrap.place);
        }
        if let Some(endpoint) = cluster.value.endpoint.at()
            && let Some(node) = endpoint.value.overlay_node()
        {
            self.node_exists("cluster.endpoint", node, endpoint.place);
        }
        if let Some(Either::Record(own)) = cluster.value.cni.get() {
            self.required(
                "cluster.cni",
                cluster.value.cni.place().unwrap_or_default(),
                "manifest",
                &own.manifest,
            );
        }
    }

    fn node_exists(&mut self, path: &str, name: &str, place: Place) {
        let Some(Nodes::List(nodes)) = self.file.nodes.get() else { return };
        let names = || nodes.values().filter_map(|node| node.name.get()).map(|name| name.as_str());
        if !names().any(|known| known == name) {
            self.unknown(path, place, "node", name, names());
        }
    }

    fn unknown<'k>(
        &mut self,
        path: &str,
        place: Place,
        noun: &str,
        name: &str,
        known: impl Iterator<Item = &'k str>,
    ) {
        let all: Vec<_> = known.collect();
        let want = match nearest(name, all.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if all.is_empty() => format!("there is no {noun} in the file"),
            None => format!("want one of {}", all[..all.len().min(8)].join(", ")),
        };
        self.problem(path, Some(place), format!("no {noun} `{name}`"), want);
    }

    fn nodes(&mut self, nodes: &[At<Node>]) {
        let mut names: HashMap<&str, Place> = HashMap::with_capacity(nodes.len());
        for (nth, node) in nodes.iter().enumerate() {
            let Some(name) = node.value.name.get() else {
                self.required(&format!("nodes[{nth}]"), node.place, "name", &node.value.name);
                continue;
            };
            let place = node.value.name.place().unwrap_or(node.place);
            if let Some(first) = names.insert(name.as_str(), place) {
                self.problems.push(
                    FileIssue::new(format!("nodes.{name}"), place, "defined twice")
                        .want("each name once")
                        .also(first, "first defined here"),
                );
            }
            if node.value.index.value() == Some(0) {
                self.problem(
                    &format!("nodes.{name}.index"),
                    node.value.index.place(),
                    "0 is not an index",
                    "want a number from 1 on",
                );
            }
            self.references(name.as_str(), &node.value);
        }
    }

    fn references(&mut self, name: &str, node: &Node) {
        if let Some(site) = node.site.at() {
            let sites = self.file.sites.get();
            if sites.and_then(|sites| sites.get(site.value.as_str())).is_none() {
                let known = sites.into_iter().flat_map(|sites| sites.iter()).map(|(name, _)| name.as_str());
                self.unknown(&format!("nodes.{name}.site"), site.place, "site", site.value.as_str(), known);
            }
        }
        for group in node.groups.items() {
            let groups = self.file.groups.get();
            if groups.and_then(|groups| groups.get(group.value.as_str())).is_none() {
                let known =
                    groups.into_iter().flat_map(|groups| groups.iter()).map(|(name, _)| name.as_str());
                self.unknown(
                    &format!("nodes.{name}.groups"),
                    group.place,
                    "group",
                    group.value.as_str(),
                    known,
                );
            }
        }
        // Most nodes have none of these, and there may be a hundred thousand: their path is made only when it is needed.
        let Rung { routing, links, vm, patches, .. } = &node.rung;
        if routing.is_set() || links.is_set() || vm.is_set() || patches.is_set() {
            self.rung(&format!("nodes.{name}"), &node.rung);
        }
    }

    fn rungs(&mut self) {
        let file = self.file;
        if let Some(defaults) = file.defaults.get() {
            self.rung("defaults", defaults);
        }
        if let Some(roles) = file.roles.get() {
            for (name, rung) in [("controlplane", &roles.controlplane), ("worker", &roles.worker)] {
                if let Some(rung) = rung.get() {
                    self.rung(&format!("roles.{name}"), rung);
                }
            }
        }
        for (name, site) in file.sites.entries() {
            self.rung(&format!("sites.{name}"), &site.value.rung);
        }
        for (name, group) in file.groups.entries() {
            self.rung(&format!("groups.{name}"), group.value);
        }
    }

    fn rung(&mut self, path: &str, rung: &Rung) {
        if rung.routing.get().is_some_and(|routing| routing.neighbors.is_set()) {
            self.routing(&format!("{path}.routing"), &rung.routing);
        }
        for (nth, link) in rung.links.items().enumerate() {
            self.required(&format!("{path}.links[{nth}]"), link.place, "name", &link.value.name);
        }
        if let Some(hypervisor) = rung.vm.get().and_then(|vm| vm.hypervisor.at()) {
            let known = self.file.hypervisors.get();
            if known.and_then(|known| known.get(hypervisor.value.as_str())).is_none() {
                let names = known.into_iter().flat_map(|known| known.iter()).map(|(name, _)| name.as_str());
                self.unknown(
                    &format!("{path}.vm.hypervisor"),
                    hypervisor.place,
                    "hypervisor",
                    hypervisor.value.as_str(),
                    names,
                );
            }
        }
        for (nth, patch) in rung.patches.items().enumerate() {
            if let Either::Record(source) = &patch.value
                && source.inline.is_set() == source.sops.is_set()
            {
                self.problem(
                    &format!("{path}.patches[{nth}]"),
                    Some(patch.place),
                    "not a patch",
                    "want a path, {inline: …} or {sops: FILE}",
                );
            }
        }
    }

    fn fabric(&mut self, fabric: &Fabric) {
        let mut names: HashMap<&str, Place> = HashMap::new();
        for (nth, router) in fabric.routers.items().enumerate() {
            self.required(&format!("fabric.routers[{nth}]"), router.place, "name", &router.value.name);
            self.required(&format!("fabric.routers[{nth}]"), router.place, "asn", &router.value.asn);
            let Some(name) = router.value.name.get() else { continue };
            if let Some(first) = names.insert(name.as_str(), router.place) {
                self.problems.push(
                    FileIssue::new(format!("fabric.routers.{name}"), router.place, "defined twice")
                        .want("each name once")
                        .also(first, "first defined here"),
                );
            }
        }
        let nodes: Vec<&str> = match self.file.nodes.get() {
            Some(Nodes::List(nodes)) => {
                nodes.values().filter_map(|node| node.name.get()).map(|name| name.as_str()).collect()
            }
            _ => Vec::new(),
        };
        let known: HashSet<&str> = names.keys().copied().chain(nodes.iter().copied()).collect();
        for (nth, cable) in fabric.cables.items().enumerate() {
            for end in [&cable.value.0, &cable.value.1] {
                let (host, _) = end.value.parts();
                if !known.contains(host) {
                    let near = names.keys().copied().chain(nodes.iter().copied());
                    self.unknown(&format!("fabric.cables[{nth}]"), end.place, "node or router", host, near);
                }
            }
        }
    }

    fn routing(&mut self, path: &str, routing: &Key<Routing>) {
        let Some(routing) = routing.get() else { return };
        for (nth, neighbor) in routing.neighbors.items().enumerate() {
            self.neighbor(&format!("{path}.neighbors[{nth}]"), neighbor);
        }
    }

    fn neighbor(&mut self, path: &str, neighbor: &At<Neighbor>) {
        let routers = || {
            let fabric = self.file.fabric.get().and_then(|fabric| fabric.routers.get());
            fabric
                .into_iter()
                .flat_map(|routers| routers.values())
                .filter_map(|router| router.name.get())
                .map(|name| name.as_str())
        };
        match neighbor.value.router.at() {
            Some(router) if !routers().any(|known| known == router.value.as_str()) => {
                let known: Vec<_> = routers().collect();
                self.unknown(
                    &format!("{path}.router"),
                    router.place,
                    "router",
                    router.value.as_str(),
                    known.into_iter(),
                );
            }
            Some(_) => {}
            None if !neighbor.value.address.is_set() && !neighbor.value.link.is_set() => {
                self.problem(
                    path,
                    Some(neighbor.place),
                    "a neighbour that cannot be found",
                    "want `router`, `address` or `link`",
                );
            }
            None if !neighbor.value.asn.is_set() && !neighbor.value.link.is_set() => {
                self.required(path, neighbor.place, "asn", &neighbor.value.asn);
            }
            None => {}
        }
    }

    fn hypervisor(&mut self, name: &str, hypervisor: &At<&Hypervisor>) {
        let path = format!("hypervisors.{name}");
        match (hypervisor.value.proxmox.at(), hypervisor.value.libvirt.is_set()) {
            (Some(proxmox), false) => {
                self.required(&path, proxmox.place, "url", &proxmox.value.url);
            }
            (None, true) => {}
            _ => self.problem(
                &path,
                Some(hypervisor.place),
                "not one kind of hypervisor",
                "want `proxmox` or `libvirt`",
            ),
        }
    }
}
