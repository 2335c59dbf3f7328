//! What is built: machines with their ports, links and files, and the cables they are plugged into.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use ichor_values::Backend;
use ichor_values::Mac;

/// A fabric, ready to be built.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct LabTopology {
    /// The cluster's name.
    pub cluster: String,
    /// Every machine: routers, nodes, and at last the one outside.
    pub machines: Vec<LabMachine>,
    /// What they are plugged into.
    #[serde(rename = "links")]
    pub cables: Vec<LabCable>,
    /// The sessions that shall come up, those with speakers too.
    pub sessions: Vec<LabSession>,
    /// What is other here than the file says, and why: for people.
    #[serde(rename = "deviations")]
    pub differs: Vec<String>,
}

/// A machine with a network of its own.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct LabMachine {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(rename = "role")]
    pub part: MachineRole,
    /// VRFs that are there before anything runs: name and table.
    pub vrfs: Vec<(String, u32)>,
    /// Links that stand for themselves, as Talos makes them: a name, an MTU.
    pub dummies: Vec<(String, Option<u32>)>,
    /// Addresses of `lo` and of the links above: link and address.
    pub addresses: Vec<(String, IpNet)>,
    /// Its ports, in the order of its MAC addresses.
    pub ports: Vec<LabPort>,
    /// Routes that are there before anything runs.
    pub gateways: Vec<IpAddr>,
}

/// What a machine is.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MachineRole {
    /// A router: FRR with these files.
    Router {
        /// `frr.conf`, which may hold passwords.
        #[serde(rename = "config")]
        conf: String,
        /// `daemons`.
        daemons: String,
        /// The VRF of its sessions.
        vrf: Option<String>,
    },
    /// A node: the agent with its daemon.
    Node {
        /// The daemon.
        backend: Backend,
        /// `agent.json`.
        #[serde(rename = "agent_config")]
        agent: String,
        /// A URL of this machine that must answer before anycast addresses are announced.
        #[serde(rename = "health_url")]
        health: Option<String>,
        /// Who announces service addresses there.
        #[serde(rename = "load_balancer")]
        speaker: Option<LabSpeaker>,
        /// Addresses from which it speaks with others: its loopbacks.
        #[serde(rename = "source_addresses")]
        sources: Vec<IpAddr>,
    },
    /// A node in a virtual machine, which boots Talos from a CD. Nobody sees into it.
    Guest(LabVm),
    /// The host outside, which asks. It is on one network with every router.
    Outside {
        /// Ways in.
        #[serde(rename = "ingresses")]
        doors: Vec<Ingress>,
    },
}

/// A node's virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LabVm {
    /// Processors.
    pub cores: u16,
    /// Memory in MiB.
    #[serde(rename = "memory_mib")]
    pub memory: u64,
    /// Size of its disk in GiB.
    #[serde(rename = "disk_gib")]
    pub disk: u64,
    /// How its disk is connected, which gives it its name.
    #[serde(rename = "disk_bus")]
    pub bus: DiskBus,
    /// Whether its firmware is UEFI.
    pub uefi: bool,
    /// The CD with its first configuration, as `ichor build` calls it; none where the image has it.
    #[serde(rename = "config_media")]
    pub carrier: Option<String>,
    /// Addresses from which it speaks with others: its loopbacks.
    #[serde(rename = "source_addresses")]
    pub sources: Vec<IpAddr>,
}

/// How a disk is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiskBus {
    /// `/dev/sda`.
    Sata,
    /// `/dev/vda`.
    Virtio,
    /// `/dev/nvme0n1`.
    Nvme,
}

/// A way into the fabric: packets of these sources go to this router first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Ingress {
    /// Name of the router.
    pub router: String,
    /// Its addresses on the network outside, one of each family.
    #[serde(rename = "next_hops")]
    pub through: Vec<IpAddr>,
    /// The outside's addresses, several of each family: packets of each take ways of their own.
    #[serde(rename = "source_addresses")]
    pub sources: Vec<IpAddr>,
}

/// A real speaker of BGP in the place of MetalLB or Cilium, and the addresses it announces. The node answers on them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LabSpeaker {
    /// What it stands for.
    pub name: String,
    /// `gobgpd.toml`.
    #[serde(rename = "config")]
    pub conf: String,
    /// Addresses it announces; those of the same pool are announced by several nodes.
    #[serde(rename = "announced_prefixes")]
    pub announces: Vec<IpNet>,
    /// What it must not get through: the node's filter refuses it.
    #[serde(rename = "rejected_prefixes")]
    pub refused: Vec<IpNet>,
}

/// A port of a machine.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct LabPort {
    /// The kernel's name.
    pub name: String,
    /// What the cluster file calls it, where that is another name.
    pub alias: Option<String>,
    /// MAC address; any where there is none.
    pub mac: Option<Mac>,
    /// MTU.
    pub mtu: Option<u32>,
    /// The VRF it belongs to.
    pub vrf: Option<String>,
    /// Addresses.
    pub addresses: Vec<IpNet>,
}

/// What ports are plugged into: two of them, or a network of several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LabCable {
    /// Its name: that of its first end, as `cp1:fab0`, or of the network.
    pub name: String,
    /// Its ends.
    pub ends: Vec<CableEnd>,
}

/// An end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct CableEnd {
    /// Which machine.
    pub machine: usize,
    /// Which of its ports.
    pub port: usize,
}

/// A session that shall come up.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LabSession {
    /// One end: a node, or the first of two routers.
    #[serde(rename = "local")]
    pub one: LabSessionEnd,
    /// The other: a router, or the speaker on the same node.
    #[serde(rename = "remote")]
    pub other: LabSessionEnd,
    /// Whether BFD watches it.
    pub bfd: bool,
    /// Whether routes come over it.
    #[serde(rename = "exchanges_routes")]
    pub(crate) carries: bool,
    /// Why it will not come up, as the proof says; none where it shall.
    #[serde(rename = "expected_down")]
    pub fault: Option<String>,
}

/// An end of a session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LabSessionEnd {
    /// Name of the machine; of a speaker, `cp1:metallb`.
    #[serde(rename = "machine")]
    pub name: String,
    /// What this end's daemon calls its neighbour: a port by the kernel's name, or an address.
    pub peer: String,
}
