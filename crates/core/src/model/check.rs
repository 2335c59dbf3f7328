//! Checks of required keys and references.

use std::collections::{HashMap, HashSet};

use crate::cluster::section::{
    ClusterSection, Fabric, File, Hypervisor, Neighbor, Node, NodeSettings, Nodes, Routing,
};
use ichor_values::key::{Key, Spanned};
use ichor_values::{FileIssue, Location, WordOrRecord, nearest};

/// Adds missing keys and dangling references of `file` to the problems of reading it.
pub(crate) fn add_problems(file: &File, problems: &mut Vec<FileIssue>) {
    let mut found = find_problems(file);
    // A value that could not be read is not reported as missing.
    let paths: HashSet<&str> = problems.iter().map(|problem| problem.issue.subject.as_str()).collect();
    let places: HashSet<Location> = problems.iter().map(|problem| problem.place).collect();
    // Neither is a value with a misspelt key.
    let suggested: HashSet<String> = problems
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
            && !suggested.contains(&problem.issue.subject)
    });
    problems.extend(found);
}

fn find_problems(file: &File) -> Vec<FileIssue> {
    let mut check = ReferenceCheck { file, problems: Vec::new() };
    if let Some(0) = file.version.value() {
        check.report("version", file.version.place(), "unknown format 0", "want 1, or leave it out");
    }
    match file.cluster.at() {
        Some(cluster) => check.check_cluster(&cluster),
        None => check.report("cluster", None, "missing", "want `cluster` with `name` and `talos`"),
    }
    match file.nodes.get() {
        Some(Nodes::List(nodes)) => check.check_nodes(&nodes.0),
        Some(Nodes::Table(_)) => {}
        None => check.report("nodes", None, "missing", "want `nodes`, a list of machines"),
    }
    if let Some(fabric) = file.fabric.get() {
        check.check_fabric(fabric);
    }
    check.check_routing("routing", &file.routing);
    check.check_layers();
    for (name, hypervisor) in file.hypervisors.entries() {
        check.check_hypervisor(name.as_str(), &hypervisor);
    }
    for (nth, silence) in file.silence.items().enumerate() {
        let path = format!("silence[{nth}]");
        check.require_key(&path, silence.place, "rule", &silence.value.rule);
        check.require_key(&path, silence.place, "why", &silence.value.why);
    }
    check.problems
}

struct ReferenceCheck<'a> {
    file: &'a File,
    problems: Vec<FileIssue>,
}

