//! Inventory of a Proxmox cluster: hosts, VMs, storages, as far as needed.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::machines::proxmox::inventory::{self, ProxmoxMachine};
use ichor_core::machines::proxmox::placement::place_vms;
use ichor_core::machines::proxmox::reply::{parse_settings, text};
use ichor_core::machines::proxmox::{DesiredVm, ProxmoxInventory, request};
use serde_json::Value;

use super::api::{ProxmoxApi, ProxmoxError};
use crate::machines::{FailureKind, ProgressSink};

/// Time limit for another run to finish creating a VM, before it counts as foreign.
const CREATION_TIMEOUT: Duration = Duration::from_mins(5);

/// Interval between polls of a VM that is being created.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The VM with the name or number of a node.
pub(super) enum NodeVm {
    /// The node's own VM.
    Own(ProxmoxMachine),
    /// No VM.
    Nothing,
    /// A VM that ichor did not create, described.
    Foreign(String),
}

/// Finds the VM of a node.
pub(super) fn find_vm(api: &ProxmoxApi, wanted: &DesiredVm) -> Result<NodeVm, ProxmoxError> {
    let mut inventory = ProxmoxInventory {
        machines: inventory::parse_machines(&api.call(&request::machines())?),
        ..ProxmoxInventory::default()
    };
    read_uuids(api, &mut inventory, &[wanted])?;
    Ok(match (inventory.find_own(wanted), inventory.find_foreign(wanted)) {
        (Some(own), _) => NodeVm::Own(own.clone()),
        (None, Some(other)) => {
            NodeVm::Foreign(format!("VM {} (`{}` on {})", other.id, other.name, other.host))
        }
        (None, None) => NodeVm::Nothing,
    })
}

/// Hosts of all VMs, existing and planned.
pub(super) fn placements(
    api: &ProxmoxApi,
    wanted: &[DesiredVm],
) -> Result<BTreeMap<String, String>, ProxmoxError> {
    let all: Vec<_> = wanted.iter().collect();
    Ok(place_vms(&all, &list_hosts_and_vms(api, &all)?))
}

/// Reads the inventory needed to create the VMs in `some`, out of all `wanted`.
pub(super) fn read_inventory(
    api: &ProxmoxApi,
    wanted: &[DesiredVm],
    some: &[&DesiredVm],
) -> Result<(ProxmoxInventory, BTreeMap<String, String>), ProxmoxError> {
    let all: Vec<_> = wanted.iter().collect();
    let mut inventory = list_hosts_and_vms(api, &all)?;
    let version = api.call(&request::version())?;
    text(&version, "version").unwrap_or_default().clone_into(&mut inventory.version);
    inventory.pools = inventory::parse_names(&api.call(&request::pools())?, "poolid");
    let placed = place_vms(&all, &inventory);
    let missing: Vec<_> = some.iter().copied().filter(|one| inventory.find_own(one).is_none()).collect();
    let hosts: BTreeSet<&String> = missing.iter().filter_map(|one| placed.get(&one.node)).collect();
    for host in inventory.hosts.iter_mut().filter(|host| host.is_online && hosts.contains(&host.name)) {
        host.storages = Some(inventory::parse_storages(&api.call(&request::storages(&host.name))?));
        host.bridges = Some(inventory::parse_names(&api.call(&request::bridges(&host.name))?, "iface"));
    }
    inventory.hidden = hidden_ids(api, &inventory, &missing)?;
    inventory.volumes = existing_volumes(api, &inventory, &missing, &placed)?;
    Ok((inventory, placed))
}

/// Hosts and VMs of the cluster.
fn list_hosts_and_vms(api: &ProxmoxApi, wanted: &[&DesiredVm]) -> Result<ProxmoxInventory, ProxmoxError> {
    let mut inventory = ProxmoxInventory {
        hosts: inventory::parse_hosts(&api.call(&request::hosts())?),
        machines: inventory::parse_machines(&api.call(&request::machines())?),
        ..ProxmoxInventory::default()
    };
    read_uuids(api, &mut inventory, wanted)?;
    Ok(inventory)
}

