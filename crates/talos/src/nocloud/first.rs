//! Version 1 of `network-config`: a list of entries, each of a type.

use std::collections::BTreeMap;

use serde_json::json;

use super::config::{NetworkConfig, NetworkEntry, Subnet};
use super::spec::{self, Address, METRIC, Prefix, RouteSpec};
use super::{NetworkBuilder, NocloudNetworkError};

pub(super) fn apply(
    config: &NetworkConfig,
    draft: &mut NetworkBuilder<'_>,
) -> Result<(), NocloudNetworkError> {
    let mut physical: BTreeMap<&str, String> = BTreeMap::new();
    let mut enslaved: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for entry in &config.entries {
        match entry.kind.as_str() {
            "nameserver" => {
                let what = || "the nameserver".to_owned();
                let servers: Result<Vec<_>, _> =
                    entry.addresses.iter().map(|text| Address::parse(text, what)).collect();
                draft.resolvers(&servers?.into_iter().map(|server| server.printed).collect::<Vec<_>>());
            }
            "bond" => {
                let mut link = spec::logical(&entry.name, "bond", entry.mtu);
                link["bondMaster"] = entry.bond.master(&entry.name, draft.talos)?;
                draft.add("links", link);
                for (nth, member) in entry.bond_interfaces.iter().enumerate() {
                    enslaved.insert(member, (&entry.name, nth));
                }
                subnets(entry, &entry.name, draft)?;
            }
            "vlan" => {
                let parent = physical.get(entry.vlan_link.as_str()).unwrap_or(&entry.vlan_link);
                draft.add("links", spec::vlan(&entry.name, entry.vlan_id, parent, entry.mtu));
                subnets(entry, &entry.name, draft)?;
            }
            "physical" => {
                let name = draft.name_of(&entry.mac, &entry.name);
                draft.add("links", spec::physical(&name, entry.mtu));
                subnets(entry, &name, draft)?;
                physical.insert(&entry.name, name);
            }
            // Talos ignores other types, including the loopback.
            _ => {}
        }
    }
    for (member, (bond, nth)) in enslaved {
        let name = physical.get(member).map_or(member, String::as_str);
        draft
            .links_mut()
            .filter(|link| link["name"] == json!(name))
            .for_each(|link| spec::enslave(link, bond, nth));
    }
    Ok(())
}

fn subnets(
    entry: &NetworkEntry,
    link: &str,
    draft: &mut NetworkBuilder<'_>,
) -> Result<(), NocloudNetworkError> {
    for subnet in &entry.subnets {
        match subnet.kind.as_str() {
            "dhcp" | "dhcp4" => draft.add("operators", spec::dhcp(link, "dhcp4", METRIC)),
            "ipv6_dhcpv6-stateful" => draft.add("operators", spec::dhcp(link, "dhcp6", 2 * METRIC)),
            "static" => add_static_address(subnet, link, "inet4", draft)?,
            "static6" => add_static_address(subnet, link, "inet6", draft)?,
            _ => {}
        }
    }
    Ok(())
}

/// The family is that of the type, whatever the address.
fn add_static_address(
    subnet: &Subnet,
    link: &str,
    family: &'static str,
    draft: &mut NetworkBuilder<'_>,
) -> Result<(), NocloudNetworkError> {
    let prefix = match Prefix::find(&subnet.address) {
        Some(prefix) => prefix,
        None => {
            let address = Address::parse(&subnet.address, || format!("the address of {link}"))?;
            let mask = Address::parse(&subnet.netmask, || format!("the netmask of {link}"))?;
            address.with_length(ones(&mask))
        }
    };
    draft.add("addresses", spec::address(link, &prefix, family));
    if !subnet.gateway.is_empty() {
        let gateway = Address::parse(&subnet.gateway, || format!("the gateway of {link}"))?;
        draft.add("routes", RouteSpec::default(link, family, gateway).normal());
    }
    Ok(())
}

/// The bits of a mask; none if it has holes.
fn ones(mask: &Address) -> usize {
    let mut bytes = match mask.ip {
        std::net::IpAddr::V4(four) => four.octets().to_vec(),
        std::net::IpAddr::V6(six) => six.octets().to_vec(),
    };
    // Go takes the zone for a part of the mask.
    bytes.extend(mask.printed.split_once('%').map_or("", |(_, zone)| zone).bytes());
    let bits: Vec<bool> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)).collect();
    let ones = bits.iter().take_while(|bit| **bit).count();
    if bits[ones..].contains(&true) { 0 } else { ones }
}
