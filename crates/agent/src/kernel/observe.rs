//! Everything a wiring is compared with.

use std::io;

use ichor_core::agent::Wiring;
use ichor_core::agent::wiring::{FENCE_METRIC, Fence, Inside, Observed, PROTOCOL};
use ichor_core::routing::Family;
use netlink_packet_route::route::{RouteMessage, RouteProtocol, RouteType};

use super::{Kernel, namespace, routes, switch};

impl Kernel {
    /// What is there of a wiring.
    pub async fn observe(&self, wiring: &Wiring) -> io::Result<Observed> {
        let inside = match wiring.namespace() {
            Some(name) => namespace::inside(name).await?,
            None => Inside::Missing,
        };
        Ok(Observed {
            links: self.links().await?,
            inside,
            fences: self.fences().await?,
            switches: switch::read(wiring.switches())?,
        })
    }

    /// The last route of every table that has one.
    async fn fences(&self) -> io::Result<Vec<Fence>> {
        let mut fences = Vec::new();
        for family in Family::ALL {
            let mut request = routes::request(family);
            request.header.kind = RouteType::Unreachable;
            let found = self.dump_routes(request).await?;
            fences.extend(found.iter().filter_map(|message| fence(message, family)));
        }
        Ok(fences)
    }
}

fn fence(message: &RouteMessage, family: Family) -> Option<Fence> {
    let header = &message.header;
    let last = header.destination_prefix_length == 0 && routes::metric(message) == FENCE_METRIC;
    let made = header.protocol == RouteProtocol::Other(PROTOCOL);
    let fence = Fence { table: routes::table(message), family, made };
    (last && header.kind == RouteType::Unreachable).then_some(fence)
}