impl ReferenceCheck<'_> {
    fn report(
        &mut self,
        path: &str,
        place: Option<Location>,
        message: impl Into<String>,
        want: impl Into<String>,
    ) {
        let place = place.unwrap_or(Location { line: 1, column: 1, ..Location::default() });
        self.problems.push(FileIssue::new(path, place, message).want(want));
    }

    fn require_key<T>(&mut self, path: &str, place: Location, key: &str, value: &Key<T>) {
        if !value.is_set() {
            self.report(
                &format!("{path}.{key}"),
                Some(value.place().unwrap_or(place)),
                format!("`{key}` is missing"),
                format!("want `{key}` here"),
            );
        }
    }

    fn check_cluster(&mut self, cluster: &Spanned<&ClusterSection>) {
        self.require_key("cluster", cluster.place, "name", &cluster.value.name);
        self.require_key("cluster", cluster.place, "talos", &cluster.value.talos);
        if let Some(bootstrap) = cluster.value.bootstrap.at() {
            self.require_node("cluster.bootstrap", bootstrap.value.as_str(), bootstrap.place);
        }
        if let Some(endpoint) = cluster.value.endpoint.at()
            && let Some(node) = endpoint.value.overlay_node()
        {
            self.require_node("cluster.endpoint", node, endpoint.place);
        }
        if let Some(WordOrRecord::Record(own)) = cluster.value.cni.get() {
            self.require_key(
                "cluster.cni",
                cluster.value.cni.place().unwrap_or_default(),
                "manifest",
                &own.manifest,
            );
        }
    }

    fn require_node(&mut self, path: &str, name: &str, place: Location) {
        let Some(Nodes::List(nodes)) = self.file.nodes.get() else { return };
        let names = || nodes.values().filter_map(|node| node.name.get()).map(|name| name.as_str());
        if !names().any(|known| known == name) {
            self.report_unknown(path, place, "node", name, names());
        }
    }

    fn report_unknown<'k>(
        &mut self,
        path: &str,
        place: Location,
        noun: &str,
        name: &str,
        known: impl Iterator<Item = &'k str>,
    ) {
        let all: Vec<_> = known.collect();
        let want = match nearest(name, all.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if all.is_empty() => format!("the file has no {noun}"),
            None => format!("want one of {}", all[..all.len().min(8)].join(", ")),
        };
        self.report(path, Some(place), format!("no {noun} `{name}`"), want);
    }

    fn check_nodes(&mut self, nodes: &[Spanned<Node>]) {
        let mut names: HashMap<&str, Location> = HashMap::with_capacity(nodes.len());
        for (nth, node) in nodes.iter().enumerate() {
            let Some(name) = node.value.name.get() else {
                self.require_key(&format!("nodes[{nth}]"), node.place, "name", &node.value.name);
                continue;
            };
            let place = node.value.name.place().unwrap_or(node.place);
            if let Some(first) = names.insert(name.as_str(), place) {
                self.problems.push(
                    FileIssue::new(format!("nodes.{name}"), place, "defined twice")
                        .want("want each name once")
                        .also(first, "first defined here"),
                );
            }
            if node.value.index.value() == Some(0) {
                self.report(
                    &format!("nodes.{name}.index"),
                    node.value.index.place(),
                    "0 is not an index",
                    "want a number from 1 on",
                );
            }
            self.check_references(name.as_str(), &node.value);
        }
    }

    fn check_references(&mut self, name: &str, node: &Node) {
        if let Some(site) = node.site.at() {
            let sites = self.file.sites.get();
            if sites.and_then(|sites| sites.get(site.value.as_str())).is_none() {
                let known = sites.into_iter().flat_map(|sites| sites.iter()).map(|(name, _)| name.as_str());
                self.report_unknown(
                    &format!("nodes.{name}.site"),
                    site.place,
                    "site",
                    site.value.as_str(),
                    known,
                );
            }
        }
        for group in node.groups.items() {
            let groups = self.file.groups.get();
            if groups.and_then(|groups| groups.get(group.value.as_str())).is_none() {
                let known =
                    groups.into_iter().flat_map(|groups| groups.iter()).map(|(name, _)| name.as_str());
                self.report_unknown(
                    &format!("nodes.{name}.groups"),
                    group.place,
                    "group",
                    group.value.as_str(),
                    known,
                );
            }
        }
        // Most of up to 100,000 nodes have none of these, so their path is built only on demand.
        let NodeSettings { routing, links, vm, patches, .. } = &node.settings;
        if routing.is_set() || links.is_set() || vm.is_set() || patches.is_set() {
            self.check_settings(&format!("nodes.{name}"), &node.settings);
        }
    }

    fn check_layers(&mut self) {
        let file = self.file;
        if let Some(defaults) = file.defaults.get() {
            self.check_settings("defaults", defaults);
        }
        if let Some(roles) = file.roles.get() {
            for (name, settings) in [("controlplane", &roles.controlplane), ("worker", &roles.worker)] {
                if let Some(settings) = settings.get() {
                    self.check_settings(&format!("roles.{name}"), settings);
                }
            }
        }
        for (name, site) in file.sites.entries() {
            self.check_settings(&format!("sites.{name}"), &site.value.settings);
        }
        for (name, group) in file.groups.entries() {
            self.check_settings(&format!("groups.{name}"), group.value);
        }
    }

    fn check_settings(&mut self, path: &str, settings: &NodeSettings) {
        if settings.routing.get().is_some_and(|routing| routing.neighbors.is_set()) {
            self.check_routing(&format!("{path}.routing"), &settings.routing);
        }
        for (nth, link) in settings.links.items().enumerate() {
            self.require_key(&format!("{path}.links[{nth}]"), link.place, "name", &link.value.name);
        }
        if let Some(hypervisor) = settings.vm.get().and_then(|vm| vm.hypervisor.at()) {
            let known = self.file.hypervisors.get();
            if known.and_then(|known| known.get(hypervisor.value.as_str())).is_none() {
                let names = known.into_iter().flat_map(|known| known.iter()).map(|(name, _)| name.as_str());
                self.report_unknown(
                    &format!("{path}.vm.hypervisor"),
                    hypervisor.place,
                    "hypervisor",
                    hypervisor.value.as_str(),
                    names,
                );
            }
        }
        for (nth, patch) in settings.patches.items().enumerate() {
            if let WordOrRecord::Record(source) = &patch.value
                && source.inline.is_set() == source.sops.is_set()
            {
                self.report(
                    &format!("{path}.patches[{nth}]"),
                    Some(patch.place),
                    "not a patch",
                    "want a path, {inline: …} or {sops: FILE}",
                );
            }
        }
    }

    fn check_fabric(&mut self, fabric: &Fabric) {
        let mut names: HashMap<&str, Location> = HashMap::new();
        for (nth, router) in fabric.routers.items().enumerate() {
            self.require_key(&format!("fabric.routers[{nth}]"), router.place, "name", &router.value.name);
            self.require_key(&format!("fabric.routers[{nth}]"), router.place, "asn", &router.value.asn);
            let Some(name) = router.value.name.get() else { continue };
            if let Some(first) = names.insert(name.as_str(), router.place) {
                self.problems.push(
                    FileIssue::new(format!("fabric.routers.{name}"), router.place, "defined twice")
                        .want("want each name once")
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
                    self.report_unknown(
                        &format!("fabric.cables[{nth}]"),
                        end.place,
                        "node or router",
                        host,
                        near,
                    );
                }
            }
        }
    }

    fn check_routing(&mut self, path: &str, routing: &Key<Routing>) {
        let Some(routing) = routing.get() else { return };
        for (nth, neighbor) in routing.neighbors.items().enumerate() {
            self.check_neighbor(&format!("{path}.neighbors[{nth}]"), neighbor);
        }
    }

    fn check_neighbor(&mut self, path: &str, neighbor: &Spanned<Neighbor>) {
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
                self.report_unknown(
                    &format!("{path}.router"),
                    router.place,
                    "router",
                    router.value.as_str(),
                    known.into_iter(),
                );
            }
            Some(_) => {}
            None if !neighbor.value.address.is_set() && !neighbor.value.link.is_set() => {
                self.report(
                    path,
                    Some(neighbor.place),
                    "a neighbour without `router`, `address` or `link`",
                    "want `router`, `address` or `link`",
                );
            }
            None if !neighbor.value.asn.is_set() && !neighbor.value.link.is_set() => {
                self.require_key(path, neighbor.place, "asn", &neighbor.value.asn);
            }
            None => {}
        }
    }

    fn check_hypervisor(&mut self, name: &str, hypervisor: &Spanned<&Hypervisor>) {
        let path = format!("hypervisors.{name}");
        match (hypervisor.value.proxmox.at(), hypervisor.value.libvirt.is_set()) {
            (Some(proxmox), false) => {
                self.require_key(&path, proxmox.place, "url", &proxmox.value.url);
            }
            (None, true) => {}
            _ => self.report(
                &path,
                Some(hypervisor.place),
                "not exactly one kind of hypervisor",
                "want `proxmox` or `libvirt`",
            ),
        }
    }
}
