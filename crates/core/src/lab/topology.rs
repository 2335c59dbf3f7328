//! The topology of a lab: machines with their ports, links and files, and the cables between them.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use ichor_values::Backend;
use ichor_values::Mac;

/// A fabric to build.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct LabTopology {
    /// The cluster's name.
    pub cluster: String,
    /// Every machine: routers, nodes, and the outside host last.
    pub machines: Vec<LabMachine>,
    /// The cables between ports.
    #[serde(rename = "links")]
    pub cables: Vec<LabCable>,
    /// The sessions, including those with speakers.
    pub sessions: Vec<LabSession>,
    /// Differences from the cluster file and their reasons, as text.
    pub deviations: Vec<String>,
}

/// A machine with its own network stack.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct LabMachine {
    /// Its name.
    pub name: String,
    /// Its role.
    #[serde(rename = "role")]
    pub part: MachineRole,
    /// VRFs to create before daemons start: name and table.
    pub vrfs: Vec<(String, u32)>,
    /// Dummy links that Talos creates: name and MTU.
    pub dummies: Vec<(String, Option<u32>)>,
    /// Addresses of `lo` and of the dummy links: link and address.
    pub addresses: Vec<(String, IpNet)>,
    /// Its ports, in the order of its MAC addresses.
    pub ports: Vec<LabPort>,
    /// Default gateways to configure before daemons start.
    pub gateways: Vec<IpAddr>,
}

/// The role of a machine.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MachineRole {
    /// A router that runs FRR.
    Router {
        /// `frr.conf`, which may contain passwords.
        #[serde(rename = "config")]
        conf: String,
        /// `daemons`.
        daemons: String,
        /// The VRF of its sessions.
        vrf: Option<String>,
    },
    /// A node that runs the agent and its daemon.
    Node {
        /// The daemon.
        backend: Backend,
        /// `agent.json`.
        #[serde(rename = "agent_config")]
        agent: String,
        /// The URL on this machine of the health probe for anycast addresses.
        #[serde(rename = "health_url")]
        health: Option<String>,
        /// The speaker of service addresses.
        #[serde(rename = "load_balancer")]
        speaker: Option<LabSpeaker>,
        /// Addresses from which it speaks with others: its loopbacks.
        #[serde(rename = "source_addresses")]
        sources: Vec<IpAddr>,
    },
    /// A node in a virtual machine, which boots Talos from an ISO. The lab cannot inspect it.
    Guest(LabVm),
    /// The outside host, which sends requests. It shares a network with every router.
    Outside {
        /// Its entry points to the fabric.
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
    /// The bus of its disk, which determines the disk's name.
    #[serde(rename = "disk_bus")]
    pub bus: DiskBus,
    /// Whether its firmware is UEFI.
    pub uefi: bool,
    /// The file name of the ISO with its first configuration; none if the image contains it.
    #[serde(rename = "config_media")]
    pub carrier: Option<String>,
    /// Addresses from which it speaks with others: its loopbacks.
    #[serde(rename = "source_addresses")]
    pub sources: Vec<IpAddr>,
}

/// The bus of a disk.
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

/// An entry point to the fabric: packets from these source addresses go to this router first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Ingress {
    /// Name of the router.
    pub router: String,
    /// Its addresses on the outside network, one per family.
    #[serde(rename = "next_hops")]
    pub through: Vec<IpAddr>,
    /// The outside host's addresses, several per family, so that ECMP spreads the packets over paths.
    #[serde(rename = "source_addresses")]
    pub sources: Vec<IpAddr>,
}

/// A BGP speaker that takes the role of MetalLB or Cilium, and the addresses it announces. The node has these addresses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LabSpeaker {
    /// The speaker whose role it takes.
    pub name: String,
    /// `gobgpd.toml`.
    #[serde(rename = "config")]
    pub conf: String,
    /// Addresses it announces. Several nodes announce addresses of the same pool.
    #[serde(rename = "announced_prefixes")]
    pub announces: Vec<IpNet>,
    /// Prefixes that the node's filter must reject.
    #[serde(rename = "rejected_prefixes")]
    pub refused: Vec<IpNet>,
}

/// A port of a machine.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct LabPort {
    /// The kernel's name.
    pub name: String,
    /// Its name in the cluster file, if that differs.
    pub alias: Option<String>,
    /// MAC address; random if none.
    pub mac: Option<Mac>,
    /// MTU.
    pub mtu: Option<u32>,
    /// The VRF it belongs to.
    pub vrf: Option<String>,
    /// Addresses.
    pub addresses: Vec<IpNet>,
}

/// A cable between two ports, or a network of several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LabCable {
    /// Its name: that of its first end, such as `cp1:fab0`, or of the network.
    pub name: String,
    /// Its ends.
    pub ends: Vec<CableEnd>,
}

/// An end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct CableEnd {
    /// Number of the machine.
    pub machine: usize,
    /// Number of its port.
    pub port: usize,
}

/// A session of the lab.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LabSession {
    /// The local end: a node, or the first of two routers.
    #[serde(rename = "local")]
    pub one: LabSessionEnd,
    /// The remote end: a router, or the speaker on the same node.
    #[serde(rename = "remote")]
    pub other: LabSessionEnd,
    /// Whether it has BFD.
    pub bfd: bool,
    /// Whether it exchanges routes.
    #[serde(rename = "exchanges_routes")]
    pub(crate) carries: bool,
    /// Why the proof expects it to be down; none if it must come up.
    #[serde(rename = "expected_down")]
    pub fault: Option<String>,
}

/// An end of a session.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LabSessionEnd {
    /// Name of the machine; of a speaker, `cp1:metallb`.
    #[serde(rename = "machine")]
    pub name: String,
    /// The neighbour in this end's daemon: a port by the kernel's name, or an address.
    pub peer: String,
}
