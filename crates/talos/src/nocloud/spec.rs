//! The records of a platform's network configuration, as nocloud writes them.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::NocloudNetworkError;
use crate::go::netip;
use crate::release;
use ichor_values::TalosVersion;

/// The layer of everything that comes from a platform.
pub(super) const LAYER: &str = "platform";

/// The metric of routes and DHCP where none is written.
pub(super) const METRIC: u32 = 1024;

/// An address, perhaps with a zone, as Go prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(crate) printed: String,
    pub(crate) ip: IpAddr,
}

impl Address {
    pub(super) fn parse(text: &str, what: impl FnOnce() -> String) -> Result<Self, NocloudNetworkError> {
        let address = netip::print_address(text).and_then(|printed| {
            let ip = printed.split('%').next()?.parse().ok()?;
            Some(Address { printed, ip })
        });
        let wrong =
            || NocloudNetworkError::Value { what: what(), value: text.to_owned(), want: "an address" };
        address.ok_or_else(wrong)
    }

    /// `inet4` or `inet6`, to which addresses that map IPv4 belong as well.
    pub(super) fn family(&self) -> &'static str {
        if self.ip.is_ipv4() { "inet4" } else { "inet6" }
    }

    /// Its host prefix.
    pub(super) fn alone(&self) -> Prefix {
        self.with_length(if self.ip.is_ipv4() { 32 } else { 128 })
    }

    /// The prefix of a length, or Go's output if that does not fit.
    pub(super) fn with_length(&self, length: usize) -> Prefix {
        let longest = if self.ip.is_ipv4() { 32 } else { 128 };
        let bare = self.printed.split('%').next().unwrap_or_default();
        let printed = if length > longest { "invalid Prefix".to_owned() } else { format!("{bare}/{length}") };
        Prefix { printed, ip: self.ip }
    }
}

/// An address and a length, as Go prints them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(crate) printed: String,
    pub(crate) ip: IpAddr,
}

impl Prefix {
    pub(super) fn find(text: &str) -> Option<Self> {
        let printed = netip::print_prefix(text)?;
        let ip = printed.split('/').next()?.parse().ok()?;
        Some(Prefix { printed, ip })
    }

    pub(super) fn parse(text: &str, what: impl FnOnce() -> String) -> Result<Self, NocloudNetworkError> {
        let want = "an address with its prefix length, such as 10.0.0.11/24";
        let wrong = || NocloudNetworkError::Value { what: what(), value: text.to_owned(), want };
        Self::find(text).ok_or_else(wrong)
    }

    pub(super) fn family(&self) -> &'static str {
        if self.ip.is_ipv4() { "inet4" } else { "inet6" }
    }

    pub(super) fn address(&self) -> &str {
        self.printed.split('/').next().unwrap_or_default()
    }

    fn is_loopback(&self) -> bool {
        self.ip.to_canonical().is_loopback()
    }
}

pub(super) fn address(link: &str, prefix: &Prefix, family: &str) -> Value {
    json!({
        "address": prefix.printed,
        "linkName": link,
        "family": family,
        "scope": "global",
        "flags": "permanent",
        "layer": LAYER,
    })
}

/// A route of the platform; empty fields are omitted.
#[derive(Clone, Debug)]
pub(super) struct RouteSpec<'r> {
    pub link: &'r str,
    pub family: &'r str,
    pub(crate) destination: Option<Prefix>,
    pub gateway: Option<Address>,
    pub source: String,
    pub table: String,
    pub(crate) priority: u32,
}

impl<'r> RouteSpec<'r> {
    pub(super) fn default(link: &'r str, family: &'r str, gateway: Address) -> Self {
        let priority = if family == "inet6" { 2 * METRIC } else { METRIC };
        let (destination, source) = (None, String::new());
        RouteSpec {
            link,
            family,
            destination,
            gateway: Some(gateway),
            source,
            table: "main".to_owned(),
            priority,
        }
    }

    /// Talos' normal form: zeros are dropped, and the scope follows from the other fields.
    pub(super) fn normal(mut self) -> Value {
        self.destination =
            self.destination.filter(|prefix| !["0.0.0.0/0", "::/0"].contains(&prefix.printed.as_str()));
        self.gateway = self.gateway.filter(|gateway| !["0.0.0.0", "::"].contains(&gateway.printed.as_str()));
        let scope = match (&self.gateway, &self.destination) {
            (None, Some(_)) => "link",
            (_, Some(destination)) if destination.is_loopback() => "host",
            _ => "global",
        };
        self.with_scope(scope)
    }

    pub(super) fn with_scope(self, scope: &str) -> Value {
        json!({
            "family": self.family,
            "dst": self.destination.map_or_else(String::new, |prefix| prefix.printed),
            "src": self.source,
            "gateway": self.gateway.map_or_else(String::new, |gateway| gateway.printed),
            "outLinkName": self.link,
            "table": self.table,
            "priority": self.priority,
            "scope": scope,
            "type": "unicast",
            "protocol": "static",
            "layer": LAYER,
        })
    }
}

/// A routing table as a release prints it; the main one where none is written.
pub(super) fn table(number: u32, talos: &TalosVersion) -> String {
    match number {
        0 | 254 => "main".to_owned(),
        253 => "default".to_owned(),
        255 => "local".to_owned(),
        1..=252 if release::at_least(talos, 12) => number.to_string(),
        _ => format!("RoutingTable({number})"),
    }
}

/// DHCP on a link, for IPv4 or IPv6.
pub(super) fn dhcp(link: &str, operator: &str, metric: u32) -> Value {
    json!({
        "operator": operator,
        "linkName": link,
        "requireUp": true,
        operator: {"routeMetric": metric},
        "layer": LAYER,
    })
}

/// A physical link, which is only brought up.
pub(super) fn physical(name: &str, mtu: u32) -> Value {
    json!({"name": name, "up": true, "mtu": mtu, "layer": LAYER})
}

/// A link that Talos makes.
pub(super) fn logical(name: &str, kind: &str, mtu: u32) -> Value {
    json!({
        "name": name,
        "logical": true,
        "up": true,
        "mtu": mtu,
        "kind": kind,
        "type": "ether",
        "layer": LAYER,
    })
}

pub(super) fn vlan(name: &str, id: u16, parent: &str, mtu: u32) -> Value {
    let mut link = logical(name, "vlan", mtu);
    link["parentName"] = json!(parent);
    link["vlan"] = json!({"vlanID": id, "vlanProtocol": "802.1q"});
    link
}

/// Makes a link part of a bond.
pub(super) fn enslave(link: &mut Value, master: &str, nth: usize) {
    link["masterName"] = json!(master);
    link["slaveIndex"] = json!(nth);
}

/// A hostname with its domain.
pub(super) fn hostname(full: &str) -> Result<Value, NocloudNetworkError> {
    let (host, domain) = full.split_once('.').unwrap_or((full, ""));
    let length = if domain.is_empty() { host.len() } else { full.len() };
    if host.is_empty() || host.len() > 63 || length > 253 {
        return Err(NocloudNetworkError::Hostname(full.to_owned()));
    }
    Ok(json!({"hostname": host, "domainname": domain, "layer": LAYER}))
}
