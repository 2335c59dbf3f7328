//! What there is on a Proxmox cluster, out of its answers.

use std::collections::BTreeMap;

use serde_json::Value;

use super::DesiredVm;
use super::answer::{flag, list, number, text};

/// Everything that was looked up.
#[derive(Clone, Debug, Default)]
pub struct ProxmoxInventory {
    /// Its release: `9.1.3`.
    pub version: String,
    /// Its hosts.
    pub hosts: Vec<ProxmoxHost>,
    /// Its machines and containers.
    pub machines: Vec<ProxmoxMachine>,
    /// The names of its resource pools.
    pub pools: Vec<String>,
    /// Numbers that are taken by what is not among the machines, because whoever asked may not see it.
    pub hidden: Vec<u32>,
    /// Volumes that were looked for and are there.
    pub volumes: Vec<String>,
}

/// A host of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxmoxHost {
    /// Its name.
    pub name: String,
    /// Whether it answers.
    pub is_online: bool,
    /// Memory that nobody uses, in bytes.
    pub(crate) free_memory: u64,
    /// Its storages; none where it was not asked.
    pub storages: Option<Vec<ProxmoxStorage>>,
    /// Its bridges; none where it was not asked.
    pub bridges: Option<Vec<String>>,
}

/// A storage of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxmoxStorage {
    /// Its name.
    pub name: String,
    /// What may be in it: `images`, `iso`.
    pub content: Vec<String>,
    /// Whether it can be used now.
    pub is_active: bool,
    /// Whether all hosts see the same in it.
    pub(crate) is_shared: bool,
}

/// A machine or a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxmoxMachine {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// The host it is on.
    pub host: String,
    /// Whether it runs.
    pub is_on: bool,
    /// Whether it is a container.
    pub is_container: bool,
    /// Whether somebody is still making it: until then it has neither its name nor its UUID.
    pub is_begun: bool,
    /// The UUID in its SMBIOS; none where it has none, or was not asked.
    pub uuid: Option<String>,
}

impl ProxmoxInventory {
    /// The node's own machine: known by its UUID.
    pub fn own(&self, wanted: &DesiredVm) -> Option<&ProxmoxMachine> {
        let uuid = wanted.uuid.to_string();
        self.machines
            .iter()
            .find(|machine| machine.uuid.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(&uuid)))
    }

    /// The machines that may be the node's own, or in its place: those with its number or its name.
    pub fn candidates(&self, wanted: &DesiredVm) -> impl Iterator<Item = &ProxmoxMachine> {
        let (id, name) = (wanted.id, wanted.node.clone());
        self.machines.iter().filter(move |machine| Some(machine.id) == id || machine.name == name)
    }

    /// Another machine in the place of the node's own.
    pub fn foreign(&self, wanted: &DesiredVm) -> Option<&ProxmoxMachine> {
        let own = self.own(wanted).map(|machine| machine.id);
        self.candidates(wanted).find(|machine| Some(machine.id) != own)
    }

    /// A host by its name.
    pub fn host(&self, name: &str) -> Option<&ProxmoxHost> {
        self.hosts.iter().find(|host| host.name == name)
    }
}

/// The hosts of an answer.
pub fn hosts(answer: &Value) -> Vec<ProxmoxHost> {
    let host = |value: &Value| {
        Some(ProxmoxHost {
            name: text(value, "node")?.to_owned(),
            is_online: text(value, "status") == Some("online"),
            free_memory: number(value, "maxmem")
                .unwrap_or(0)
                .saturating_sub(number(value, "mem").unwrap_or(0)),
            storages: None,
            bridges: None,
        })
    };
    let mut hosts: Vec<_> = list(answer).iter().filter_map(host).collect();
    hosts.sort_by(|one, other| one.name.cmp(&other.name));
    hosts
}

/// The machines of an answer.
pub fn machines(answer: &Value) -> Vec<ProxmoxMachine> {
    let machine = |value: &Value| {
        Some(ProxmoxMachine {
            id: number(value, "vmid")?.try_into().ok()?,
            name: text(value, "name").unwrap_or_default().to_owned(),
            host: text(value, "node")?.to_owned(),
            is_on: text(value, "status") == Some("running"),
            is_container: text(value, "type") == Some("lxc"),
            is_begun: text(value, "lock") == Some("create"),
            uuid: None,
        })
    };
    list(answer).iter().filter_map(machine).collect()
}

/// The storages of an answer.
pub fn storages(answer: &Value) -> Vec<ProxmoxStorage> {
    let storage = |value: &Value| {
        Some(ProxmoxStorage {
            name: text(value, "storage")?.to_owned(),
            content: text(value, "content").unwrap_or_default().split(',').map(ToOwned::to_owned).collect(),
            is_active: flag(value, "active") && flag(value, "enabled"),
            is_shared: flag(value, "shared"),
        })
    };
    list(answer).iter().filter_map(storage).collect()
}

/// The texts at a key of an answer's entries: bridges, pools, volumes.
pub fn names(answer: &Value, key: &str) -> Vec<String> {
    list(answer).iter().filter_map(|value| text(value, key)).map(ToOwned::to_owned).collect()
}

/// The UUID among a machine's settings.
pub fn uuid(settings: &BTreeMap<String, String>) -> Option<String> {
    let parts = settings.get("smbios1")?.split(',');
    parts.filter_map(|part| part.strip_prefix("uuid=")).map(str::to_lowercase).next()
}
