//! The addresses of a machine, and the links on which it uses DHCP.
//!
//! Talos merges command line, platform and configuration. If none of them configures a physical link,
//! it uses DHCP there, unless the configuration has a document of links or of DHCP (1.12 and later).

use std::collections::BTreeSet;

use serde_json::Value;

use super::platform::BootContext;
use super::{BootOutcome, Inspection};
use crate::inspect::rules;
use ichor_talos::command_line::CommandLine;
use ichor_talos::config::{Config, Document};
use ichor_talos::go::netip;
use ichor_talos::nocloud::Link;
use ichor_talos::{document, kind};

/// An address of a machine, or an operator that gets one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressAssignment {
    /// The link.
    pub link: String,
    /// An address with its prefix length, or the operator that asks for one: `dhcp4`, `dhcp6` or `vip`.
    pub address: String,
    /// The source of the assignment.
    pub by: AddressOrigin,
}

/// The source of an address assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressOrigin {
    /// The kernel command line.
    CommandLine,
    /// The platform.
    Platform,
    /// The configuration in force.
    Configuration,
    /// Talos' default.
    Default,
}

impl AddressOrigin {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            AddressOrigin::CommandLine => "command line",
            AddressOrigin::Platform => "platform",
            AddressOrigin::Configuration => "configuration",
            AddressOrigin::Default => "default",
        }
    }
}

/// The operators that get addresses.
const OPERATORS: [&str; 3] = ["dhcp4", "dhcp6", "vip"];

impl AddressAssignment {
    /// Whether it is an operator, and not an address.
    pub fn is_operator(&self) -> bool {
        OPERATORS.contains(&self.address.as_str())
    }
}

/// The assignments, and the links that a source configures.
#[derive(Default)]
struct AddressFinder {
    found: Vec<AddressAssignment>,
    links: BTreeSet<String>,
}

impl AddressFinder {
    fn add(&mut self, link: &str, address: impl Into<String>, by: AddressOrigin) {
        self.found.push(AddressAssignment { link: link.to_owned(), address: address.into(), by });
    }

    fn add_link(&mut self, link: &str) {
        self.links.insert(link.to_owned());
    }
}

/// Finds the addresses of the machine.
pub(super) fn find_addresses(boot: &BootContext<'_>, inspection: &mut Inspection) {
    let mut finder = AddressFinder::default();
    if let Err(error) = of_command_line(boot, &mut finder, inspection) {
        inspection.mistake(&rules::IP, format!("Talos ignores this `ip=` and all later ones: {error}"));
    }
    read_platform(inspection, &mut finder);
    if let Some(config) = inspection.effective() {
        of_config(config, &boot.machine.links, &mut finder);
    }
    let by_default = inspection.effective().is_none_or(asks_by_default);
    for ignored in boot.line.all("talos.network.interface.ignore") {
        finder.add_link(ignored);
    }
    for link in boot.machine.links.iter().filter(|_| by_default) {
        if !finder.links.contains(&link.name) {
            finder.add(&link.name, "dhcp4", AddressOrigin::Default);
        }
    }
    let somebody_answers = [BootOutcome::Boots, BootOutcome::Maintenance].contains(&inspection.outcome());
    let has_any = finder.found.iter().any(|found| found.address != "vip");
    if somebody_answers && !has_any && (!by_default || !boot.machine.links.is_empty()) {
        let message = "no link of the machine has an address or DHCP: the machine is unreachable";
        inspection.mistake(&rules::NO_ADDRESS, message);
    }
    inspection.addressing = finder.found;
}

/// Whether Talos uses DHCP on links that no source configures.
fn asks_by_default(config: &Config) -> bool {
    let ends_it = |document: &Document| {
        document.kind.is_some_and(|found| {
            kind::is_of_links(found.name) || ["DHCPv4Config", "DHCPv6Config"].contains(&found.name)
        })
    };
    !config.documents.iter().any(ends_it)
}

fn read_platform(inspection: &Inspection, finder: &mut AddressFinder) {
    let Some(network) = &inspection.network else { return };
    let text = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
    for (_, item) in document::items(network, "/addresses") {
        finder.add(&text(item, "linkName"), text(item, "address"), AddressOrigin::Platform);
    }
    for (_, item) in document::items(network, "/operators") {
        finder.add(&text(item, "linkName"), text(item, "operator"), AddressOrigin::Platform);
    }
    for (_, item) in document::items(network, "/links") {
        finder.add_link(&text(item, "name"));
    }
}

fn of_config(config: &Config, links: &[Link], finder: &mut AddressFinder) {
    for document in &config.documents {
        match document.kind.map(|kind| kind.name) {
            None => {
                for (_, interface) in document::items(&document.value, "/machine/network/interfaces") {
                    of_interface(interface, links, finder);
                }
            }
            Some("DHCPv4Config") => finder.add(document.name(), "dhcp4", AddressOrigin::Configuration),
            Some("DHCPv6Config") => finder.add(document.name(), "dhcp6", AddressOrigin::Configuration),
            Some("Layer2VIPConfig" | "HCloudVIPConfig") => {
                let link = document.value["link"].as_str().unwrap_or_default();
                finder.add(link, "vip", AddressOrigin::Configuration);
            }
            Some(name) if kind::is_of_links(name) => {
                of_link(document.name(), &document.value, finder);
                if let Some(peer) = document.value.get("peer") {
                    of_link(peer["name"].as_str().unwrap_or_default(), peer, finder);
                }
            }
            Some(_) => {}
        }
    }
}

