//! The file as a whole.

use super::{
    Boot, ClusterSection, Fabric, Group, Hypervisor, Image, Network, Node, Overlay, Roles, Routing, Rung,
    Site,
};
use ichor_values::Place;
use ichor_values::key::{List, Map, Over};
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
        /// More files of the same shape, merged into this one; `*` stands for any name.
        include: List<FilePath> = "none", "[sites/*.yaml]";
        /// The cluster: names, versions, endpoint, Kubernetes networks.
        cluster: ClusterSection = "required", "{name: sol, id: 101, talos: v1.13.9}";
        /// Prefixes, addresses and what the network offers.
        network: Network = "derived from `cluster.id`", "{api: {vip: 10.101.0.10}}";
        /// The routers around the nodes, as far as ichor shall know them.
        fabric: Fabric = "none", "{routers: [{name: leaf1, asn: 65101}]}";
        /// BGP on the nodes.
        routing: Routing = "none", "{neighbors: [{address: \"fd00:101::fffe\", asn: 4200001000}]}";
        /// A network over the network.
        overlay: Overlay = "none", "{tailscale: {key: {env: TS_KEY}}}";
        /// Where a machine's first configuration comes from.
        boot: Boot = "by platform", "{from: cidata}";
        /// What the machines boot and install.
        image: Image = "Image Factory, or ichor's own where its extension is needed", "{source: factory}";
        /// The Talos secrets bundle, in the SOPS format.
        secrets: FilePath = "secrets.sops.yaml", "secrets.sops.yaml";
        /// Who can read the secrets.
        secrets_for: List<AgeRecipient> = "from .sops.yaml", "[age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p]";
        /// Where virtual machines are made.
        hypervisors: Map<Word, Hypervisor> = "none", "{pve: {proxmox: {url: https://pve:8006, token: {env: PVE_TOKEN}}}}";
        /// Places with machines; what holds for all nodes of a site.
        sites: Map<Word, Site> = "none", "{berlin: {relay: 10.9.0.1}}";
        /// What holds for all nodes of a group.
        groups: Map<Word, Group> = "none", "{gpu: {labels: {gpu: \"true\"}}}";
        /// What holds for every node.
        defaults: Rung = "none", "{install: {disk: /dev/sda}}";
        /// What holds for the nodes of a role.
        roles: Roles = "none", "{worker: {vm: {cores: 8}}}";
        /// The machines, or a table of them.
        nodes: Nodes = "required", "[{name: solcp01, role: controlplane, index: 11}]";
        /// Findings that are known and accepted, each with a reason.
        silence: List<Silence> = "none", "[{rule: asn-public, at: routing.workload, why: the numbers of the old fabric}]";
    }
}

record! {
    /// A finding that is known and accepted.
    Silence "a map with rule, at and why" {
        /// The rule's id.
        rule: Word = "required", "asn-public";
        /// Key path the finding is at; what lies below it counts too.
        at: Text = "everywhere", "routing.workload";
        /// Why it is accepted.
        why: Text = "required", "the numbers of the old fabric";
    }
}

/// The nodes, written out, or a table to read them from.
#[derive(Clone, Debug, PartialEq)]
pub enum Nodes {
    /// Written out, or already read from the table.
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

    fn lookup(&self, steps: &[&str]) -> Option<(Printed, Place)> {
        match self {
            Self::List(nodes) => nodes.lookup(steps),
            Self::Table(_) => None,
        }
    }
}

impl Over for Nodes {}

record! {
    /// A table of nodes. Its first row names key paths such as `name`, `index` or `vm.cores`.
    NodeTable "a table of nodes" {
        /// The table, a CSV file.
        csv: FilePath = "required", "nodes.csv";
    }
}
