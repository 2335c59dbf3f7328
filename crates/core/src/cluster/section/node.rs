//! `nodes`, and the settings a node inherits from `defaults`, its role, its site and its groups.

use std::net::IpAddr;

use super::{Boot, Image, Network, Overlay, PatchRef, Power, Routing, Vm};
use ichor_values::Arch;
use ichor_values::key::{AdditiveList, HasName, List, Map, NamedList};
use ichor_values::{
    Address, DiskPath, LabelKey, LabelValue, LinkName, Mac, Mtu, NodeName, Prefix, SizeRange, Taint,
    TalosVersion, Text, VlanId, Word,
};
use ichor_values::{choice, record};

record! {
    /// Settings of nodes, in any layer: `defaults`, a role, a site, a group, or a node itself.
    NodeSettings "settings of nodes" {
        /// Talos platform.
        platform: Platform = "nocloud for VMs on Proxmox, else metal", "metal";
        /// Architecture.
        arch: Arch = "amd64", "arm64";
        /// Image overlay of a single-board computer.
        sbc: Word = "not set", "rpi_generic";
        /// Talos release, if it differs from the cluster's.
        talos: TalosVersion = "`cluster.talos`", "v1.13.9";
        /// Installation disk.
        install: Install = "/dev/sda for VMs, none for metal", "{disk: /dev/sda}";
        /// Names of the node's ports, in the order of `macs`.
        ports: List<LinkName> = "eth0, eth1 …", "[fab0, fab1]";
        /// MAC addresses of the node's ports.
        macs: List<Mac> = "VMs: 02 : id : index : port", "[\"bc:24:11:00:00:11\"]";
        /// Bonds, VLANs, bridges and settings of ports; merged by name.
        links: NamedList<Link> = "none", "[{name: fab0, mtu: 9000}]";
        /// Prefixes, addresses, and services of the network.
        network: Network = "the cluster's", "{node: {addressing: dhcp}}";
        /// BGP.
        routing: Routing = "the cluster's", "{asn: 65001}";
        /// Source of the first configuration.
        boot: Boot = "the cluster's", "{from: cidata}";
        /// Images that the node boots and installs.
        image: Image = "the cluster's", "{source: factory}";
        /// Overlay network.
        overlay: Overlay = "the cluster's", "{tailscale: {key: {env: TS_KEY}}}";
        /// Virtual machine; `null` for a physical machine.
        vm: Vm = "not set", "{cores: 4, memory: 8GiB}";
        /// Remote power control of a physical machine.
        power: Power = "not set", "{redfish: https://bmc21, user: x, password: {env: BMC}}";
        /// Addresses before the final configuration, and in the overlay.
        address: StageAddresses = "not set", "{dhcp: 10.0.232.14}";
        /// System extensions.
        extensions: AdditiveList<Text> = "the required ones", "[siderolabs/qemu-guest-agent]";
        /// Kernel settings.
        kernel: Kernel = "those that routing needs", "{modules: [vrf]}";
        /// Kubernetes labels.
        labels: Map<LabelKey, LabelValue> = "none", "{gpu: \"true\"}";
        /// Kubernetes taints.
        taints: List<Taint> = "none", "[dedicated=gpu:NoSchedule]";
        /// Patches of the generated Talos configuration.
        patches: AdditiveList<PatchRef> = "none", "[patches/all.yaml, {inline: {machine: {}}}]";
        /// Whether the node is drained: it withdraws all routes.
        drain: bool = "false", "true";
    }
}

choice! {
    /// Talos platform.
    Platform "platform" {
        /// A physical machine.
        Metal = "metal",
        /// A VM with nocloud data: Proxmox, libvirt.
        Nocloud = "nocloud",
        /// Akamai.
        Akamai = "akamai",
        /// Amazon.
        Aws = "aws",
        /// Microsoft.
        Azure = "azure",
        /// Apache CloudStack.
        Cloudstack = "cloudstack",
        /// DigitalOcean.
        Digitalocean = "digitalocean",
        /// Exoscale.
        Exoscale = "exoscale",
        /// Google.
        Gcp = "gcp",
        /// Hetzner.
        Hcloud = "hcloud",
        /// OpenNebula.
        Opennebula = "opennebula",
        /// OpenStack.
        Openstack = "openstack",
        /// Oracle.
        Oracle = "oracle",
        /// Scaleway.
        Scaleway = "scaleway",
        /// UpCloud.
        Upcloud = "upcloud",
        /// VMware.
        Vmware = "vmware",
        /// Vultr.
        Vultr = "vultr",
    }
}

record! {
    /// One machine: its identity and settings.
    Node "a node" {
        /// Name, which becomes the hostname.
        name: NodeName = "required", "solcp01";
        /// Role in the cluster.
        role: Role = "worker", "controlplane";
        /// Index in the cluster, from which addresses and AS number are derived.
        index: u32 = "required if something is derived from it", "11";
        /// Site.
        site: Word = "not set", "berlin";
        /// Groups whose settings it inherits; later groups override earlier ones.
        groups: List<Word> = "none", "[gpu]";
        ..settings: NodeSettings
    }
}

choice! {
    /// Role of a node.
    Role "role" {
        /// Runs the control plane and etcd.
        Controlplane = "controlplane",
        /// Runs workloads.
        Worker = "worker",
    }
}

record! {
    /// Settings by role.
    Roles "settings by role" {
        /// Control planes.
        controlplane: NodeSettings = "not set", "{vm: {cores: 4}}";
        /// Workers.
        worker: NodeSettings = "not set", "{vm: {cores: 8}}";
    }
}

record! {
    /// A site with machines.
    Site "a site" {
        /// DHCP relay of its machines.
        relay: IpAddr = "not set", "10.9.0.1";
        ..settings: NodeSettings
    }
}

