//! `create.sh`: commands that define a host's machines. Existing networks and disks are kept, so the script is idempotent.

use super::domain;
use super::network::LibvirtNetwork;
use super::storage::{self, StorageTarget};
use crate::plan::LibvirtPlan;
use crate::render::hypervisor::medium;
use crate::render::hypervisor::shell::quote;
use crate::render::hypervisor::vm_definition::VmDefinition;

/// The script, which runs in its own folder.
pub fn text(host: &LibvirtPlan, networks: &[LibvirtNetwork<'_>], guests: &[&VmDefinition<'_>]) -> String {
    let uri = &host.uri.value;
    let mut script = format!(
        "#!/bin/sh\n# Written by ichor: defines networks, disks and machines of one host, and starts only the networks.\n\
         set -eu\ncd \"$(dirname \"$0\")\"\n\
         virsh() {{ command virsh --quiet --connect {} \"$@\"; }}\n",
        quote(uri)
    );
    script += &medium::list_comments(guests, storage::cd);
    for network in networks.iter().filter(|network| network.is_defined_by_ichor()) {
        let (name, path) = (quote(network.name()), quote(&network.path()));
        script += &format!(
            "\nif ! virsh net-info {name} >/dev/null 2>&1; then\n    virsh net-define {path}\n    \
             virsh net-autostart {name}\n    virsh net-start {name}\nfi\n"
        );
    }
    for guest in guests {
        script += "\n";
        script += &disk_commands(guest);
        script += &format!("virsh define {}\n", domain::path(guest));
        let disable = if guest.vm.on_boot.value { "" } else { " --disable" };
        script += &format!("virsh autostart{disable} {guest}\n");
    }
    script
}

/// Commands that create a missing disk in a pool; for other storage, comments with the commands to run on the host.
fn disk_commands(guest: &VmDefinition<'_>) -> String {
    let name = storage::name(guest);
    match StorageTarget::parse(&guest.vm.storage.value) {
        StorageTarget::Pool(pool) => {
            let (pool, name) = (quote(pool), quote(&name));
            format!(
                "virsh vol-info --pool {pool} {name} >/dev/null 2>&1 || virsh vol-create {pool} {}\n",
                storage::path(guest)
            )
        }
        StorageTarget::Folder(folder) => {
            let path = quote(&format!("{folder}/{name}"));
            format!("# On the host: qemu-img create -f raw {path} {}G\n", guest.disk)
        }
        StorageTarget::Group(group) => {
            let group = quote(group.trim_start_matches("/dev/"));
            format!("# On the host: lvcreate --size {}G --name {name} {group}\n", guest.disk)
        }
    }
}
