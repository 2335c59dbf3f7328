//! The inventory of a Proxmox cluster, from its replies.

use std::collections::BTreeMap;

use serde_json::Value;

use super::DesiredVm;
use super::reply::{flag, list, number, text};

/// The inventory of a cluster.
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
    /// IDs of machines that the login may not see.
    pub hidden: Vec<u32>,
    /// Existing volumes among those that are needed.
    pub volumes: Vec<String>,
}

/// A host of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxmoxHost {
    /// Its name.
    pub name: String,
    /// Whether it is online.
    pub is_online: bool,
    /// Free memory, in bytes.
    pub(crate) free_memory: u64,
    /// Its storages; none if not queried.
    pub storages: Option<Vec<ProxmoxStorage>>,
    /// Its bridges; none if not queried.
    pub bridges: Option<Vec<String>>,
}

/// A storage of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxmoxStorage {
    /// Its name.
    pub name: String,
    /// The kinds of content it accepts: `images`, `iso`.
    pub content: Vec<String>,
    /// Whether it is active.
    pub is_active: bool,
    /// Whether all hosts share it.
    pub(crate) is_shared: bool,
}

/// A machine or a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxmoxMachine {
    /// Its ID.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its host.
    pub host: String,
    /// Whether it runs.
    pub is_on: bool,
    /// Whether it is a container.
    pub is_container: bool,
    /// Whether it is being created and has neither its name nor its UUID yet.
    pub is_begun: bool,
    /// The UUID in its SMBIOS; none if missing or not queried.
    pub uuid: Option<String>,
}

impl ProxmoxInventory {
    /// The node's own machine, identified by its UUID.
    pub fn find_own(&self, wanted: &DesiredVm) -> Option<&ProxmoxMachine> {
        let uuid = wanted.uuid.to_string();
        self.machines
            .iter()
            .find(|machine| machine.uuid.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(&uuid)))
    }

    /// The machines with the node's ID or name.
    pub fn candidates(&self, wanted: &DesiredVm) -> impl Iterator<Item = &ProxmoxMachine> {
        let (id, name) = (wanted.id, wanted.node.clone());
        self.machines.iter().filter(move |machine| Some(machine.id) == id || machine.name == name)
    }

    /// Another machine with the node's ID or name.
    pub fn find_foreign(&self, wanted: &DesiredVm) -> Option<&ProxmoxMachine> {
        let own = self.find_own(wanted).map(|machine| machine.id);
        self.candidates(wanted).find(|machine| Some(machine.id) != own)
    }

    /// The host with this name.
    pub fn host(&self, name: &str) -> Option<&ProxmoxHost> {
        self.hosts.iter().find(|host| host.name == name)
    }
}

/// Parses the hosts.
pub fn parse_hosts(reply: &Value) -> Vec<ProxmoxHost> {
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
    let mut hosts: Vec<_> = list(reply).iter().filter_map(host).collect();
    hosts.sort_by(|one, other| one.name.cmp(&other.name));
    hosts
}

/// Parses the machines.
pub fn parse_machines(reply: &Value) -> Vec<ProxmoxMachine> {
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
    list(reply).iter().filter_map(machine).collect()
}

/// Parses the storages.
pub fn parse_storages(reply: &Value) -> Vec<ProxmoxStorage> {
    let storage = |value: &Value| {
        Some(ProxmoxStorage {
            name: text(value, "storage")?.to_owned(),
            content: text(value, "content").unwrap_or_default().split(',').map(ToOwned::to_owned).collect(),
            is_active: flag(value, "active") && flag(value, "enabled"),
            is_shared: flag(value, "shared"),
        })
    };
    list(reply).iter().filter_map(storage).collect()
}

/// The strings at a key of each entry: bridges, pools, volumes.
pub fn parse_names(reply: &Value, key: &str) -> Vec<String> {
    list(reply).iter().filter_map(|value| text(value, key)).map(ToOwned::to_owned).collect()
}

/// The UUID in a machine's settings.
pub fn smbios_uuid(settings: &BTreeMap<String, String>) -> Option<String> {
    let parts = settings.get("smbios1")?.split(',');
    parts.filter_map(|part| part.strip_prefix("uuid=")).map(str::to_lowercase).next()
}
