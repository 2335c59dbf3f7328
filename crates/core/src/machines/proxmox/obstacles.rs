//! What keeps machines from being made on a Proxmox cluster. All of it is told at once, before anything is changed.

use std::collections::{BTreeMap, BTreeSet};

use super::there::{ProxmoxHost, ProxmoxMachine};
use super::{DesiredVm, ProxmoxInventory};
use ichor_values::Issue;

/// The oldest release that takes all that is asked: Proxmox 7 has reached its end.
const OLDEST: (u32, u32) = (8, 0);

/// Everything that is in the way of `wanted`, each on the host that [`place`](super::place::place) decided.
pub fn obstacles(
    at: &str,
    wanted: &[&DesiredVm],
    there: &ProxmoxInventory,
    placed: &BTreeMap<String, String>,
) -> Vec<Issue> {
    let mut found: Vec<Issue> = too_old(at, &there.version).into_iter().collect();
    let mut hosts: BTreeSet<&str> = BTreeSet::new();
    for one in wanted {
        found.extend(clashes(one, there));
        if there.own(one).is_some() {
            continue;
        }
        match placed.get(&one.node).map(|name| (name, there.host(name))) {
            Some((_, Some(host))) if host.is_online => {
                hosts.insert(&host.name);
                found.extend(lacks(one, host, there));
            }
            Some((name, Some(_))) => found.push(
                Issue::error(&one.node, format!("its host {name} does not answer"))
                    .with_help("switch it on, or name another in `vm.host`"),
            ),
            Some((name, None)) => found.push(
                Issue::error(&one.node, format!("{at} has no host {name}"))
                    .with_help(format!("write one of {} in `hosts` or `vm.host`", names(there))),
            ),
            None => found
                .push(Issue::error(&one.node, format!("no host of {at} answers")).with_help("switch one on")),
        }
    }
    found.extend(twice(wanted));
    let mut seen = BTreeSet::new();
    found.retain(|obstacle| seen.insert(obstacle.clone()));
    found
}

