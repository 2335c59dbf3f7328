//! What keeps machines from being made on a libvirt host.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::{DomainCapabilities, LibvirtDomain};
use super::{DesiredDomain, VolumeStore};
use ichor_values::Issue;

/// The oldest release that chooses firmware by what it can do.
const OLDEST: (u32, u32) = (7, 2);

/// What there is on a host.
#[derive(Clone, Debug, Default)]
pub struct LibvirtInventory {
    /// The daemon's release.
    pub release: Option<String>,
    /// Its machines.
    pub domains: Vec<LibvirtDomain>,
    /// Pools that run.
    pub pools: Vec<String>,
    /// Networks, whether they run or not.
    pub networks: Vec<String>,
    /// Disks of machines that are not there.
    pub disks: Vec<String>,
    /// What it can run of each architecture that is wanted; none where it has no QEMU for it.
    pub abilities: BTreeMap<&'static str, Option<DomainCapabilities>>,
}

impl LibvirtInventory {
    /// Another machine in the place of the node's own.
    pub fn foreign(&self, wanted: &DesiredDomain) -> Option<&LibvirtDomain> {
        let uuid = wanted.uuid.to_string();
        self.domains.iter().find(|domain| domain.name == wanted.node && domain.uuid != uuid)
    }

    /// The node's own machine.
    pub fn own(&self, wanted: &DesiredDomain) -> Option<&LibvirtDomain> {
        let uuid = wanted.uuid.to_string();
        self.domains.iter().find(|domain| domain.uuid == uuid)
    }
}

/// Everything that is in the way of `wanted`.
pub fn obstacles(at: &str, wanted: &[&DesiredDomain], there: &LibvirtInventory) -> Vec<Issue> {
    let mut found: Vec<Issue> = too_old(at, there).into_iter().collect();
    for one in wanted {
        if let Some(other) = there.foreign(one) {
            let what = format!("another machine has its name, with the UUID {}", other.uuid);
            found.push(Issue::error(&one.node, what).with_help("rename one of them, or take that one away"));
        }
        if let Some(own) = there.own(one).filter(|own| own.name != one.node) {
            let what = format!("its machine is called {}", own.name);
            found.push(
                Issue::error(&one.node, what)
                    .with_help(format!("`virsh domrename {} {}`", own.name, one.node)),
            );
        }
        if let Some(image) = &one.image {
            let what = format!("its disk shall begin as {image}, and disks of libvirt begin empty");
            found.push(Issue::error(&one.node, what).with_help("write an ISO in `image.source.iso`"));
        }
        if there.disks.contains(&one.disk) {
            let what = format!("there is a disk {} without its machine", one.disk);
            found.push(
                Issue::error(&one.node, what).with_help("take it away with `virsh vol-delete`, or rename it"),
            );
        }
        found.extend(lacks(at, one, there));
    }
    let mut seen = BTreeSet::new();
    found.retain(|obstacle| seen.insert(obstacle.clone()));
    found
}

fn too_old(at: &str, there: &LibvirtInventory) -> Option<Issue> {
    let release = there.release.as_deref()?;
    let mut parts = release.split('.').map_while(|part| part.parse::<u32>().ok());
    let (major, minor) = OLDEST;
    ((parts.next()?, parts.next().unwrap_or(0)) < OLDEST).then(|| {
        Issue::error(at, format!("it is libvirt {release}"))
            .with_help(format!("upgrade it to {major}.{minor} or newer"))
    })
}

fn lacks(at: &str, one: &DesiredDomain, there: &LibvirtInventory) -> Vec<Issue> {
    let mut found = Vec::new();
    let mut say = |what: String, fix: String| found.push(Issue::error(at, what).with_help(fix));
    let stores = std::iter::once((&one.store, "`vm.storage` or the hypervisor's `pool`"));
    for (store, key) in stores.chain(one.drives.iter().map(|drive| (&drive.store, "the hypervisor's `iso`")))
    {
        if let VolumeStore::Pool(pool) = store
            && !there.pools.contains(pool)
        {
            let pools = if there.pools.is_empty() { "a folder".to_owned() } else { there.pools.join(" or ") };
            say(
                format!("no pool {pool} runs there"),
                format!("`virsh pool-start {pool}`, or write {pools} in {key}"),
            );
        }
    }
    if one.network_document.is_none() && !there.networks.contains(&one.network) {
        let fix = "`virsh net-define` it, or write the hypervisor's `network.nat` or `vm.bridge`".to_owned();
        say(format!("there is no network {}", one.network), fix);
    }
    match there.abilities.get(one.architecture) {
        Some(None) => say(
            format!("it has no QEMU for {}", one.architecture),
            format!("install qemu-system for {} there", one.architecture),
        ),
        Some(Some(abilities)) if one.is_uefi && !abilities.uefi => say(
            format!("it has no UEFI firmware for {}", one.architecture),
            "install ovmf (qemu-efi-aarch64 for ARM) there, or write `vm.firmware: seabios`".to_owned(),
        ),
        _ => {}
    }
    found
}
