//! `hypervisors`: hosts of virtual machines.

use ichor_values::key::List;
use ichor_values::record;
use ichor_values::{FilePath, Fingerprint, LinkName, Prefix, Secret, Text, Url, Word};

record! {
    /// A hypervisor, of one of these kinds.
    Hypervisor "proxmox or libvirt" {
        /// A Proxmox VE cluster.
        proxmox: Proxmox = "not set", "{url: https://pve:8006, token: {env: PVE_TOKEN}}";
        /// A libvirt host.
        libvirt: Libvirt = "not set", "{uri: qemu+ssh://edge1/system}";
    }
}

record! {
    /// A Proxmox VE cluster.
    Proxmox "settings of Proxmox" {
        /// URL of the API.
        url: Url = "required", "https://pve:8006";
        /// API token.
        token: Secret = "required, or user and password", "{env: PVE_TOKEN}";
        /// User, with a password instead of a token.
        user: Text = "not set", "root@pam";
        /// Password of the user.
        password: Secret = "not set", "{env: PVE_PASSWORD}";
        /// SHA-256 fingerprint of the server certificate.
        fingerprint: Fingerprint = "verified with `ca`", "";
        /// File with CA certificates for the server certificate.
        ca: FilePath = "the system's CA certificates", "pve-root-ca.pem";
        /// Hosts that machines are distributed over.
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
        /// Connection URI.
        uri: Url = "qemu:///system", "qemu+ssh://edge1/system";
        /// Location of disks: a storage pool, a folder, or a volume group below `/dev`.
        pool: Text = "default", "default";
        /// Location of ISO images: a storage pool or a folder.
        iso: Text = "/var/lib/libvirt/images", "/srv/iso";
        /// Network of the machines.
        network: LibvirtNetwork = "not set", "{bridge: ovsbr0, ovs: true}";
    }
}

record! {
    /// Network of a libvirt host's machines.
    LibvirtNetwork "a bridge" {
        /// Bridge.
        bridge: LinkName = "virbr0", "ovsbr0";
        /// Whether it is an Open vSwitch bridge.
        ovs: bool = "false", "true";
        /// Prefix of a NAT network with DHCP, for which libvirt creates the bridge.
        nat: Prefix = "not set: the bridge exists", "10.0.20.0/24";
    }
}
