//! Blockers that keep machines from being created on a Proxmox cluster. All are reported at once, before any change.

use std::collections::{BTreeMap, BTreeSet};

use super::inventory::{ProxmoxHost, ProxmoxMachine};
use super::{DesiredVm, ProxmoxInventory};
use ichor_values::Issue;

/// The oldest release that supports all requests. Proxmox 7 is end of life.
const OLDEST: (u32, u32) = (8, 0);

/// Finds everything that prevents the creation of `wanted`, each on the host that [`place_vms`](super::placement::place_vms)
/// selected.
pub fn find_blockers(
    at: &str,
    wanted: &[&DesiredVm],
    inventory: &ProxmoxInventory,
    placed: &BTreeMap<String, String>,
) -> Vec<Issue> {
    let mut found: Vec<Issue> = too_old(at, &inventory.version).into_iter().collect();
    let mut hosts: BTreeSet<&str> = BTreeSet::new();
    for one in wanted {
        found.extend(clashes(one, inventory));
        if inventory.find_own(one).is_some() {
            continue;
        }
        match placed.get(&one.node).map(|name| (name, inventory.host(name))) {
            Some((_, Some(host))) if host.is_online => {
                hosts.insert(&host.name);
                found.extend(missing_resources(one, host, inventory));
            }
            Some((name, Some(_))) => found.push(
                Issue::error(&one.node, format!("its host {name} is offline"))
                    .with_help("power it on, or set another `vm.host`"),
            ),
            Some((name, None)) => found.push(
                Issue::error(&one.node, format!("{at} has no host {name}"))
                    .with_help(format!("write one of {} in `hosts` or `vm.host`", host_names(inventory))),
            ),
            None => found.push(
                Issue::error(&one.node, format!("all hosts of {at} are offline")).with_help("power one on"),
            ),
        }
    }
    found.extend(duplicate_ids(wanted));
    let mut seen = BTreeSet::new();
    found.retain(|obstacle| seen.insert(obstacle.clone()));
    found
}

