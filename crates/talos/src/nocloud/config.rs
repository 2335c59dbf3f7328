//! `network-config` as Talos decodes it.

use std::collections::BTreeMap;

use super::NocloudNetworkError;
use super::bond::Options;
use crate::release;
use crate::schema_reader::{Fault, SchemaReader};
use crate::types;
use ichor_values::TalosVersion;
use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::{YamlNode, YamlValue};
use ichor_values::go_yaml::scalar::Leniency;

/// A `network-config` of either version.
#[derive(Clone, Debug, Default)]
pub(super) struct NetworkConfig {
    pub version: i64,
    pub entries: Vec<NetworkEntry>,
    pub(crate) ethernets: BTreeMap<String, Ethernet>,
    pub(crate) bonds: BTreeMap<String, NocloudBond>,
    pub(crate) vlans: BTreeMap<String, NocloudVlan>,
}

/// An entry of version 1.
#[derive(Clone, Debug, Default)]
pub(super) struct NetworkEntry {
    pub kind: String,
    pub name: String,
    pub mac: String,
    pub mtu: u32,
    pub(crate) subnets: Vec<Subnet>,
    pub addresses: Vec<String>,
    pub(crate) bond_interfaces: Vec<String>,
    pub(crate) bond: Options,
    pub(crate) vlan_id: u16,
    pub(crate) vlan_link: String,
}

/// A subnet of version 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Subnet {
    pub kind: String,
    pub address: String,
    pub(crate) netmask: String,
    pub gateway: String,
}

/// A link of version 2, or the common part of bonds and VLANs.
#[derive(Clone, Debug, Default)]
pub(super) struct Ethernet {
    pub mac: String,
    pub(crate) dhcp4: bool,
    pub(crate) dhcp6: bool,
    pub addresses: Vec<String>,
    pub(crate) gateway4: String,
    pub(crate) gateway6: String,
    pub mtu: u32,
    pub(crate) nameservers: Vec<String>,
    pub routes: Vec<EthernetRoute>,
}

/// A route of version 2.
#[derive(Clone, Debug, Default)]
pub(super) struct EthernetRoute {
    pub to: String,
    pub via: String,
    pub metric: u32,
    pub table: u32,
    pub(crate) on_link: bool,
}

/// A bond of version 2.
#[derive(Clone, Debug, Default)]
pub(super) struct NocloudBond {
    pub(crate) ethernet: Ethernet,
    pub(crate) interfaces: Vec<String>,
    pub options: Options,
}

/// A VLAN of version 2.
#[derive(Clone, Debug, Default)]
pub(super) struct NocloudVlan {
    pub(crate) ethernet: Ethernet,
    pub id: u16,
    pub link: String,
}

impl NetworkConfig {
    /// Decodes it, with or without the key `network` around it.
    pub(super) fn read(text: &str, talos: &TalosVersion) -> Result<Self, NocloudNetworkError> {
        let root = yaml::first(text)?.unwrap_or_else(|| YamlNode::from(&serde_json::Value::Null));
        root.check_keys()?;
        let mut decoder =
            Decoder { typed: SchemaReader::new(Leniency::for_minor(types::minor(talos))), talos };
        decoder.check_merges(&root);
        let top = decoder.map(&root, "");
        let config = match (top.find("network"), top.find("version")) {
            (Some(inner), _) => Some(decoder.config(inner, "network")),
            (None, Some(_)) => Some(decoder.config(&root, "")),
            (None, None) => None,
        };
        let to_error = |faults: Vec<Fault>| {
            NocloudNetworkError::Faults(faults.iter().map(ToString::to_string).collect())
        };
        let config = decoder.typed.finish(config).map_err(to_error)?;
        config.ok_or_else(|| NocloudNetworkError::NoVersion(top.names()))
    }
}

/// The entries of a map, and its path.
struct Entries<'n> {
    path: String,
    entries: Vec<(String, &'n YamlNode)>,
}

impl<'n> Entries<'n> {
    fn find(&self, key: &str) -> Option<&'n YamlNode> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, node)| *node)
    }

    fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn names(&self) -> Vec<String> {
        self.entries.iter().map(|(name, _)| name.clone()).collect()
    }
}