/// Settings of all nodes of a group.
pub(crate) type GroupSettings = NodeSettings;

record! {
    /// Installation disk.
    Install "a disk" {
        /// Device path of the disk.
        disk: DiskPath = "/dev/sda for VMs", "/dev/sda";
        /// Selector of the disk.
        select: DiskSelect = "not set", "{size: \">= 100GB\", type: nvme}";
        /// Whether the disk is wiped before the installation.
        wipe: bool = "false", "false";
    }
}

record! {
    /// A disk selector.
    DiskSelect "a disk selector" {
        /// Size.
        size: SizeRange = "any", "\">= 100GB\"";
        /// Type.
        r#type: DiskType = "any", "nvme";
        /// Model.
        model: Text = "any", "WDC*";
        /// Serial number.
        serial: Text = "any", "S4EWNX0R";
        /// World-wide ID.
        wwid: Text = "any", "naa.5000c500a0b1c2d3";
        /// Bus path.
        bus_path: Text = "any", "/pci0000:00/*";
    }
}

choice! {
    /// Type of a disk.
    DiskType "disk type" {
        /// Solid state on SATA or SAS.
        Ssd = "ssd",
        /// Rotating.
        Hdd = "hdd",
        /// NVMe.
        Nvme = "nvme",
        /// Memory card.
        Sd = "sd",
    }
}

record! {
    /// A network link: settings of a port, or a bond, VLAN or bridge.
    Link "a link" {
        /// Name of the link.
        name: LinkName = "required", "bond0";
        /// MTU.
        mtu: Mtu = "`network.mtu`", "9000";
        /// Bond of several ports.
        bond: Bond = "not set", "{links: [eth2, eth3], mode: 802.3ad}";
        /// VLAN of another link; Talos 1.11 ignores its name here and names it after that link, such as bond0.20.
        vlan: Vlan = "not set", "{id: 20, link: bond0}";
        /// Bridge of other links; with Talos 1.11 and nocloud it exists only after the node is configured.
        bridge: Bridge = "not set", "{links: [eth2]}";
        /// Whether it uses DHCP.
        dhcp: bool = "true on ports without addresses and unnumbered neighbours, else false", "false";
        /// Addresses of the link.
        addresses: List<Address> = "none", "[10.20.0.21/24]";
        /// Routes over the link.
        routes: List<Route> = "none", "[{to: 10.30.0.0/16, via: 10.20.0.1}]";
    }
}

impl HasName for Link {
    fn name(&self) -> Option<&str> {
        self.name.get().map(LinkName::as_str)
    }
}

record! {
    /// A bond of several ports.
    Bond "a bond" {
        /// Ports.
        links: List<LinkName> = "required", "[eth2, eth3]";
        /// Bonding mode.
        mode: BondMode = "active-backup", "802.3ad";
        /// Interval of link monitoring in milliseconds.
        miimon: u32 = "100", "100";
        /// Transmit hash policy.
        hash: BondHash = "layer2; layer3+4 with 802.3ad", "layer3+4";
    }
}

choice! {
    /// Bonding mode.
    BondMode "bond mode" {
        /// Round robin.
        BalanceRr = "balance-rr",
        /// One active port at a time.
        ActiveBackup = "active-backup",
        /// By the hash policy.
        BalanceXor = "balance-xor",
        /// On all ports.
        Broadcast = "broadcast",
        /// LACP.
        Lacp = "802.3ad",
        /// Balanced by load for transmission.
        BalanceTlb = "balance-tlb",
        /// Balanced by load in both directions.
        BalanceAlb = "balance-alb",
    }
}

choice! {
    /// Transmit hash policy of a bond.
    BondHash "hash policy" {
        /// MAC addresses.
        Layer2 = "layer2",
        /// MAC and IP addresses.
        Layer23 = "layer2+3",
        /// IP addresses and ports.
        Layer34 = "layer3+4",
        /// As layer2+3, inside tunnels.
        Encap23 = "encap2+3",
        /// As layer3+4, inside tunnels.
        Encap34 = "encap3+4",
    }
}

record! {
    /// A VLAN of another link.
    Vlan "a VLAN" {
        /// VLAN ID.
        id: VlanId = "required", "20";
        /// Parent link.
        link: LinkName = "required", "bond0";
    }
}

record! {
    /// A bridge of other links.
    Bridge "a bridge" {
        /// Ports.
        links: List<LinkName> = "none", "[eth2]";
        /// Whether it uses the spanning tree protocol.
        stp: bool = "false", "true";
    }
}

record! {
    /// A route.
    Route "a route" {
        /// Destination.
        to: Prefix = "default route", "10.30.0.0/16";
        /// Next hop.
        via: IpAddr = "not set", "10.20.0.1";
        /// Metric.
        metric: u32 = "1024", "200";
    }
}

record! {
    /// Addresses of a node before its final configuration, and in the overlay.
    StageAddresses "addresses by stage" {
        /// Address from DHCP during boot.
        dhcp: IpAddr = "discovered when needed", "10.0.232.14";
        /// External address during boot.
        external: IpAddr = "not set", "203.0.113.20";
        /// Address in the overlay.
        overlay: IpAddr = "known after the node has joined", "100.118.101.20";
    }
}

record! {
    /// Kernel settings.
    Kernel "kernel settings" {
        /// Kernel arguments.
        args: AdditiveList<Text> = "none", "[net.ifnames=0]";
        /// Modules to load.
        modules: AdditiveList<Word> = "those that routing needs", "[vrf]";
        /// Sysctls by key.
        sysctls: Map<Text, Text> = "those that routing needs", "{vm.max_map_count: \"262144\"}";
    }
}
