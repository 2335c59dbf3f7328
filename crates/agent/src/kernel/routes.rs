//! BGP routes in the kernel.

use std::io;
use std::net::IpAddr;

use futures_util::StreamExt;
use ichor_bgp::agent::route::{NextHop, Route, RouteChanges, RouteOrigin};
use ichor_bgp::model::Family;
use ipnet::IpNet;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteNextHop, RouteProtocol, RouteScope,
    RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::errno::Errno;
use rtnetlink::RouteNextHopBuilder;

use super::{HINT, Kernel, error, ignore_errors};

/// A route that the kernel rejected.
#[derive(Debug, thiserror::Error)]
#[error("cannot {verb} route {} in table {}", route.prefix, route.table)]
pub struct RouteError {
    verb: &'static str,
    /// The route.
    pub route: Route,
    /// The kernel's reason.
    #[source]
    pub source: io::Error,
}

/// Types of routes without a destination.
const UNUSABLE: [RouteType; 4] =
    [RouteType::Unreachable, RouteType::BlackHole, RouteType::Prohibit, RouteType::Throw];

impl RouteError {
    /// A hint for the operator.
    pub fn hint(&self) -> Option<&'static str> {
        (self.source.kind() == io::ErrorKind::PermissionDenied).then_some(HINT)
    }
}

impl Kernel {
    /// The routes in these tables that a routing daemon, or the agent on its behalf, installed.
    pub async fn routes(&self, tables: &[u32]) -> io::Result<Vec<Route>> {
        let mut routes = Vec::new();
        for &table in tables {
            for family in Family::ALL {
                let mut request = request(family);
                set_table(&mut request, table);
                let listed = self.dump_routes(request).await?;
                routes.extend(
                    listed.iter().filter(|message| self::table(message) == table).filter_map(parse_route),
                );
            }
        }
        Ok(routes)
    }

    /// Whether the kernel has a usable route to an address.
    pub async fn has_route_to(&self, address: IpAddr) -> io::Result<bool> {
        let mut request = request(Family::of(address.into()));
        request.header.destination_prefix_length = IpNet::from(address).prefix_len();
        request.attributes.push(RouteAttribute::Destination(address.into()));
        match self.handle.route().get(request).execute().next().await.map(|response| response.map_err(error))
        {
            Some(Ok(route)) => Ok(!UNUSABLE.contains(&route.header.kind)),
            Some(Err(error)) if is_no_route(&error) => Ok(false),
            Some(Err(error)) => Err(error),
            None => Err(io::Error::other("no response from the kernel")),
        }
    }

    /// Installs and removes routes. Tries everything, and returns all failures.
    pub async fn reconcile(&self, difference: &RouteChanges) -> Vec<RouteError> {
        let mut errors = Vec::new();
        for route in &difference.install {
            if let Err(source) = self.install(route).await {
                errors.push(RouteError { verb: "install", route: route.clone(), source });
            }
        }
        for route in &difference.remove {
            if let Err(source) = self.uninstall(route).await {
                errors.push(RouteError { verb: "remove", route: route.clone(), source });
            }
        }
        errors
    }

    /// Installs a route, replacing one with the same prefix.
    async fn install(&self, route: &Route) -> io::Result<()> {
        let mut message = message(route.table, route.prefix, route.metric);
        message.header.protocol = route_protocol(route.protocol);
        message.attributes.extend(route.source.map(|source| RouteAttribute::PrefSource(source.into())));
        let family = message.header.address_family;
        let mut hops = Vec::new();
        for hop in &route.hops {
            hops.push(next_hop_message(family, hop)?);
        }
        match &hops[..] {
            [] => return Err(io::Error::from(Errno::EINVAL)),
            [only] => {
                message.attributes.push(RouteAttribute::Oif(only.interface_index));
                message.attributes.extend(only.attributes.iter().cloned());
            }
            _ => message.attributes.push(RouteAttribute::MultiPath(hops)),
        }
        self.handle.route().add(message).replace().execute().await.map_err(error)
    }

    /// Removes a route, which may be missing.
    async fn uninstall(&self, route: &Route) -> io::Result<()> {
        let mut message = message(route.table, route.prefix, route.metric);
        message.header.protocol = route_protocol(route.protocol);
        ignore_errors(self.handle.route().del(message).execute().await, &[Errno::ESRCH])
    }

    /// Routes as reported by the kernel; none if the table does not exist.
    pub(super) async fn dump_routes(&self, request: RouteMessage) -> io::Result<Vec<RouteMessage>> {
        let responses = match self.list(RouteNetlinkMessage::GetRoute(request)).await {
            Err(error) if error.raw_os_error() == Some(Errno::ENOENT as i32) => Vec::new(),
            responses => responses?,
        };
        let routes = responses.into_iter().filter_map(|response| match response {
            RouteNetlinkMessage::NewRoute(route) => Some(route),
            _ => None,
        });
        Ok(routes.collect())
    }
}

