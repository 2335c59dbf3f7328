//! Traces packets through forwarding tables.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use crate::prove::failure::Failure;

/// The forwarding of packets to a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ForwardingEntry {
    /// The prefix is local.
    Own,
    /// To neighbours, by BGP.
    By(Vec<u32>),
    /// To the configured gateway.
    Gateway(u32),
}

/// Forwarding entries by vertex.
pub(super) type ForwardingTables = Vec<BTreeMap<IpNet, ForwardingEntry>>;

/// The destinations of traced packets.
#[derive(Default)]
pub(super) struct Arrival {
    /// Vertices with the address.
    pub at: BTreeSet<u32>,
    /// Whether packets on some paths are lost.
    pub lost: bool,
}

/// Traces packets in a fabric with a failure.
pub(super) struct PacketTrace<'w> {
    /// The number of nodes, which are the first vertices.
    pub nodes: usize,
    pub(crate) tables: &'w ForwardingTables,
    pub failure: Option<Failure>,
}

impl PacketTrace<'_> {
    /// Follows packets from a vertex to an address.
    pub fn follow(&self, start: u32, to: IpAddr) -> Arrival {
        let mut arrival = Arrival::default();
        self.step(start, to, &mut Vec::new(), &mut arrival, &|_| false);
        arrival
    }

    /// Follows packets from a vertex to the outside host, whose network every router is on.
    pub fn follow_to_outside(&self, start: u32, to: IpAddr) -> Arrival {
        let mut arrival = Arrival::default();
        let nodes = self.nodes;
        self.step(start, to, &mut Vec::new(), &mut arrival, &|vertex| vertex as usize >= nodes);
        arrival
    }

    /// The longest match for an address.
    fn longest_match(&self, at: u32, to: IpAddr) -> Option<(IpNet, &ForwardingEntry)> {
        let table = &self.tables[at as usize];
        let host = IpNet::from(to);
        if let Some(entry) = table.get(&host) {
            return Some((host, entry));
        }
        let routes = table.iter().filter(|(net, _)| net.contains(&to));
        routes.max_by_key(|(net, _)| net.prefix_len()).map(|(net, entry)| (*net, entry))
    }

    fn step(
        &self,
        at: u32,
        to: IpAddr,
        passed: &mut Vec<u32>,
        arrival: &mut Arrival,
        is_destination: &dyn Fn(u32) -> bool,
    ) {
        if self.failure == Some(Failure::Vertex(at)) || passed.contains(&at) {
            arrival.lost = true;
            return;
        }
        if is_destination(at) {
            arrival.at.insert(at);
            return;
        }
        let next: &[u32] = match self.longest_match(at, to) {
            Some((net, ForwardingEntry::Own)) if net.prefix_len() == net.max_prefix_len() => {
                arrival.at.insert(at);
                return;
            }
            // The vertex's own aggregate, without a more specific route.
            None | Some((_, ForwardingEntry::Own)) => &[],
            Some((_, ForwardingEntry::By(next))) => next,
            Some((_, ForwardingEntry::Gateway(router))) => std::slice::from_ref(router),
        };
        arrival.lost |= next.is_empty();
        passed.push(at);
        for far in next {
            self.step(*far, to, passed, arrival, is_destination);
        }
        passed.pop();
    }
}
