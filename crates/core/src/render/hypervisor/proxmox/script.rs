//! `create.sh`: the calls that make a cluster's machines, the same that its API takes.

use super::settings;
use crate::render::hypervisor::guest::Guest;
use crate::render::hypervisor::medium::Source;
use crate::render::hypervisor::shell::quote;

/// The script, to be run on a host of the cluster.
pub fn text(guests: &[&Guest<'_>]) -> String {
    let mut script = "#!/bin/sh\n# Written by ichor: makes the machines of one Proxmox cluster; run it on one of its hosts. \
                      Nothing is started.\nset -eu\n"
        .to_owned();
    let cds = cds(guests);
    if !cds.is_empty() {
        script += "\n# These CDs have to be there:\n";
    }
    for (volume, from) in cds {
        script += &format!("# {volume}{}\n", from.map(|from| format!(" from {from}")).unwrap_or_default());
    }
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

/// Each CD once, and where it comes from.
fn cds<'g>(guests: &'g [&Guest<'_>]) -> Vec<(String, Option<&'g str>)> {
    let mut cds: Vec<_> = Vec::new();
    for (guest, medium) in guests.iter().flat_map(|guest| guest.media.iter().map(move |it| (guest, it))) {
        let from = match &medium.source {
            Source::Url(url) => Some(url.as_str()),
            Source::Built(path) => Some(path.as_str()),
            Source::Brought | Source::There(_) => None,
        };
        let cd = (super::volume(guest, medium), from);
        if !cds.contains(&cd) {
            cds.push(cd);
        }
    }
    cds
}
