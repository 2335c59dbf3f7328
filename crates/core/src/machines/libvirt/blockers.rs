//! Blockers that keep machines from being created on a libvirt host.

use std::collections::{BTreeMap, BTreeSet};

use super::virsh_output::{DomainCapabilities, LibvirtDomain};
use super::{DesiredDomain, VolumeStore};
use ichor_values::Issue;

/// The oldest release that selects firmware by its features.
const OLDEST: (u32, u32) = (7, 2);

/// The inventory of a host.
#[derive(Clone, Debug, Default)]
pub struct LibvirtInventory {
    /// The daemon's release.
    pub release: Option<String>,
    /// Its domains.
    pub domains: Vec<LibvirtDomain>,
    /// Active pools.
    pub pools: Vec<String>,
    /// Networks, active or not.
    pub networks: Vec<String>,
    /// Disks without a machine.
    pub disks: Vec<String>,
    /// Its capabilities by architecture; none without QEMU for it.
    pub capabilities: BTreeMap<&'static str, Option<DomainCapabilities>>,
}

impl LibvirtInventory {
    /// Another domain with the node's name.
    pub fn find_foreign(&self, wanted: &DesiredDomain) -> Option<&LibvirtDomain> {
        let uuid = wanted.uuid.to_string();
        self.domains.iter().find(|domain| domain.name == wanted.node && domain.uuid != uuid)
    }

    /// The node's own domain.
    pub fn find_own(&self, wanted: &DesiredDomain) -> Option<&LibvirtDomain> {
        let uuid = wanted.uuid.to_string();
        self.domains.iter().find(|domain| domain.uuid == uuid)
    }
}

/// Finds everything that prevents the creation of `wanted`.
pub fn find_blockers(at: &str, wanted: &[&DesiredDomain], inventory: &LibvirtInventory) -> Vec<Issue> {
    let mut found: Vec<Issue> = too_old(at, inventory).into_iter().collect();
    for one in wanted {
        if let Some(other) = inventory.find_foreign(one) {
            let what = format!("another machine has its name, with the UUID {}", other.uuid);
            found.push(Issue::error(&one.node, what).with_help("rename or delete one of them"));
        }
        if let Some(own) = inventory.find_own(one).filter(|own| own.name != one.node) {
            let what = format!("its machine has the name {}", own.name);
            found.push(
                Issue::error(&one.node, what)
                    .with_help(format!("`virsh domrename {} {}`", own.name, one.node)),
            );
        }
        if let Some(image) = &one.image {
            let what =
                format!("the disk cannot start from the image {image}: ichor creates empty disks on libvirt");
            found.push(Issue::error(&one.node, what).with_help("write an ISO in `image.source.iso`"));
        }
        if inventory.disks.contains(&one.disk) {
            let what = format!("there is a disk {} without its machine", one.disk);
            found.push(
                Issue::error(&one.node, what).with_help("delete it with `virsh vol-delete`, or rename it"),
            );
        }
        found.extend(missing_resources(at, one, inventory));
    }
    let mut seen = BTreeSet::new();
    found.retain(|obstacle| seen.insert(obstacle.clone()));
    found
}

fn too_old(at: &str, inventory: &LibvirtInventory) -> Option<Issue> {
    let release = inventory.release.as_deref()?;
    let mut parts = release.split('.').map_while(|part| part.parse::<u32>().ok());
    let (major, minor) = OLDEST;
    ((parts.next()?, parts.next().unwrap_or(0)) < OLDEST).then(|| {
        Issue::error(at, format!("libvirt {release} is too old"))
            .with_help(format!("upgrade to {major}.{minor} or newer"))
    })
}

fn missing_resources(at: &str, one: &DesiredDomain, inventory: &LibvirtInventory) -> Vec<Issue> {
    let mut found = Vec::new();
    let mut report = |what: String, fix: String| found.push(Issue::error(at, what).with_help(fix));
    let stores = std::iter::once((&one.store, "`vm.storage` or the hypervisor's `pool`"));
    for (store, key) in stores.chain(one.drives.iter().map(|drive| (&drive.store, "the hypervisor's `iso`")))
    {
        if let VolumeStore::Pool(pool) = store
            && !inventory.pools.contains(pool)
        {
            let pools =
                if inventory.pools.is_empty() { "a folder".to_owned() } else { inventory.pools.join(" or ") };
            report(
                format!("pool {pool} is not active"),
                format!("`virsh pool-start {pool}`, or write {pools} in {key}"),
            );
        }
    }
    if one.network_document.is_none() && !inventory.networks.contains(&one.network) {
        let fix = "`virsh net-define` it, or write the hypervisor's `network.nat` or `vm.bridge`".to_owned();
        report(format!("network {} does not exist", one.network), fix);
    }
    match inventory.capabilities.get(one.architecture) {
        Some(None) => report(
            format!("QEMU for {} is not installed", one.architecture),
            format!("install qemu-system for {} there", one.architecture),
        ),
        Some(Some(capabilities)) if one.is_uefi && !capabilities.uefi => report(
            format!("UEFI firmware for {} is not installed", one.architecture),
            "install ovmf (qemu-efi-aarch64 for ARM) there, or write `vm.firmware: seabios`".to_owned(),
        ),
        _ => {}
    }
    found
}