/// The kernel's errors for an address without a route, or with an unusable one. IPv4 returns `EINVAL` for a blackhole.
fn is_no_route(error: &io::Error) -> bool {
    let known = [Errno::ENETUNREACH, Errno::EHOSTUNREACH, Errno::EACCES, Errno::EINVAL];
    known.iter().any(|errno| error.raw_os_error() == Some(*errno as i32))
}

/// A request for all routes of a family.
pub(super) fn request(family: Family) -> RouteMessage {
    let mut request = RouteMessage::default();
    request.header.address_family = match family {
        Family::V4 => AddressFamily::Inet,
        Family::V6 => AddressFamily::Inet6,
    };
    request
}

/// A route without next hops.
pub(super) fn message(table: u32, prefix: IpNet, metric: u32) -> RouteMessage {
    let mut message = request(Family::of(prefix));
    message.header.kind = RouteType::Unicast;
    message.header.scope = RouteScope::Universe;
    message.header.destination_prefix_length = prefix.prefix_len();
    set_table(&mut message, table);
    if prefix.prefix_len() > 0 {
        message.attributes.push(RouteAttribute::Destination(prefix.network().into()));
    }
    message.attributes.push(RouteAttribute::Priority(metric));
    message
}

/// Sets the table of a route, or of a request.
pub(super) fn set_table(message: &mut RouteMessage, table: u32) {
    message.header.table = u8::try_from(table).unwrap_or(RouteHeader::RT_TABLE_UNSPEC);
    message.attributes.push(RouteAttribute::Table(table));
}

fn next_hop_message(family: AddressFamily, hop: &NextHop) -> io::Result<RouteNextHop> {
    let builder = RouteNextHopBuilder::new(family).interface(hop.link);
    let builder = match hop.via {
        Some(via) => builder.via(via).map_err(io::Error::other)?,
        None => builder,
    };
    Ok(builder.build())
}

/// The table of a route: its number may not fit into the header.
pub(super) fn table(message: &RouteMessage) -> u32 {
    let found = message.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Table(table) => Some(*table),
        _ => None,
    });
    found.unwrap_or(u32::from(message.header.table))
}

/// The metric of a route.
pub(super) fn metric(message: &RouteMessage) -> u32 {
    let found = message.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Priority(metric) => Some(*metric),
        _ => None,
    });
    found.unwrap_or(0)
}

fn route_protocol(protocol: RouteOrigin) -> RouteProtocol {
    match protocol {
        RouteOrigin::Bgp => RouteProtocol::Bgp,
        RouteOrigin::Bird => RouteProtocol::Bird,
        RouteOrigin::Zebra => RouteProtocol::Zebra,
    }
}

/// The route, if a routing daemon installed it.
fn parse_route(message: &RouteMessage) -> Option<Route> {
    let protocol = [RouteOrigin::Bgp, RouteOrigin::Bird, RouteOrigin::Zebra]
        .into_iter()
        .find(|protocol| route_protocol(*protocol) == message.header.protocol)?;
    let family = match message.header.address_family {
        AddressFamily::Inet => Family::V4,
        AddressFamily::Inet6 => Family::V6,
        _ => return None,
    };
    let mut route = Route {
        prefix: family.everything(),
        table: table(message),
        protocol,
        metric: metric(message),
        source: None,
        hops: [].into(),
    };
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(destination) => {
                route.prefix =
                    IpNet::new(address(destination)?, message.header.destination_prefix_length).ok()?;
            }
            RouteAttribute::PrefSource(source) => route.source = address(source),
            RouteAttribute::MultiPath(hops) => {
                route.hops = hops
                    .iter()
                    .filter_map(|hop| parse_next_hop(Some(hop.interface_index), &hop.attributes))
                    .collect();
            }
            _ => {}
        }
    }
    if route.hops.is_empty() {
        route.hops.extend(parse_next_hop(None, &message.attributes));
    }
    Some(route)
}

/// A next hop; none without a link, such as of an unusable route.
fn parse_next_hop(link: Option<u32>, attributes: &[RouteAttribute]) -> Option<NextHop> {
    let (mut link, mut via) = (link, None);
    for attribute in attributes {
        match attribute {
            RouteAttribute::Oif(index) => link = Some(*index),
            RouteAttribute::Gateway(gateway) => via = address(gateway),
            RouteAttribute::Via(RouteVia::Inet6(gateway)) => via = Some(IpAddr::V6(*gateway)),
            RouteAttribute::Via(RouteVia::Inet(gateway)) => via = Some(IpAddr::V4(*gateway)),
            _ => {}
        }
    }
    Some(NextHop { via, link: link? })
}

fn address(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some(IpAddr::V4(*address)),
        RouteAddress::Inet6(address) => Some(IpAddr::V6(*address)),
        _ => None,
    }
}