struct Decoder<'t> {
    typed: SchemaReader,
    talos: &'t TalosVersion,
}

impl Decoder<'_> {
    /// Talos first decodes it without types, so that a `<<` must be valid even where nothing is read.
    fn check_merges(&mut self, node: &YamlNode) {
        match &node.body {
            YamlValue::Plain(_) | YamlValue::Text(_) => {}
            YamlValue::List(items) => items.iter().for_each(|item| self.check_merges(item)),
            YamlValue::Map(entries) => {
                for (key, value) in entries {
                    let brings =
                        key.is_merge() && value.sources().iter().any(|source| source.entries().is_none());
                    if brings {
                        self.typed.fault(value, "`<<` takes a map");
                    }
                    self.check_merges(value);
                }
            }
        }
    }

    fn map<'n>(&mut self, node: &'n YamlNode, path: &str) -> Entries<'n> {
        Entries { path: path.to_owned(), entries: self.typed.entries(node, path).unwrap_or_default() }
    }

    fn inner<'n>(&mut self, of: &Entries<'n>, key: &str) -> Entries<'n> {
        let path = of.at(key);
        match of.find(key) {
            Some(node) => self.map(node, &path),
            None => Entries { path, entries: Vec::new() },
        }
    }

    fn text(&mut self, of: &Entries<'_>, key: &str) -> String {
        of.find(key).and_then(|node| self.typed.text(node, &of.at(key))).unwrap_or_default()
    }

    fn flag(&mut self, of: &Entries<'_>, key: &str) -> bool {
        of.find(key).and_then(|node| self.typed.flag(node, &of.at(key))).unwrap_or_default()
    }

    fn number<N: TryFrom<i128> + Default>(&mut self, of: &Entries<'_>, key: &str, most: u32) -> N {
        let found = of.find(key).and_then(|node| self.typed.number(node, &of.at(key), (0, most.into())));
        found.and_then(|number| N::try_from(number).ok()).unwrap_or_default()
    }

    fn list<'n, T>(
        &mut self,
        of: &Entries<'n>,
        key: &str,
        mut item: impl FnMut(&mut Self, &'n YamlNode, &str) -> Option<T>,
    ) -> Vec<T> {
        let path = of.at(key);
        let items = of.find(key).and_then(|node| self.typed.items(node, &path)).unwrap_or_default();
        let numbered = (0..).zip(items).map(|(nth, node)| (format!("{path}[{nth}]"), node));
        let mut list = Vec::new();
        // Lists drop empty items.
        for (path, node) in numbered {
            list.extend(if node.is_null() { None } else { item(self, node, &path) });
        }
        list
    }

    fn texts(&mut self, of: &Entries<'_>, key: &str) -> Vec<String> {
        self.list(of, key, |this, node, path| this.typed.text(node, path))
    }

    fn named<T>(
        &mut self,
        of: &Entries<'_>,
        key: &str,
        mut item: impl FnMut(&mut Self, &Entries<'_>) -> T,
    ) -> BTreeMap<String, T> {
        let all = self.inner(of, key);
        let mut named = BTreeMap::new();
        for (name, node) in &all.entries {
            let entries = self.map(node, &all.at(name));
            named.insert(name.clone(), item(self, &entries));
        }
        named
    }

    fn config(&mut self, node: &YamlNode, path: &str) -> NetworkConfig {
        let of = self.map(node, path);
        let version = of
            .find("version")
            .and_then(|node| self.typed.number(node, &of.at("version"), (i64::MIN.into(), i64::MAX.into())));
        NetworkConfig {
            version: version.and_then(|version| i64::try_from(version).ok()).unwrap_or_default(),
            entries: self.list(&of, "config", |this, node, path| Some(this.entry(node, path))),
            ethernets: self.named(&of, "ethernets", Self::ethernet),
            bonds: self.named(&of, "bonds", Self::bond),
            vlans: self.named(&of, "vlans", Self::vlan),
        }
    }

    fn entry(&mut self, node: &YamlNode, path: &str) -> NetworkEntry {
        let of = self.map(node, path);
        let params = self.inner(&of, "params");
        NetworkEntry {
            kind: self.text(&of, "type"),
            name: self.text(&of, "name"),
            mac: self.text(&of, "mac_address"),
            mtu: self.number(&of, "mtu", u32::MAX),
            subnets: self.list(&of, "subnets", |this, node, path| Some(this.subnet(node, path))),
            addresses: self.texts(&of, "address"),
            bond_interfaces: self.texts(&of, "bond_interfaces"),
            bond: Options {
                mode: self.text(&params, "bond-mode"),
                hash_policy: self.text(&params, "bond-xmit-hash-policy"),
                lacp_rate: self.text(&params, "bond-lacp-rate"),
                miimon: self.number(&params, "bond-miimon", u32::MAX),
                up_delay: self.number(&params, "up-delay", u32::MAX),
                down_delay: self.number(&params, "down-delay", u32::MAX),
            },
            vlan_id: self.number(&of, "vlan_id", u16::MAX.into()),
            vlan_link: self.text(&of, "vlan_link"),
        }
    }

    fn subnet(&mut self, node: &YamlNode, path: &str) -> Subnet {
        let of = self.map(node, path);
        Subnet {
            kind: self.text(&of, "type"),
            address: self.text(&of, "address"),
            netmask: self.text(&of, "netmask"),
            gateway: self.text(&of, "gateway"),
        }
    }

    fn ethernet(&mut self, of: &Entries<'_>) -> Ethernet {
        let matched = self.inner(of, "match");
        self.text(&matched, "name");
        let nameservers = self.inner(of, "nameservers");
        self.texts(&nameservers, "search");
        self.routing_policy(of);
        Ethernet {
            mac: self.text(&matched, "macaddress"),
            dhcp4: self.flag(of, "dhcp4"),
            dhcp6: self.flag(of, "dhcp6"),
            addresses: self.texts(of, "addresses"),
            gateway4: self.text(of, "gateway4"),
            gateway6: self.text(of, "gateway6"),
            mtu: self.number(of, "mtu", u32::MAX),
            nameservers: self.texts(&nameservers, "addresses"),
            routes: self.list(of, "routes", |this, node, path| Some(this.route(node, path))),
        }
    }

    /// Talos does nothing with it, and refuses one that it cannot decode.
    fn routing_policy(&mut self, of: &Entries<'_>) {
        // Before 1.13 the key was misspelt.
        let from = if release::at_least(self.talos, 13) { "from" } else { "froom" };
        self.list(of, "routing-policy", |this, node, path| {
            let policy = this.map(node, path);
            this.text(&policy, from);
            Some(this.number::<u32>(&policy, "table", u32::MAX))
        });
    }

    fn route(&mut self, node: &YamlNode, path: &str) -> EthernetRoute {
        let of = self.map(node, path);
        EthernetRoute {
            to: self.text(&of, "to"),
            via: self.text(&of, "via"),
            metric: self.number(&of, "metric", u32::MAX),
            table: self.number(&of, "table", u32::MAX),
            on_link: self.flag(&of, "on-link"),
        }
    }

    fn bond(&mut self, of: &Entries<'_>) -> NocloudBond {
        let parameters = self.inner(of, "parameters");
        NocloudBond {
            ethernet: self.ethernet(of),
            interfaces: self.texts(of, "interfaces"),
            options: Options {
                mode: self.text(&parameters, "mode"),
                hash_policy: self.text(&parameters, "transmit-hash-policy"),
                lacp_rate: self.text(&parameters, "lacp-rate"),
                miimon: self.number(&parameters, "mii-monitor-interval", u32::MAX),
                up_delay: self.number(&parameters, "up-delay", u32::MAX),
                down_delay: self.number(&parameters, "down-delay", u32::MAX),
            },
        }
    }

    fn vlan(&mut self, of: &Entries<'_>) -> NocloudVlan {
        NocloudVlan {
            ethernet: self.ethernet(of),
            id: self.number(of, "id", u16::MAX.into()),
            link: self.text(of, "link"),
        }
    }
}
