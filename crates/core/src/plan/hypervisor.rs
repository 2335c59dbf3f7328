//! Hypervisors.

use super::{DEFAULT_BRIDGE, Decided};
use crate::cluster::File;
use crate::cluster::section::{Libvirt, LibvirtNetwork, Proxmox};
use ichor_values::{FilePath, Fingerprint, Prefix, Secret, Text, Url, Word};

/// A hypervisor.
#[derive(Debug)]
pub struct HypervisorPlan {
    /// Its name.
    pub name: Word,
    /// A Proxmox VE cluster.
    pub proxmox: Option<ProxmoxPlan>,
    /// A libvirt host.
    pub libvirt: Option<LibvirtPlan>,
}

/// Access to a Proxmox VE cluster; hosts and storages are part of each machine.
#[derive(Debug)]
pub struct ProxmoxPlan {
    /// Its API.
    pub url: Option<Decided<Url>>,
    /// Reference to its API token.
    pub token: Option<Decided<Secret>>,
    /// User, with a password instead of a token.
    pub user: Option<Decided<Text>>,
    /// Reference to the password of the user.
    pub password: Option<Decided<Secret>>,
    /// Fingerprint of its certificate.
    pub fingerprint: Option<Decided<Fingerprint>>,
    /// File with the CA certificates that verify its certificate; the default is the system's.
    pub ca: Option<Decided<FilePath>>,
}

/// A libvirt host and the network of its machines.
#[derive(Debug)]
pub struct LibvirtPlan {
    /// Its connection URI.
    pub uri: Decided<String>,
    /// Bridge of its network.
    pub bridge: Decided<String>,
    /// Whether bridges are Open vSwitch bridges.
    pub(crate) ovs: Decided<bool>,
    /// Prefix of a NAT network that libvirt creates; none if the bridge exists.
    pub(crate) nat: Option<Decided<Prefix>>,
}

/// The hypervisors, in the order of their names.
pub fn plan(file: &File) -> Vec<HypervisorPlan> {
    let hypervisors = file.hypervisors.entries();
    hypervisors
        .map(|(name, at)| HypervisorPlan {
            name: name.clone(),
            proxmox: at.value.proxmox.get().map(proxmox),
            libvirt: at.value.libvirt.get().map(libvirt),
        })
        .collect()
}

fn proxmox(section: &Proxmox) -> ProxmoxPlan {
    // Hosts and storages are decided for each machine.
    let Proxmox { url, token, user, password, fingerprint, ca, hosts: _, iso: _, disks: _ } = section;
    ProxmoxPlan {
        url: Decided::from_key(url),
        token: Decided::from_key(token),
        user: Decided::from_key(user),
        password: Decided::from_key(password),
        fingerprint: Decided::from_key(fingerprint),
        ca: Decided::from_key(ca),
    }
}

fn libvirt(section: &Libvirt) -> LibvirtPlan {
    let none = LibvirtNetwork::default();
    // Storages are decided for each machine.
    let Libvirt { uri, network, pool: _, iso: _ } = section;
    let LibvirtNetwork { bridge, ovs, nat } = network.get().unwrap_or(&none);
    LibvirtPlan {
        uri: Decided::text_or(uri, "qemu:///system", "the host on which ichor runs"),
        bridge: Decided::text_or(bridge, DEFAULT_BRIDGE, "libvirt's default bridge"),
        ovs: Decided::from_key_or(ovs, false, "bridges are Linux bridges"),
        nat: Decided::from_key(nat),
    }
}
