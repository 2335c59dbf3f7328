//! What libvirt reads: a document for each machine, its disk and its network, and the calls that bring them in.

pub mod domain;
mod lease;
pub mod network;
mod script;
pub mod storage;

use super::guest::VmDefinition;
use crate::plan::{LibvirtPlan, Plan};
use crate::render::artifact::Artifact;
use domain::CpuMode;
use network::LibvirtNetwork;
use storage::StorageTarget;

/// The files of one host's machines, below `folder`.
pub fn files(folder: &str, host: &LibvirtPlan, plan: &Plan, guests: &[&VmDefinition<'_>]) -> Vec<Artifact> {
    let networks = network::of(host, plan, guests);
    let mut files =
        vec![Artifact::public(format!("{folder}/create.sh"), script::text(host, &networks, guests))];
    for network in networks.iter().filter(|network| network.is_ours()) {
        files.push(Artifact::public(format!("{folder}/{}", network.path()), network.document().to_string()));
    }
    for guest in guests {
        if matches!(StorageTarget::of(&guest.vm.storage.value), StorageTarget::Pool(_)) {
            let volume = storage::volume(guest).to_string();
            files.push(Artifact::public(format!("{folder}/{}", storage::path(guest)), volume));
        }
        let network = LibvirtNetwork::name_of(&guest.vm.bridge.value);
        let document = domain::document(guest, network, CpuMode::Host).to_string();
        files.push(Artifact::public(format!("{folder}/{}", domain::path(guest)), document));
    }
    files
}
