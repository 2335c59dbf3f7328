//! VM definitions for libvirt, Proxmox and Terraform.
//!
//! [`render`] creates a [`VmDefinition`] for every node with `vm` and writes it for its hypervisor below `hypervisors/NAME/`;
//! nodes in Google Cloud are written below `clouds/gcp/`.
//!
//! Not here: access to hypervisors.

pub mod libvirt;
pub mod medium;
pub mod proxmox;
mod shell;
pub mod terraform;
pub mod uuid;
pub mod vm_definition;

use super::artifact::Artifact;
use crate::plan::{HypervisorPlan, Plan};
use ichor_values::Issue;
use vm_definition::VmDefinition;

/// The files below `hypervisors/` and `clouds/`, or all errors.
pub fn render(plan: &Plan) -> Result<Vec<Artifact>, Vec<Issue>> {
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    let mut guests = Vec::new();
    for node in &plan.nodes {
        match VmDefinition::from_node(plan, node) {
            Ok(guest) => guests.extend(guest),
            Err(error) => errors.push(error),
        }
    }
    for HypervisorPlan { name, proxmox, libvirt } in &plan.hypervisors {
        let is_here = |guest: &&VmDefinition<'_>| {
            guest.vm.hypervisor.as_ref().is_some_and(|hypervisor| hypervisor.value == *name)
        };
        let guests: Vec<_> = guests.iter().filter(is_here).collect();
        let folder = format!("hypervisors/{name}");
        if guests.is_empty() {
            continue;
        }
        if let Some(libvirt) = libvirt {
            files.extend(libvirt::files(&folder, libvirt, plan, &guests));
        }
        if let Some(proxmox) = proxmox {
            files.extend(proxmox::files(&folder, &guests));
            files.push(Artifact::public(
                format!("{folder}/main.tf.json"),
                terraform::proxmox::module(proxmox, &guests),
            ));
        }
    }
    match terraform::gcp::module(plan) {
        Ok(module) => files.extend(module.map(|text| Artifact::public("clouds/gcp/main.tf.json", text))),
        Err(mut found) => errors.append(&mut found),
    }
    if errors.is_empty() { Ok(files) } else { Err(errors) }
}
