//! Version 2 of `network-config`: ethernets, bonds and VLANs by their names.

use super::config::{Ethernet, EthernetRoute, NetworkConfig};
use super::spec::{self, Address, METRIC, Prefix, RouteSpec};
use super::{NetworkBuilder, NocloudNetworkError};
use crate::release;

pub(super) fn apply(
    config: &NetworkConfig,
    draft: &mut NetworkBuilder<'_>,
) -> Result<(), NocloudNetworkError> {
    let mut servers = Vec::new();
    for (written, ethernet) in &config.ethernets {
        let name = draft.name_of(&ethernet.mac, written);
        let mut link = spec::physical(&name, ethernet.mtu);
        for (bond, of_bond) in &config.bonds {
            for (nth, _) in of_bond.interfaces.iter().enumerate().filter(|(_, member)| *member == written) {
                spec::enslave(&mut link, bond, nth);
            }
        }
        draft.add("links", link);
        addressing(&name, ethernet, draft, &mut servers)?;
    }
    for (name, bond) in &config.bonds {
        let mut link = spec::logical(name, "bond", bond.ethernet.mtu);
        link["bondMaster"] = bond.options.master(name, draft.talos)?;
        draft.add("links", link);
        addressing(name, &bond.ethernet, draft, &mut servers)?;
    }
    for (name, vlan) in &config.vlans {
        draft.add("links", spec::vlan(name, vlan.id, &vlan.link, vlan.ethernet.mtu));
        addressing(name, &vlan.ethernet, draft, &mut servers)?;
    }
    if !servers.is_empty() {
        draft.resolvers(&servers);
    }
    Ok(())
}

fn addressing(
    link: &str,
    ethernet: &Ethernet,
    draft: &mut NetworkBuilder<'_>,
    servers: &mut Vec<String>,
) -> Result<(), NocloudNetworkError> {
    if ethernet.dhcp4 {
        draft.add("operators", spec::dhcp(link, "dhcp4", METRIC));
    }
    if ethernet.dhcp6 {
        draft.add("operators", spec::dhcp(link, "dhcp6", METRIC));
    }
    for text in &ethernet.addresses {
        let prefix = Prefix::parse(text, || format!("the address of {link}"))?;
        draft.add("addresses", spec::address(link, &prefix, prefix.family()));
    }
    for (text, family) in [(&ethernet.gateway4, "inet4"), (&ethernet.gateway6, "inet6")] {
        if !text.is_empty() {
            let gateway = Address::parse(text, || format!("the gateway of {link}"))?;
            draft.add("routes", RouteSpec::default(link, family, gateway).normal());
        }
    }
    for text in &ethernet.nameservers {
        servers.push(Address::parse(text, || format!("the nameserver of {link}"))?.printed);
    }
    ethernet.routes.iter().try_for_each(|route| self::route(link, ethernet, route, draft))
}

fn route(
    link: &str,
    ethernet: &Ethernet,
    route: &EthernetRoute,
    draft: &mut NetworkBuilder<'_>,
) -> Result<(), NocloudNetworkError> {
    let gateway = Address::parse(&route.via, || format!("`via` of a route of {link}"))?;
    let to = match (route.to.as_str(), gateway.ip.is_ipv4()) {
        ("default", true) => "0.0.0.0/0",
        ("default", false) => "::/0",
        (to, _) => to,
    };
    let destination = Prefix::parse(to, || format!("`to` of a route of {link}"))?;
    let table = spec::table(route.table, draft.talos);
    let metric = if route.metric == 0 { METRIC } else { route.metric };
    let family = gateway.family();
    // A metric of 1024 counts as no metric, even if it is written.
    let priority = if family == "inet6" && metric == METRIC { 2 * METRIC } else { metric };
    let made = RouteSpec {
        link,
        family,
        destination: Some(destination),
        gateway: Some(gateway.clone()),
        source: String::new(),
        table: table.clone(),
        priority,
    };
    draft.add("routes", made.normal());
    let with_source = !release::at_least(draft.talos, 13);
    if !route.on_link || with_source && gateway.ip.is_ipv6() {
        return Ok(());
    }
    // The route to the gateway; before 1.13 from the first address.
    let source = match ethernet.addresses.first() {
        _ if !with_source => String::new(),
        Some(first) => Prefix::parse(first, || format!("the address of {link}"))?.address().to_owned(),
        None => return Err(NocloudNetworkError::NoSource(link.to_owned())),
    };
    let destination = Some(gateway.alone());
    let way = RouteSpec { link, family, destination, gateway: None, source, table, priority: metric };
    draft.add("routes", way.with_scope("link"));
    Ok(())
}
