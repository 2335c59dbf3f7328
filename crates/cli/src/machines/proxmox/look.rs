//! What there is on a Proxmox cluster, asked as far as it matters.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::machines::proxmox::answer::{settings, text};
use ichor_core::machines::proxmox::place::place;
use ichor_core::machines::proxmox::there::{self, Machine};
use ichor_core::machines::proxmox::{There, Wanted, request};
use serde_json::Value;

use super::api::{Api, ApiError};
use crate::machines::{Kind, Onlooker};

/// How long another run may go on making a machine, before it is taken for somebody else's.
const PATIENCE: Duration = Duration::from_mins(5);

/// The time between two looks at it.
const PAUSE: Duration = Duration::from_secs(1);

/// What is in the place of a node's machine.
pub(super) enum Found {
    /// Its own.
    Own(Machine),
    /// Nothing.
    Nothing,
    /// Another one: which.
    Foreign(String),
}

/// Looks for one node's machine.
pub(super) fn find(api: &Api, wanted: &Wanted) -> Result<Found, ApiError> {
    let mut there = There { machines: there::machines(&api.call(&request::machines())?), ..There::default() };
    recognise(api, &mut there, &[wanted])?;
    Ok(match (there.own(wanted), there.foreign(wanted)) {
        (Some(own), _) => Found::Own(own.clone()),
        (None, Some(other)) => {
            Found::Foreign(format!("number {}, `{}` on {}", other.id, other.name, other.host))
        }
        (None, None) => Found::Nothing,
    })
}

/// The hosts of all machines, those that are there and those that are not.
pub(super) fn placed(api: &Api, wanted: &[Wanted]) -> Result<BTreeMap<String, String>, ApiError> {
    let all: Vec<_> = wanted.iter().collect();
    Ok(place(&all, &general(api, &all)?))
}

/// Looks at everything that matters for `some` of all that is `wanted`.
pub(super) fn look(
    api: &Api,
    wanted: &[Wanted],
    some: &[&Wanted],
) -> Result<(There, BTreeMap<String, String>), ApiError> {
    let all: Vec<_> = wanted.iter().collect();
    let mut there = general(api, &all)?;
    let version = api.call(&request::version())?;
    text(&version, "version").unwrap_or_default().clone_into(&mut there.version);
    there.pools = there::names(&api.call(&request::pools())?, "poolid");
    let placed = place(&all, &there);
    let missing: Vec<_> = some.iter().copied().filter(|one| there.own(one).is_none()).collect();
    let hosts: BTreeSet<&String> = missing.iter().filter_map(|one| placed.get(&one.node)).collect();
    for host in there.hosts.iter_mut().filter(|host| host.is_online && hosts.contains(&host.name)) {
        host.storages = Some(there::storages(&api.call(&request::storages(&host.name))?));
        host.bridges = Some(there::names(&api.call(&request::bridges(&host.name))?, "iface"));
    }
    there.hidden = hidden(api, &there, &missing)?;
    there.volumes = given(api, &there, &missing, &placed)?;
    Ok((there, placed))
}

/// Hosts and machines.
fn general(api: &Api, wanted: &[&Wanted]) -> Result<There, ApiError> {
    let mut there = There {
        hosts: there::hosts(&api.call(&request::hosts())?),
        machines: there::machines(&api.call(&request::machines())?),
        ..There::default()
    };
    recognise(api, &mut there, wanted)?;
    Ok(there)
}

/// Asks each machine that may be one of ours for its UUID.
fn recognise(api: &Api, there: &mut There, wanted: &[&Wanted]) -> Result<(), ApiError> {
    let ids: BTreeSet<u32> =
        wanted.iter().flat_map(|one| there.candidates(one)).map(|machine| machine.id).collect();
    for machine in
        there.machines.iter_mut().filter(|machine| !machine.is_container && ids.contains(&machine.id))
    {
        machine.uuid = uuid(api, machine)?;
    }
    Ok(())
}

/// The UUID of a machine. While it is being made, by an earlier run perhaps, it has none: then it is waited for.
fn uuid(api: &Api, machine: &Machine) -> Result<Option<String>, ApiError> {
    let start = Instant::now();
    loop {
        let now = match api.call(&request::settings(&machine.host, machine.id)) {
            Ok(answer) => settings(&answer),
            // It was taken away, or moved, since the list was made.
            Err(error) if error.kind() == Kind::Refused => return Ok(None),
            Err(error) => return Err(error),
        };
        let uuid = there::uuid(&now);
        let is_made = uuid.is_some() || now.get("lock").map(String::as_str) != Some("create");
        if is_made || start.elapsed() > PATIENCE {
            return Ok(uuid);
        }
        thread::sleep(PAUSE);
    }
}

/// Waits until every machine is made that somebody has begun to make, or for as long as that may take.
pub(super) fn settle(api: &Api, onlooker: &dyn Onlooker) -> Result<(), ApiError> {
    let machines = there::machines(&api.call(&request::machines())?);
    for machine in machines.iter().filter(|machine| machine.is_begun) {
        onlooker.line(&format!("machine {} is being made on {}; is it ours?", machine.id, machine.host));
        uuid(api, machine)?;
    }
    Ok(())
}

/// The numbers of missing machines that are taken by what this login does not see.
fn hidden(api: &Api, there: &There, missing: &[&Wanted]) -> Result<Vec<u32>, ApiError> {
    let mut hidden = Vec::new();
    for id in missing.iter().filter_map(|one| one.id) {
        if there.machines.iter().any(|machine| machine.id == id) {
            continue;
        }
        match api.call(&request::free_id(Some(id))) {
            Ok(_) => {}
            Err(error) if error.kind() == Kind::Refused => hidden.push(id),
            Err(error) => return Err(error),
        }
    }
    Ok(hidden)
}

/// The volumes that the file names itself and that are there.
fn given(
    api: &Api,
    there: &There,
    missing: &[&Wanted],
    placed: &BTreeMap<String, String>,
) -> Result<Vec<String>, ApiError> {
    let mut places = BTreeSet::new();
    for one in missing {
        let Some(host) = placed.get(&one.node).and_then(|name| there.host(name)) else { continue };
        let has = |name: &str| host.storages.iter().flatten().any(|it| it.name == name && it.is_active);
        let given = one.files().filter(|file| file.is_given() && has(file.storage()));
        places.extend(given.map(|file| (host.name.as_str(), file.storage(), file.content())));
    }
    let mut volumes = Vec::new();
    for (host, storage, content) in places {
        volumes.extend(there::names(&api.call(&request::contents(host, storage, content))?, "volid"));
    }
    Ok(volumes)
}

/// A number that nobody has.
pub(super) fn free_id(api: &Api) -> Result<u32, ApiError> {
    let call = request::free_id(None);
    let answer = api.call(&call)?;
    let id = match &answer {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|id| u32::try_from(id).ok()),
    };
    id.ok_or_else(|| ApiError::Odd { request: call.to_string(), root: api.place() })
}

/// The MAC addresses among a machine's settings: `virtio=BC:24:11:00:00:11,bridge=vmbr0`.
pub(super) fn macs(settings: &BTreeMap<String, String>) -> Vec<String> {
    let ports = settings.iter().filter(|(key, _)| {
        key.strip_prefix("net").is_some_and(|nth| nth.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let mac = |value: &String| Some(value.split(',').next()?.split_once('=')?.1.to_owned());
    ports.filter_map(|(_, value)| mac(value)).collect()
}
