//! `create.sh`: `pvesh` commands that create a cluster's machines through the API.

use super::settings;
use crate::render::hypervisor::medium;
use crate::render::hypervisor::shell::quote;
use crate::render::hypervisor::vm_definition::VmDefinition;

/// The script, which runs on a host of the cluster.
pub fn text(guests: &[&VmDefinition<'_>]) -> String {
    let mut script = "#!/bin/sh\n# Written by ichor: creates the machines of one Proxmox cluster without starting them; run it \
                          on one of its hosts.\nset -eu\n"
        .to_owned();
    script += &medium::list_comments(guests, super::volume);
    for guest in guests {
        if let Some(image) = &guest.image {
            script += &format!("\n# Required image: {}\n", super::import(guest, image));
        }
        // Every host accepts this name for itself.
        let host = guest.vm.host.as_ref().map_or("localhost", |host| host.value.as_str());
        let id = match &guest.vm.id {
            Some(id) => id.value.to_string(),
            None => "\"$(pvesh get /cluster/nextid)\"".to_owned(),
        };
        // With an image the ID is needed twice, and may be assigned at run time.
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