/// Reads the UUIDs of the VMs that may be ours.
fn read_uuids(
    api: &ProxmoxApi,
    inventory: &mut ProxmoxInventory,
    wanted: &[&DesiredVm],
) -> Result<(), ProxmoxError> {
    let ids: BTreeSet<u32> =
        wanted.iter().flat_map(|one| inventory.candidates(one)).map(|machine| machine.id).collect();
    for machine in
        inventory.machines.iter_mut().filter(|machine| !machine.is_container && ids.contains(&machine.id))
    {
        machine.uuid = uuid(api, machine)?;
    }
    Ok(())
}

/// UUID of a VM. A VM that is still being created has none yet, so this waits for it.
fn uuid(api: &ProxmoxApi, machine: &ProxmoxMachine) -> Result<Option<String>, ProxmoxError> {
    let start = Instant::now();
    loop {
        let now = match api.call(&request::settings(&machine.host, machine.id)) {
            Ok(answer) => parse_settings(&answer),
            // Deleted or migrated since the list was read.
            Err(error) if error.kind() == FailureKind::Rejected => return Ok(None),
            Err(error) => return Err(error),
        };
        let uuid = inventory::smbios_uuid(&now);
        let is_made = uuid.is_some() || now.get("lock").map(String::as_str) != Some("create");
        if is_made || start.elapsed() > CREATION_TIMEOUT {
            return Ok(uuid);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Waits until all VMs that are being created are complete, or until a timeout.
pub(super) fn wait_for_creations(api: &ProxmoxApi, progress: &dyn ProgressSink) -> Result<(), ProxmoxError> {
    let machines = inventory::parse_machines(&api.call(&request::machines())?);
    for machine in machines.iter().filter(|machine| machine.is_begun) {
        progress.message(&format!(
            "VM {} is being created on {}; waiting to see whether it is ours",
            machine.id, machine.host
        ));
        uuid(api, machine)?;
    }
    Ok(())
}

/// Numbers of missing VMs that are taken by objects these credentials cannot see.
fn hidden_ids(
    api: &ProxmoxApi,
    inventory: &ProxmoxInventory,
    missing: &[&DesiredVm],
) -> Result<Vec<u32>, ProxmoxError> {
    let mut hidden = Vec::new();
    for id in missing.iter().filter_map(|one| one.id) {
        if inventory.machines.iter().any(|machine| machine.id == id) {
            continue;
        }
        match api.call(&request::free_id(Some(id))) {
            Ok(_) => {}
            Err(error) if error.kind() == FailureKind::Rejected => hidden.push(id),
            Err(error) => return Err(error),
        }
    }
    Ok(hidden)
}

/// Existing volumes that the cluster file names.
fn existing_volumes(
    api: &ProxmoxApi,
    inventory: &ProxmoxInventory,
    missing: &[&DesiredVm],
    placed: &BTreeMap<String, String>,
) -> Result<Vec<String>, ProxmoxError> {
    let mut places = BTreeSet::new();
    for one in missing {
        let Some(host) = placed.get(&one.node).and_then(|name| inventory.host(name)) else { continue };
        let has = |name: &str| host.storages.iter().flatten().any(|it| it.name == name && it.is_active);
        let given = one.files().filter(|file| file.is_given() && has(file.storage()));
        places.extend(given.map(|file| (host.name.as_str(), file.storage(), file.content())));
    }
    let mut volumes = Vec::new();
    for (host, storage, content) in places {
        volumes
            .extend(inventory::parse_names(&api.call(&request::contents(host, storage, content))?, "volid"));
    }
    Ok(volumes)
}

/// A free VM number.
pub(super) fn free_id(api: &ProxmoxApi) -> Result<u32, ProxmoxError> {
    let call = request::free_id(None);
    let answer = api.call(&call)?;
    let id = match &answer {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|id| u32::try_from(id).ok()),
    };
    id.ok_or_else(|| ProxmoxError::Odd { request: call.to_string(), root: api.location() })
}

/// MAC addresses in the settings of a VM: `virtio=BC:24:11:00:00:11,bridge=vmbr0`.
pub(super) fn macs(settings: &BTreeMap<String, String>) -> Vec<String> {
    let ports = settings.iter().filter(|(key, _)| {
        key.strip_prefix("net").is_some_and(|nth| nth.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let mac = |value: &String| Some(value.split(',').next()?.split_once('=')?.1.to_owned());
    ports.filter_map(|(_, value)| mac(value)).collect()
}
