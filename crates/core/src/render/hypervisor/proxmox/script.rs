//! `create.sh`: the calls that make a cluster's machines, the same that its API takes.

use super::settings;
use crate::render::hypervisor::guest::Guest;
use crate::render::hypervisor::medium;
use crate::render::hypervisor::shell::quote;

/// The script, to be run on a host of the cluster.
pub fn text(guests: &[&Guest<'_>]) -> String {
    let mut script = "#!/bin/sh\n# Written by ichor: makes the machines of one Proxmox cluster; run it on one of its hosts. \
                      Nothing is started.\nset -eu\n"
        .to_owned();
    script += &medium::list(guests, super::volume);
    for guest in guests {
        // Every host knows itself by this name too.
        let host = guest.vm.host.as_ref().map_or("localhost", |host| host.value.as_str());
        let id = match &guest.vm.id {
            Some(id) => id.value.to_string(),
            None => "\"$(pvesh get /cluster/nextid)\"".to_owned(),
        };
        script += &format!("\npvesh create /nodes/{host}/qemu -vmid {id}");
        for (key, value) in settings(guest) {
            script += &format!(" \\\n    -{key} {}", quote(&value));
        }
        script += "\n";
    }
    script
}
