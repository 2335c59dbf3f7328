//! libvirt: documents of machines, disks and networks, and a script that defines them.

pub mod domain;
mod lease;
pub mod network;
mod script;
pub mod storage;

use super::vm_definition::VmDefinition;
use crate::plan::{LibvirtPlan, Plan};
use crate::render::artifact::Artifact;
use domain::CpuMode;
use network::LibvirtNetwork;
use storage::StorageTarget;

/// The files of one host's machines, below `folder`.
pub fn files(folder: &str, host: &LibvirtPlan, plan: &Plan, guests: &[&VmDefinition<'_>]) -> Vec<Artifact> {
    let networks = network::networks(host, plan, guests);
    let mut files =
        vec![Artifact::public(format!("{folder}/create.sh"), script::text(host, &networks, guests))];
    for network in networks.iter().filter(|network| network.is_defined_by_ichor()) {
        files.push(Artifact::public(format!("{folder}/{}", network.path()), network.document().to_string()));
    }
    for guest in guests {
        if matches!(StorageTarget::parse(&guest.vm.storage.value), StorageTarget::Pool(_)) {
            let volume = storage::volume(guest).to_string();
            files.push(Artifact::public(format!("{folder}/{}", storage::path(guest)), volume));
        }
        let network = LibvirtNetwork::name_on(&guest.vm.bridge.value);
        let document = domain::document(guest, network, CpuMode::Host).to_string();
        files.push(Artifact::public(format!("{folder}/{}", domain::path(guest)), document));
    }
    files
}
