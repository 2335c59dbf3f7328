//! Routes and ports in the network namespace of this thread, through netlink.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;

use ichor_core::lab::status::InstalledRoute;
use ipnet::IpNet;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteProtocol, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::netlink::dump;

/// A switch port and its cable state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HubPort {
    pub up: bool,
    pub bridged: bool,
}

/// Routes installed by daemons: for each prefix and table, the one with the lowest metric.
pub(super) fn routes() -> io::Result<Vec<InstalledRoute>> {
    let mut found = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut request = RouteMessage::default();
        request.header.address_family = family;
        for answer in dump(RouteNetlinkMessage::GetRoute(request))? {
            if let RouteNetlinkMessage::NewRoute(message) = answer {
                found.extend(route(&message));
            }
        }
    }
    Ok(select_best(found))
}

/// Ports by name.
pub(super) fn ports() -> io::Result<HashMap<String, HubPort>> {
    let answers = dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
    let named = answers.into_iter().filter_map(|answer| match answer {
        RouteNetlinkMessage::NewLink(message) => port(&message),
        _ => None,
    });
    Ok(named.collect())
}

/// Parses a route installed by a daemon, with its metric.
fn route(message: &RouteMessage) -> Option<(u32, InstalledRoute)> {
    let daemons = [RouteProtocol::Bgp, RouteProtocol::Bird, RouteProtocol::Zebra];
    if message.header.kind != RouteType::Unicast || !daemons.contains(&message.header.protocol) {
        return None;
    }
    let (mut table, mut metric, mut paths) = (u32::from(message.header.table), 0, 1);
    let mut to = None;
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Priority(number) => metric = *number,
            RouteAttribute::MultiPath(hops) => paths = hops.len(),
            RouteAttribute::Destination(RouteAddress::Inet(address)) => to = Some(IpAddr::from(*address)),
            RouteAttribute::Destination(RouteAddress::Inet6(address)) => to = Some(IpAddr::from(*address)),
            _ => {}
        }
    }
    let everywhere: IpAddr = match message.header.address_family {
        AddressFamily::Inet6 => std::net::Ipv6Addr::UNSPECIFIED.into(),
        _ => std::net::Ipv4Addr::UNSPECIFIED.into(),
    };
    let prefix = IpNet::new(to.unwrap_or(everywhere), message.header.destination_prefix_length).ok()?;
    Some((metric, InstalledRoute { prefix, table, paths }))
}

/// The best route of each prefix and table. The kernel reports IPv6 next hops that were added singly as separate routes.
fn select_best(mut found: Vec<(u32, InstalledRoute)>) -> Vec<InstalledRoute> {
    found.sort_by_key(|(metric, route)| (route.table, route.prefix, *metric));
    let mut best: Vec<(u32, InstalledRoute)> = Vec::new();
    for (metric, route) in found {
        match best.last_mut().filter(|(_, last)| (last.table, last.prefix) == (route.table, route.prefix)) {
            Some((least, last)) if *least == metric => last.paths += route.paths,
            Some(_) => {}
            None => best.push((metric, route)),
        }
    }
    best.into_iter().map(|(_, route)| route).collect()
}

fn port(message: &LinkMessage) -> Option<(String, HubPort)> {
    let name = message.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => Some(name.clone()),
        _ => None,
    })?;
    let bridged =
        message.attributes.iter().any(|attribute| matches!(attribute, LinkAttribute::Controller(_)));
    Some((name, HubPort { up: message.header.flags.contains(LinkFlags::Up), bridged }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_route_with_the_lowest_metric_is_selected() {
        let route =
            |prefix: &str, table, paths| InstalledRoute { prefix: prefix.parse().unwrap(), table, paths };
        let found = vec![
            (20, route("10.0.0.1/32", 254, 3)),
            (17, route("10.0.0.1/32", 254, 2)),
            (20, route("10.0.0.1/32", 100, 4)),
            (20, route("fd00::1/128", 254, 1)),
            (20, route("fd00::1/128", 254, 1)),
        ];

        let selected = select_best(found);

        assert_eq!(
            selected,
            [route("10.0.0.1/32", 100, 4), route("10.0.0.1/32", 254, 2), route("fd00::1/128", 254, 2)]
        );
    }

    #[test]
    fn the_loopback_is_listed_as_a_port() {
        let ports = ports().unwrap();

        assert!(!ports["lo"].bridged);
    }
}
