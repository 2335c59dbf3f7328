//! Proxmox VE: settings of each machine, and a script that creates them.

mod script;
mod settings;

pub use settings::{DRIVES, args, devices, import, machine, settings, volume};

use super::vm_definition::VmDefinition;
use crate::render::artifact::Artifact;

/// The files of one cluster's machines, below `folder`.
pub fn files(folder: &str, guests: &[&VmDefinition<'_>]) -> Vec<Artifact> {
    let mut files = vec![Artifact::public(format!("{folder}/create.sh"), script::text(guests))];
    for guest in guests {
        let lines = settings(guest).into_iter().map(|(key, value)| format!("{key}: {value}\n"));
        files.push(Artifact::public(format!("{folder}/{guest}.conf"), lines.collect::<String>()));
    }
    files
}
