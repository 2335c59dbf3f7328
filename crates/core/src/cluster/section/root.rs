//! The top level of the file.

use super::{
    Boot, ClusterSection, Fabric, GroupSettings, Hypervisor, Image, Network, Node, NodeSettings, Overlay,
    Roles, Routing, Site,
};
use ichor_values::Location;
use ichor_values::key::{List, Map, MergeOver};
use ichor_values::print::Printed;
use ichor_values::read::{Read, Reader};
use ichor_values::record;
use ichor_values::schema::Shape;
use ichor_values::tree::{Tree, View};
use ichor_values::{AgeRecipient, FilePath, Text, Word};

record! {
    /// The cluster file.
    File "a cluster file" {
        /// Format of the file.
        version: u32 = "1", "1";
        /// Files with the same keys, merged into this one; `*` matches any name.
        include: List<FilePath> = "none", "[sites/*.yaml]";
        /// The cluster: names, versions, endpoint, Kubernetes networks.
        cluster: ClusterSection = "required", "{name: sol, id: 101, talos: v1.13.9}";
        /// Prefixes, addresses, and services of the network.
        network: Network = "derived from `cluster.id`", "{api: {vip: 10.101.0.10}}";
        /// The routers around the nodes.
        fabric: Fabric = "not set", "{routers: [{name: leaf1, asn: 65101}]}";
        /// BGP on the nodes.
        routing: Routing = "not set", "{neighbors: [{address: \"fd00:101::fffe\", asn: 4200001000}]}";
        /// Overlay network.
        overlay: Overlay = "not set", "{tailscale: {key: {env: TS_KEY}}}";
        /// Source of a machine's first configuration.
        boot: Boot = "by platform", "{from: cidata}";
        /// Images that the machines boot and install.
        image: Image = "Image Factory, or ichor's own where its extension is needed", "{source: factory}";
        /// The Talos secrets bundle, encrypted with SOPS.
        secrets: FilePath = "secrets.sops.yaml", "secrets.sops.yaml";
        /// Recipients of the secrets.
        secrets_for: List<AgeRecipient> = "from .sops.yaml", "[age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p]";
        /// Hypervisors, where virtual machines are created.
        hypervisors: Map<Word, Hypervisor> = "none", "{pve: {proxmox: {url: https://pve:8006, token: {env: PVE_TOKEN}}}}";
        /// Sites, with the settings of their nodes.
        sites: Map<Word, Site> = "none", "{berlin: {relay: 10.9.0.1}}";
        /// Groups, with the settings of their nodes.
        groups: Map<Word, GroupSettings> = "none", "{gpu: {labels: {gpu: \"true\"}}}";
        /// Settings of every node.
        defaults: NodeSettings = "not set", "{install: {disk: /dev/sda}}";
        /// Settings by role.
        roles: Roles = "not set", "{worker: {vm: {cores: 8}}}";
        /// The machines, or a CSV table of them.
        nodes: Nodes = "required", "[{name: solcp01, role: controlplane, index: 11}]";
        /// Accepted findings, each with a reason.
        silence: List<Silence> = "none", "[{rule: asn-public, at: routing.workload, why: the numbers of the old fabric}]";
    }
}

record! {
    /// An accepted finding.
    Silence "a map with rule, at and why" {
        /// ID of the rule.
        rule: Word = "required", "asn-public";
        /// Key path of the finding; includes all keys below it.
        at: Text = "everywhere", "routing.workload";
        /// Reason.
        why: Text = "required", "the numbers of the old fabric";
    }
}

/// The nodes: a list, or a table to read them from.
#[derive(Clone, Debug, PartialEq)]
pub enum Nodes {
    /// A list, or the rows of the table.
    List(List<Node>),
    /// `{csv: nodes.csv}`, before the table is read.
    Table(FilePath),
}

impl Read for Nodes {
    fn read<'f>(tree: Tree<'f>, reader: &mut Reader<'f>) -> Option<Self> {
        match tree.view() {
            View::List(_) => List::read(tree, reader).map(Self::List),
            View::Map(entries) if entries.len() == 1 && entries.get("csv").is_some() => {
                FilePath::read(entries.get("csv")?, reader).map(Self::Table)
            }
            _ => {
                reader.wrong(tree, "a list of nodes, or {csv: FILE}");
                None
            }
        }
    }

    fn shape() -> Shape {
        Shape::OneOf(vec![List::<Node>::shape(), NodeTable::shape()])
    }

    fn print(&self) -> Printed {
        match self {
            Self::List(nodes) => nodes.print(),
            Self::Table(path) => Printed::Map(vec![("csv".to_owned(), path.print())]),
        }
    }

    fn lookup(&self, steps: &[&str]) -> Option<(Printed, Location)> {
        match self {
            Self::List(nodes) => nodes.lookup(steps),
            Self::Table(_) => None,
        }
    }
}

impl MergeOver for Nodes {}

record! {
    /// A table of nodes, whose first row has key paths such as `name`, `index` or `vm.cores`.
    NodeTable "a table of nodes" {
        /// CSV file with the table.
        csv: FilePath = "required", "nodes.csv";
    }
}
