//! `nodes`, and everything a node can have from `defaults`, its role, its site or its groups.

use std::net::IpAddr;

use super::{Boot, Image, Network, Overlay, Patch, Power, Routing, Vm};
use ichor_values::Arch;
use ichor_values::key::{HasName, List, Map, Named, Sum};
use ichor_values::{
    Address, DiskPath, LabelKey, LabelValue, LinkName, Mac, Mtu, NodeName, Prefix, SizeRange, Taint,
    TalosVersion, Text, VlanId, Word,
};
use ichor_values::{choice, record};

record! {
    /// What a node can have from any rung of the ladder: `defaults`, its role, its site, its groups, itself.
    Rung "settings of nodes" {
        /// What Talos runs on.
        platform: Platform = "nocloud for VMs on Proxmox, else metal", "metal";
        /// Architecture.
        arch: Arch = "amd64", "arm64";
        /// Overlay for a single-board computer.
        sbc: Word = "none", "rpi_generic";
        /// Talos release, while it differs from the cluster's.
        talos: TalosVersion = "`cluster.talos`", "v1.13.9";
        /// Where Talos is installed.
        install: Install = "/dev/sda for VMs, none for metal", "{disk: /dev/sda}";
        /// Names for the node's ports, in the order of `macs`.
        ports: List<LinkName> = "eth0, eth1 …", "[fab0, fab1]";
        /// MAC addresses of the node's ports.
        macs: List<Mac> = "VMs: 02 : id : index : port", "[\"bc:24:11:00:00:11\"]";
        /// Links beyond the ports, and settings of ports; merged by name.
        links: Named<Link> = "none", "[{name: fab0, mtu: 9000}]";
        /// Prefixes, addresses and what the network offers.
        network: Network = "the cluster's", "{node: {addressing: dhcp}}";
        /// BGP.
        routing: Routing = "the cluster's", "{asn: 65001}";
        /// Where the first configuration comes from.
        boot: Boot = "the cluster's", "{from: cidata}";
        /// What it boots and installs.
        image: Image = "the cluster's", "{source: factory}";
        /// A network over the network.
        overlay: Overlay = "the cluster's", "{tailscale: {key: {env: TS_KEY}}}";
        /// Its virtual machine; `null` for a real one.
        vm: Vm = "none", "{cores: 4, memory: 8GiB}";
        /// Remote control of a real machine.
        power: Power = "none", "{redfish: https://bmc21, user: x, password: {env: BMC}}";
        /// Addresses it has at other stages than the final one.
        address: StageAddresses = "none", "{dhcp: 10.0.232.14}";
        /// System extensions.
        extensions: Sum<Text> = "those that are needed", "[siderolabs/qemu-guest-agent]";
        /// Kernel settings.
        kernel: Kernel = "those routing needs", "{modules: [vrf]}";
        /// Kubernetes labels.
        labels: Map<LabelKey, LabelValue> = "none", "{gpu: \"true\"}";
        /// Kubernetes taints.
        taints: List<Taint> = "none", "[dedicated=gpu:NoSchedule]";
        /// Talos configuration laid over what ichor makes.
        patches: Sum<Patch> = "none", "[patches/all.yaml, {inline: {machine: {}}}]";
        /// Whether the node is on its way out: it announces nothing any more.
        drain: bool = "false", "true";
    }
}

