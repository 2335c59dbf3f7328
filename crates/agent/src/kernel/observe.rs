//! Everything a wiring is compared with.

use std::io;

use ichor_bgp::agent::wiring::{FENCE_METRIC, KernelState, NamespaceState, PROTOCOL, UnreachableDefault};
use ichor_bgp::agent::{Link, Wiring};
use ichor_bgp::model::Family;
use netlink_packet_route::route::{RouteMessage, RouteProtocol, RouteType};

use super::{HINT, Kernel, namespace, routes, switch};

/// Something that the kernel does not tell.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {what}")]
pub struct ObserveError {
    what: String,
    /// The kernel's reason.
    #[source]
    pub source: io::Error,
}

impl ObserveError {
    /// What may help.
    pub fn hint(&self) -> Option<&'static str> {
        (self.source.kind() == io::ErrorKind::PermissionDenied).then_some(HINT)
    }
}

impl Kernel {
    /// What is there of a wiring, and every fence: one may be of a wiring before.
    pub async fn observe(&self, wiring: &Wiring) -> Result<KernelState, ObserveError> {
        let links = self.links().await.map_err(reading("links"))?;
        let fences = self.fences(None).await.map_err(reading("routes"))?;
        seen(links, fences, wiring).await
    }

    /// What is there of a wiring alone, beside links that were listed just now.
    pub async fn observe_beside(
        &self,
        links: Vec<Link>,
        wiring: &Wiring,
    ) -> Result<KernelState, ObserveError> {
        let fences = match wiring.table() {
            Some(table) => self.fences(Some(table)).await.map_err(reading("routes"))?,
            None => Vec::new(),
        };
        seen(links, fences, wiring).await
    }

    /// The last route of every table that has one, or of one table: for all of them the kernel looks at every route.
    async fn fences(&self, table: Option<u32>) -> io::Result<Vec<UnreachableDefault>> {
        let mut fences = Vec::new();
        for family in Family::ALL {
            let mut request = routes::request(family);
            request.header.kind = RouteType::Unreachable;
            if let Some(table) = table {
                routes::set_table(&mut request, table);
            }
            let found = self.dump_routes(request).await?;
            fences.extend(found.iter().filter_map(|message| fence(message, family)));
        }
        Ok(fences)
    }
}

async fn seen(
    links: Vec<Link>,
    fences: Vec<UnreachableDefault>,
    wiring: &Wiring,
) -> Result<KernelState, ObserveError> {
    let inside = match wiring.namespace() {
        Some(name) => namespace::inside(name).await.map_err(reading(&format!("namespace {name}")))?,
        None => NamespaceState::Missing,
    };
    let switches = switch::read(wiring.switches()).map_err(reading("switches below /proc/sys"))?;
    Ok(KernelState { links, inside, fences, switches })
}

fn reading(what: &str) -> impl FnOnce(io::Error) -> ObserveError {
    let what = what.to_owned();
    |source| ObserveError { what, source }
}

fn fence(message: &RouteMessage, family: Family) -> Option<UnreachableDefault> {
    let header = &message.header;
    let last = header.destination_prefix_length == 0 && routes::metric(message) == FENCE_METRIC;
    let made = header.protocol == RouteProtocol::Other(PROTOCOL);
    let fence = UnreachableDefault { table: routes::table(message), family, made };
    (last && header.kind == RouteType::Unreachable).then_some(fence)
}
