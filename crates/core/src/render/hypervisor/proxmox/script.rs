//! `create.sh`: the calls that make a cluster's machines, the same that its API takes.

use super::settings;
use crate::render::hypervisor::guest::VmDefinition;
use crate::render::hypervisor::medium;
use crate::render::hypervisor::shell::quote;

/// The script, to be run on a host of the cluster.
pub fn text(guests: &[&VmDefinition<'_>]) -> String {
    let mut script = "#!/bin/sh\n# Written by ichor: makes the machines of one Proxmox cluster; run it on one of its hosts. \
                      Nothing is started.\nset -eu\n"
        .to_owned();
    script += &medium::list(guests, super::volume);
    for guest in guests {
        if let Some(image) = &guest.image {
            script += &format!("\n# This image has to be there: {}\n", super::import(guest, image));
        }
        // Every host knows itself by this name too.
        let host = guest.vm.host.as_ref().map_or("localhost", |host| host.value.as_str());
        let id = match &guest.vm.id {
            Some(id) => id.value.to_string(),
            None => "\"$(pvesh get /cluster/nextid)\"".to_owned(),
        };
        // Its number is needed twice, and may be known there only.
        let (first, id) = match guest.image {
            Some(_) => (format!("id={id}\n"), "\"$id\"".to_owned()),
            None => (String::new(), id),
        };
        script += &format!("\n{first}pvesh create /nodes/{host}/qemu -vmid {id}");
        for (key, value) in settings(guest) {
            script += &format!(" \\\n    -{key} {}", quote(&value));
        }
        script += "\n";
        if guest.image.is_some() {
            let size = guest.disk;
            script += &format!("pvesh set /nodes/{host}/qemu/{id}/resize -disk scsi0 -size {size}G\n");
        }
    }
    script
}
