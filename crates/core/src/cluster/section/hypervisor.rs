//! `hypervisors`: where virtual machines are made.

use ichor_values::key::List;
use ichor_values::record;
use ichor_values::{FilePath, Fingerprint, LinkName, Prefix, Secret, Text, Url, Word};

record! {
    /// A place where virtual machines are made: one of these.
    Hypervisor "proxmox or libvirt" {
        /// A Proxmox VE cluster.
        proxmox: Proxmox = "none", "{url: https://pve:8006, token: {env: PVE_TOKEN}}";
        /// A libvirt host.
        libvirt: Libvirt = "none", "{uri: qemu+ssh://edge1/system}";
    }
}

record! {
    /// A Proxmox VE cluster.
    Proxmox "settings of Proxmox" {
        /// Its API.
        url: Url = "required", "https://pve:8006";
        /// API token.
        token: Secret = "required, or user and password", "{env: PVE_TOKEN}";
        /// User, with a password in place of a token.
        user: Text = "none", "root@pam";
        /// Password of the user.
        password: Secret = "none", "{env: PVE_PASSWORD}";
        /// SHA-256 fingerprint of its certificate.
        fingerprint: Fingerprint = "checked by `ca`", "";
        /// Certificates, in a file, one of which signed that of Proxmox.
        ca: FilePath = "the system's roots", "pve-root-ca.pem";
        /// Hosts that machines are spread over.
        hosts: List<Word> = "all", "[pve1, pve2]";
        /// Storage for ISO images.
        iso: Text = "local", "cephfs";
        /// Storage for disks.
        disks: Text = "local-lvm", "local-lvm";
    }
}

record! {
    /// A libvirt host.
    Libvirt "settings of libvirt" {
        /// Its connection URI.
        uri: Url = "qemu:///system", "qemu+ssh://edge1/system";
        /// Where disks are: a storage pool, a folder, or a volume group below `/dev`.
        pool: Text = "default", "default";
        /// Where ISO images are: a storage pool or a folder.
        iso: Text = "/var/lib/libvirt/images", "/srv/iso";
        /// The network machines are connected to.
        network: LibvirtNetwork = "none", "{bridge: ovsbr0, ovs: true}";
    }
}

record! {
    /// The network of a libvirt host's machines.
    LibvirtNetwork "a bridge" {
        /// The bridge.
        bridge: LinkName = "virbr0", "ovsbr0";
        /// Whether it is an Open vSwitch bridge.
        ovs: bool = "false", "true";
        /// Prefix of a network of its own, behind NAT and with DHCP; libvirt makes the bridge.
        nat: Prefix = "none: the bridge is there", "10.0.20.0/24";
    }
}
