//! The kernel state that a wiring is compared with.

use std::io;

use ichor_bgp::agent::wiring::{
    KernelState, NamespaceState, PROTOCOL, UNREACHABLE_METRIC, UnreachableDefault,
};
use ichor_bgp::agent::{Link, Wiring};
use ichor_bgp::model::Family;
use netlink_packet_route::route::{RouteMessage, RouteProtocol, RouteType};

use super::{HINT, Kernel, namespace, routes, sysctl};

/// A part of the state that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {what}")]
pub struct ObserveError {
    what: String,
    /// The kernel's reason.
    #[source]
    pub source: io::Error,
}

impl ObserveError {
    /// A hint for the operator.
    pub fn hint(&self) -> Option<&'static str> {
        (self.source.kind() == io::ErrorKind::PermissionDenied).then_some(HINT)
    }
}

impl Kernel {
    /// The state that concerns a wiring, and every unreachable default route: one may be left of an earlier wiring.
    pub async fn observe(&self, wiring: &Wiring) -> Result<KernelState, ObserveError> {
        let links = self.links().await.map_err(read_error("links"))?;
        let unreachable_defaults = self.unreachable_defaults(None).await.map_err(read_error("routes"))?;
        kernel_state(links, unreachable_defaults, wiring).await
    }

    /// The state that concerns a wiring only; `links` were just listed.
    pub async fn observe_beside(
        &self,
        links: Vec<Link>,
        wiring: &Wiring,
    ) -> Result<KernelState, ObserveError> {
        let unreachable_defaults = match wiring.table() {
            Some(table) => self.unreachable_defaults(Some(table)).await.map_err(read_error("routes"))?,
            None => Vec::new(),
        };
        kernel_state(links, unreachable_defaults, wiring).await
    }

    /// The unreachable default routes of every table, or of one table: for all of them, the kernel walks every route.
    async fn unreachable_defaults(&self, table: Option<u32>) -> io::Result<Vec<UnreachableDefault>> {
        let mut unreachable_defaults = Vec::new();
        for family in Family::ALL {
            let mut request = routes::request(family);
            request.header.kind = RouteType::Unreachable;
            if let Some(table) = table {
                routes::set_table(&mut request, table);
            }
            let found = self.dump_routes(request).await?;
            unreachable_defaults
                .extend(found.iter().filter_map(|message| unreachable_default(message, family)));
        }
        Ok(unreachable_defaults)
    }
}

async fn kernel_state(
    links: Vec<Link>,
    unreachable_defaults: Vec<UnreachableDefault>,
    wiring: &Wiring,
) -> Result<KernelState, ObserveError> {
    let inside = match wiring.namespace() {
        Some(name) => namespace::state(name).await.map_err(read_error(&format!("namespace {name}")))?,
        None => NamespaceState::Missing,
    };
    let sysctls = sysctl::read(wiring.sysctl_paths()).map_err(read_error("sysctls below /proc/sys"))?;
    Ok(KernelState { links, inside, unreachable_defaults, sysctls })
}

fn read_error(what: &str) -> impl FnOnce(io::Error) -> ObserveError {
    let what = what.to_owned();
    |source| ObserveError { what, source }
}

fn unreachable_default(message: &RouteMessage, family: Family) -> Option<UnreachableDefault> {
    let header = &message.header;
    let last = header.destination_prefix_length == 0 && routes::metric(message) == UNREACHABLE_METRIC;
    let made = header.protocol == RouteProtocol::Other(PROTOCOL);
    let unreachable_default = UnreachableDefault { table: routes::table(message), family, made };
    (last && header.kind == RouteType::Unreachable).then_some(unreachable_default)
}