fn host_names(inventory: &ProxmoxInventory) -> String {
    inventory.hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn too_old(at: &str, version: &str) -> Option<Issue> {
    let mut parts = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let release = (parts.next()?, parts.next().unwrap_or(0));
    (release < OLDEST).then(|| {
        let (major, minor) = OLDEST;
        Issue::error(at, format!("Proxmox VE {version} is too old"))
            .with_help(format!("upgrade to {major}.{minor} or newer"))
    })
}

/// Machines with the same name or ID.
fn clashes(one: &DesiredVm, inventory: &ProxmoxInventory) -> Vec<Issue> {
    let own = inventory.find_own(one);
    let mut found = Vec::new();
    for machine in inventory.candidates(one).filter(|machine| own.is_none_or(|own| own.id != machine.id)) {
        found.push(report_foreign(one, machine));
    }
    match (own, one.id) {
        (Some(own), Some(id)) if own.id != id => found.push(
            Issue::error(&one.node, format!("its machine has the ID {}, not {id} as in the file", own.id))
                .with_help(format!("write `vm.id: {}`, or delete that machine", own.id)),
        ),
        (None, Some(id)) if inventory.hidden.contains(&id) => found.push(
            Issue::error(
                &one.node,
                format!("the ID {id} is in use by a machine that this login may not see"),
            )
            .with_help("write another `vm.id` or `vm.first_id`"),
        ),
        _ => {}
    }
    found
}

fn report_foreign(one: &DesiredVm, machine: &ProxmoxMachine) -> Issue {
    let kind = if machine.is_container { "a container" } else { "another machine" };
    let what = if Some(machine.id) == one.id {
        format!("the ID {} is in use by {kind}, {} on {}", machine.id, display_name(machine), machine.host)
    } else {
        format!("{kind} on {}, ID {}, has its name", machine.host, machine.id)
    };
    Issue::error(&one.node, what).with_help("write another `vm.id`, or rename or delete one of them")
}

/// The name of a machine, if it has one.
fn display_name(machine: &ProxmoxMachine) -> String {
    if machine.name.is_empty() { "without a name".to_owned() } else { format!("`{}`", machine.name) }
}

/// Resources that the machine's host lacks.
fn missing_resources(one: &DesiredVm, host: &ProxmoxHost, inventory: &ProxmoxInventory) -> Vec<Issue> {
    let mut found = Vec::new();
    let mut needs = vec![(one.storage.as_str(), "images", "`vm.storage` or the hypervisor's `disks`")];
    needs.extend(one.files().map(|file| (file.storage(), file.content(), "the hypervisor's `iso`")));
    for (name, content, key) in needs {
        found.extend(check_storage(host, name, content, key));
    }
    if let Some(bridges) = &host.bridges
        && !bridges.contains(&one.bridge)
    {
        let what = format!("bridge {} does not exist", one.bridge);
        found.push(
            Issue::error(&host.name, what)
                .with_help(format!("write one of {} in `vm.bridge`", bridges.join(", "))),
        );
    }
    if let Some(pool) = one.pool.as_ref().filter(|pool| !inventory.pools.contains(pool)) {
        let fix = format!("create it with `pvesh create /pools -poolid {pool}`, or remove `vm.pool`");
        found.push(Issue::error(&one.node, format!("resource pool {pool} does not exist")).with_help(fix));
    }
    for drive in one.files().filter(|drive| drive.is_given() && !inventory.volumes.contains(&drive.volume)) {
        let what = format!("{} does not exist", drive.volume);
        found.push(
            Issue::error(&one.node, what).with_help("upload it, or write a path or a URL in `image.source`"),
        );
    }
    if let Some(image) = one.image.as_ref().filter(|image| !is_importable(&image.volume)) {
        let what = format!("Proxmox cannot import {} as a disk", image.medium.name);
        found
            .push(Issue::error(&one.node, what).with_help("use an image that ends in .qcow2, .raw or .vmdk"));
    }
    found
}

/// Whether Proxmox accepts a file of this name as an image.
fn is_importable(name: &str) -> bool {
    [".qcow2", ".raw", ".vmdk"].iter().any(|ending| name.ends_with(ending))
}

fn check_storage(host: &ProxmoxHost, name: &str, content: &str, key: &str) -> Option<Issue> {
    let storages = host.storages.as_ref()?;
    let Some(storage) = storages.iter().find(|storage| storage.name == name) else {
        let fit = storages.iter().filter(|storage| storage.content.iter().any(|it| it == content));
        let fit: Vec<_> = fit.map(|storage| storage.name.as_str()).collect();
        let fix = if fit.is_empty() {
            format!("create one for {content}")
        } else {
            format!("write {} in {key}", fit.join(" or "))
        };
        return Some(Issue::error(&host.name, format!("storage {name} does not exist")).with_help(fix));
    };
    if !storage.is_active {
        let what = format!("storage {name} is disabled or not reachable");
        return Some(
            Issue::error(&host.name, what)
                .with_help(format!("run `pvesm status` there, or write another in {key}")),
        );
    }
    if storage.content.iter().any(|it| it == content) {
        return None;
    }
    let have: Vec<_> = storage.content.iter().map(String::as_str).chain([content]).collect();
    let fix =
        format!("allow it with `pvesm set {name} --content {}`, or write another in {key}", have.join(","));
    Some(Issue::error(&host.name, format!("storage {name} does not accept {content}")).with_help(fix))
}

/// Machines with the same desired ID.
fn duplicate_ids(wanted: &[&DesiredVm]) -> Vec<Issue> {
    let mut by_id: BTreeMap<u32, &DesiredVm> = BTreeMap::new();
    let mut found = Vec::new();
    for one in wanted {
        let Some(id) = one.id else { continue };
        if let Some(other) = by_id.insert(id, one) {
            let what = format!("{} has the same ID {id}", other.node);
            found.push(Issue::error(&one.node, what).with_help("write another `vm.id`"));
        }
    }
    found
}