choice! {
    /// What Talos runs on.
    Platform "platform" {
        /// A real machine.
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
    /// One machine: who it is, and its own settings.
    Node "a node" {
        /// Its name, which becomes its hostname.
        name: NodeName = "required", "solcp01";
        /// What it is in the cluster.
        role: Role = "worker", "controlplane";
        /// Its number in the cluster, from which its addresses and AS number are derived.
        index: u32 = "required as soon as something is derived from it", "11";
        /// Where it stands.
        site: Word = "none", "berlin";
        /// Groups whose settings it has, later ones above earlier ones.
        groups: List<Word> = "none", "[gpu]";
        ..rung: Rung
    }
}

choice! {
    /// What a node is in the cluster.
    Role "role" {
        /// Runs the control plane and etcd.
        Controlplane = "controlplane",
        /// Runs workloads.
        Worker = "worker",
    }
}

record! {
    /// What holds for the nodes of a role.
    Roles "settings by role" {
        /// Control planes.
        controlplane: Rung = "none", "{vm: {cores: 4}}";
        /// Workers.
        worker: Rung = "none", "{vm: {cores: 8}}";
    }
}

record! {
    /// A place with machines.
    Site "a site" {
        /// DHCP relay in front of its machines.
        relay: IpAddr = "none", "10.9.0.1";
        ..rung: Rung
    }
}

/// What holds for all nodes of a group.
pub(crate) type Group = Rung;

record! {
    /// Where Talos is installed.
    Install "a disk" {
        /// The disk.
        disk: DiskPath = "/dev/sda for VMs", "/dev/sda";
        /// The disk, by what it is.
        select: DiskSelect = "none", "{size: \">= 100GB\", type: nvme}";
        /// Whether the disk is wiped first.
        wipe: bool = "false", "false";
    }
}

record! {
    /// A disk by what it is.
    DiskSelect "a description of a disk" {
        /// Its size.
        size: SizeRange = "any", "\">= 100GB\"";
        /// Its kind.
        r#type: DiskType = "any", "nvme";
        /// Its model.
        model: Text = "any", "WDC*";
        /// Its serial number.
        serial: Text = "any", "S4EWNX0R";
        /// Its world-wide id.
        wwid: Text = "any", "naa.5000c500a0b1c2d3";
        /// Its place on the bus.
        bus_path: Text = "any", "/pci0000:00/*";
    }
}

choice! {
    /// Kind of a disk.
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
        /// Its name.
        name: LinkName = "required", "bond0";
        /// MTU.
        mtu: Mtu = "`network.mtu`", "9000";
        /// Several ports as one.
        bond: Bond = "none", "{links: [eth2, eth3], mode: 802.3ad}";
        /// A VLAN of another link; Talos 1.11 calls it after that, such as bond0.20, whatever its name is here.
        vlan: Vlan = "none", "{id: 20, link: bond0}";
        /// A bridge over other links; with Talos 1.11 and nocloud it is there once the node is configured.
        bridge: Bridge = "none", "{links: [eth2]}";
        /// Whether it asks a DHCP server.
        dhcp: bool = "true on ports without addresses and unnumbered neighbours, else false", "false";
        /// Its addresses.
        addresses: List<Address> = "none", "[10.20.0.21/24]";
        /// Its routes.
        routes: List<Route> = "none", "[{to: 10.30.0.0/16, via: 10.20.0.1}]";
    }
}

impl HasName for Link {
    fn name(&self) -> Option<&str> {
        self.name.get().map(LinkName::as_str)
    }
}

record! {
    /// Several ports as one.
    Bond "a bond" {
        /// Its ports.
        links: List<LinkName> = "required", "[eth2, eth3]";
        /// How they share the traffic.
        mode: BondMode = "active-backup", "802.3ad";
        /// Milliseconds between two looks at the ports.
        miimon: u32 = "100", "100";
        /// How packets are spread.
        hash: BondHash = "layer2; layer3+4 with 802.3ad", "layer3+4";
    }
}

choice! {
    /// How the ports of a bond share the traffic.
    BondMode "bond mode" {
        /// One after the other.
        BalanceRr = "balance-rr",
        /// One at a time.
        ActiveBackup = "active-backup",
        /// By a hash.
        BalanceXor = "balance-xor",
        /// On all of them.
        Broadcast = "broadcast",
        /// By LACP.
        Lacp = "802.3ad",
        /// Outgoing by load.
        BalanceTlb = "balance-tlb",
        /// Both ways by load.
        BalanceAlb = "balance-alb",
    }
}

choice! {
    /// What decides the port a packet takes.
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
        /// Its number.
        id: VlanId = "required", "20";
        /// The link below it.
        link: LinkName = "required", "bond0";
    }
}

record! {
    /// A bridge over other links.
    Bridge "a bridge" {
        /// Its ports.
        links: List<LinkName> = "none", "[eth2]";
        /// Whether it speaks the spanning tree protocol.
        stp: bool = "false", "true";
    }
}

record! {
    /// A route.
    Route "a route" {
        /// Where it leads.
        to: Prefix = "everywhere", "10.30.0.0/16";
        /// The next hop.
        via: IpAddr = "none", "10.20.0.1";
        /// Its metric.
        metric: u32 = "1024", "200";
    }
}

record! {
    /// Addresses a node has at other stages than the final one.
    StageAddresses "addresses by stage" {
        /// What a DHCP server gives it while it boots.
        dhcp: IpAddr = "found when needed", "10.0.232.14";
        /// What it is reached by from outside while it boots.
        external: IpAddr = "none", "203.0.113.20";
        /// What the overlay gives it.
        overlay: IpAddr = "known after it joined", "100.118.101.20";
    }
}

record! {
    /// Kernel settings.
    Kernel "kernel settings" {
        /// Arguments.
        args: Sum<Text> = "none", "[net.ifnames=0]";
        /// Modules to load.
        modules: Sum<Word> = "those routing needs", "[vrf]";
        /// Settings by key.
        sysctls: Map<Text, Text> = "those routing needs", "{vm.max_map_count: \"262144\"}";
    }
}