fn names(there: &ProxmoxInventory) -> String {
    there.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn too_old(at: &str, version: &str) -> Option<Issue> {
    let mut parts = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let release = (parts.next()?, parts.next().unwrap_or(0));
    (release < OLDEST).then(|| {
        let (major, minor) = OLDEST;
        Issue::error(at, format!("it is Proxmox VE {version}"))
            .with_help(format!("upgrade it to {major}.{minor} or newer"))
    })
}

/// Machines that are in the place of this one, or this one in another's.
fn clashes(one: &DesiredVm, there: &ProxmoxInventory) -> Vec<Issue> {
    let own = there.own(one);
    let mut found = Vec::new();
    for machine in there.candidates(one).filter(|machine| own.is_none_or(|own| own.id != machine.id)) {
        found.push(foreign(one, machine));
    }
    match (own, one.id) {
        (Some(own), Some(id)) if own.id != id => found.push(
            Issue::error(&one.node, format!("its machine has the number {}, and the file says {id}", own.id))
                .with_help(format!("write `vm.id: {}`, or take that machine away", own.id)),
        ),
        (None, Some(id)) if there.hidden.contains(&id) => found.push(
            Issue::error(
                &one.node,
                format!("the number {id} is taken by a machine that this login may not see"),
            )
            .with_help("write another `vm.id` or `vm.first_id`"),
        ),
        _ => {}
    }
    found
}

fn foreign(one: &DesiredVm, machine: &ProxmoxMachine) -> Issue {
    let kind = if machine.is_container { "a container" } else { "another machine" };
    let what = if Some(machine.id) == one.id {
        format!("the number {} is that of {kind}, {} on {}", machine.id, shown(machine), machine.host)
    } else {
        format!("{kind} on {}, number {}, has its name", machine.host, machine.id)
    };
    Issue::error(&one.node, what)
        .with_help("write another `vm.id`, rename one of them, or take that one away")
}

/// The name of a machine, where it has one.
fn shown(machine: &ProxmoxMachine) -> String {
    if machine.name.is_empty() { "without a name".to_owned() } else { format!("`{}`", machine.name) }
}

/// What the machine's host does not have.
fn lacks(one: &DesiredVm, host: &ProxmoxHost, there: &ProxmoxInventory) -> Vec<Issue> {
    let mut found = Vec::new();
    let mut needs = vec![(one.storage.as_str(), "images", "`vm.storage` or the hypervisor's `disks`")];
    needs.extend(one.files().map(|file| (file.storage(), file.content(), "the hypervisor's `iso`")));
    for (name, content, key) in needs {
        found.extend(storage(host, name, content, key));
    }
    if let Some(bridges) = &host.bridges
        && !bridges.contains(&one.bridge)
    {
        let what = format!("it has no bridge {}", one.bridge);
        found.push(
            Issue::error(&host.name, what)
                .with_help(format!("write one of {} in `vm.bridge`", bridges.join(", "))),
        );
    }
    if let Some(pool) = one.pool.as_ref().filter(|pool| !there.pools.contains(pool)) {
        let fix = format!("make it with `pvesh create /pools -poolid {pool}`, or remove `vm.pool`");
        found.push(Issue::error(&one.node, format!("there is no resource pool {pool}")).with_help(fix));
    }
    for drive in one.files().filter(|drive| drive.is_given() && !there.volumes.contains(&drive.volume)) {
        let what = format!("{} is not there", drive.volume);
        found.push(
            Issue::error(&one.node, what).with_help("upload it, or write a path or a URL in `image.source`"),
        );
    }
    if let Some(image) = one.image.as_ref().filter(|image| !is_importable(&image.volume)) {
        let what = format!("Proxmox makes no disk of {}", image.medium.name);
        found.push(
            Issue::error(&one.node, what).with_help("give it an image that ends in .qcow2, .raw or .vmdk"),
        );
    }
    found
}

/// Whether Proxmox takes a file of this name for an image.
fn is_importable(name: &str) -> bool {
    [".qcow2", ".raw", ".vmdk"].iter().any(|ending| name.ends_with(ending))
}

fn storage(host: &ProxmoxHost, name: &str, content: &str, key: &str) -> Option<Issue> {
    let storages = host.storages.as_ref()?;
    let Some(storage) = storages.iter().find(|storage| storage.name == name) else {
        let fit = storages.iter().filter(|storage| storage.content.iter().any(|it| it == content));
        let fit: Vec<_> = fit.map(|storage| storage.name.as_str()).collect();
        let fix = if fit.is_empty() {
            format!("make one for {content}")
        } else {
            format!("write {} in {key}", fit.join(" or "))
        };
        return Some(Issue::error(&host.name, format!("it has no storage {name}")).with_help(fix));
    };
    if !storage.is_active {
        let what = format!("its storage {name} is disabled or not reachable");
        return Some(
            Issue::error(&host.name, what)
                .with_help(format!("look at `pvesm status` there, or write another in {key}")),
        );
    }
    if storage.content.iter().any(|it| it == content) {
        return None;
    }
    let have: Vec<_> = storage.content.iter().map(String::as_str).chain([content]).collect();
    let fix =
        format!("allow it with `pvesm set {name} --content {}`, or write another in {key}", have.join(","));
    Some(Issue::error(&host.name, format!("its storage {name} takes no {content}")).with_help(fix))
}

/// Two machines that shall have one number.
fn twice(wanted: &[&DesiredVm]) -> Vec<Issue> {
    let mut by_id: BTreeMap<u32, &DesiredVm> = BTreeMap::new();
    let mut found = Vec::new();
    for one in wanted {
        let Some(id) = one.id else { continue };
        if let Some(other) = by_id.insert(id, one) {
            let what = format!("{} shall have the number {id} too", other.node);
            found.push(Issue::error(&one.node, what).with_help("write another `vm.id`"));
        }
    }
    found
}