/// A link of a document of its own.
fn of_link(name: &str, value: &Value, finder: &mut AddressFinder) {
    finder.add_link(name);
    for (_, item) in document::items(value, "/addresses") {
        let address = item.as_str().or_else(|| item["address"].as_str());
        finder.add(name, address.unwrap_or_default(), AddressOrigin::Configuration);
    }
}

/// A link of `machine.network.interfaces`.
fn of_interface(interface: &Value, links: &[Link], finder: &mut AddressFinder) {
    let name = interface_name(interface, links);
    if interface["ignore"] == true {
        finder.add_link(&name);
        return;
    }
    of_old_link(&name, interface, finder);
    for (_, vlan) in document::items(interface, "/vlans") {
        of_old_link(&format!("{name}.{}", vlan["vlanId"]), vlan, finder);
    }
}

fn of_old_link(name: &str, value: &Value, finder: &mut AddressFinder) {
    finder.add_link(name);
    let single = value["cidr"].as_str();
    for address in single.into_iter().chain(document::texts(value, "/addresses")) {
        finder.add(name, whole_prefix(address), AddressOrigin::Configuration);
    }
    if value["dhcp"] == true {
        let wants = |family: &str, usual: bool| value["dhcpOptions"][family].as_bool().unwrap_or(usual);
        for (family, operator, usual) in [("ipv4", "dhcp4", true), ("ipv6", "dhcp6", false)] {
            if wants(family, usual) {
                finder.add(name, operator, AddressOrigin::Configuration);
            }
        }
    }
    if value["vip"]["ip"].is_string() {
        finder.add(name, "vip", AddressOrigin::Configuration);
    }
}

/// An address without a prefix length is a host prefix.
fn whole_prefix(address: &str) -> String {
    match netip::print_address(address) {
        Some(alone) if alone.contains(':') => format!("{alone}/128"),
        Some(alone) => format!("{alone}/32"),
        None => address.to_owned(),
    }
}

/// The name of an interface, or its selector.
fn interface_name(interface: &Value, links: &[Link]) -> String {
    if let Some(name) = interface["interface"].as_str().filter(|name| !name.is_empty()) {
        return name.to_owned();
    }
    let selector = &interface["deviceSelector"];
    let mac = ["hardwareAddr", "permanentAddr"].iter().find_map(|key| selector[*key].as_str());
    let found = mac.and_then(|mac| links.iter().find(|link| link.mac.to_string().eq_ignore_ascii_case(mac)));
    match (found, mac) {
        (Some(link), _) => link.name.clone(),
        (None, Some(mac)) => format!("the link {mac}"),
        (None, None) => "a selected link".to_owned(),
    }
}

/// Why Talos does not take an argument `ip=`.
#[derive(Debug, thiserror::Error)]
enum IpArgumentError {
    #[error("`{text}` is not an address")]
    Address { text: String },
    #[error("`{text}` is not a netmask")]
    Netmask { text: String },
}

/// `ip=`, in each of its forms. Talos stops at the first that it cannot read.
fn of_command_line(
    boot: &BootContext<'_>,
    finder: &mut AddressFinder,
    inspection: &mut Inspection,
) -> Result<(), IpArgumentError> {
    for value in boot.line.all("ip") {
        let fields = CommandLine::split_ip(value);
        match fields.as_slice() {
            ["dhcp"] => {}
            [link, "dhcp"] => {
                finder.add_link(link);
                finder.add(link, "dhcp4", AddressOrigin::CommandLine);
            }
            fields => of_fields(fields, boot, finder, inspection)?,
        }
    }
    Ok(())
}

/// `client:server:gateway:netmask:hostname:device:autoconf:dns0:dns1:ntp0`
fn of_fields(
    fields: &[&str],
    boot: &BootContext<'_>,
    finder: &mut AddressFinder,
    inspection: &mut Inspection,
) -> Result<(), IpArgumentError> {
    let field = |nth: usize| fields.get(nth).copied().filter(|field| !field.is_empty());
    let address = |nth: usize| {
        let parse = |text: &str| {
            netip::print_address(text).ok_or_else(|| IpArgumentError::Address { text: text.to_owned() })
        };
        field(nth).map(parse).transpose()
    };
    let client = address(0)?;
    for nth in [2, 7, 8, 9] {
        address(nth)?;
    }
    let length = field(3).map(mask_length).transpose()?;
    if let Some(name) = field(4) {
        inspection.command_line_hostname.get_or_insert_with(|| name.to_owned());
    }
    // Without a link name, it is the first by its name.
    let first = || boot.machine.links.iter().map(|link| link.name.as_str()).min();
    let link = field(5).or_else(first).unwrap_or("the first link");
    finder.add_link(link);
    if let Some(client) = client {
        let host_length = if client.contains(':') { 128 } else { 32 };
        finder.add(link, format!("{client}/{}", length.unwrap_or(host_length)), AddressOrigin::CommandLine);
    }
    if field(6) == Some("dhcp") {
        finder.add(link, "dhcp4", AddressOrigin::CommandLine);
    }
    Ok(())
}

fn mask_length(text: &str) -> Result<u32, IpArgumentError> {
    if let Ok(length) = text.parse() {
        return Ok(length);
    }
    let mask: std::net::Ipv4Addr =
        text.parse().map_err(|_| IpArgumentError::Netmask { text: text.to_owned() })?;
    Ok(mask.to_bits().leading_ones())
}
