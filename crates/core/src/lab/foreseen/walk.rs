//! Where packets go, from table to table.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipnet::IpNet;

use crate::prove::failure::Failure;

/// Where someone sends packets to a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ForwardingEntry {
    /// It is there.
    Own,
    /// To neighbours, by BGP.
    By(Vec<u32>),
    /// To the gateway that the file names.
    Gateway(u32),
}

/// By vertex: its ways.
pub(super) type ForwardingTables = Vec<BTreeMap<IpNet, ForwardingEntry>>;

/// Where packets end.
#[derive(Default)]
pub(super) struct Arrival {
    /// Those who have the address.
    pub at: BTreeSet<u32>,
    /// Whether some ways end elsewhere.
    pub lost: bool,
}

/// Packets in a fabric without what failed.
pub(super) struct PacketTrace<'w> {
    /// How many of all are nodes: the first ones.
    pub nodes: usize,
    pub(crate) tables: &'w ForwardingTables,
    pub failure: Option<Failure>,
}

impl PacketTrace<'_> {
    /// Where packets to an address end that start somewhere.
    pub fn from(&self, start: u32, to: IpAddr) -> Arrival {
        let mut arrival = Arrival::default();
        self.step(start, to, &mut Vec::new(), &mut arrival, &|_| false);
        arrival
    }

    /// Where packets to the outside end: every router is on its network.
    pub fn outward(&self, start: u32, to: IpAddr) -> Arrival {
        let mut arrival = Arrival::default();
        let nodes = self.nodes;
        self.step(start, to, &mut Vec::new(), &mut arrival, &|vertex| vertex as usize >= nodes);
        arrival
    }

    /// Someone's way to an address, by the longest prefix.
    fn longest(&self, at: u32, to: IpAddr) -> Option<(IpNet, &ForwardingEntry)> {
        let table = &self.tables[at as usize];
        let whole = IpNet::from(to);
        if let Some(way) = table.get(&whole) {
            return Some((whole, way));
        }
        let routes = table.iter().filter(|(net, _)| net.contains(&to));
        routes.max_by_key(|(net, _)| net.prefix_len()).map(|(net, way)| (*net, way))
    }

    fn step(
        &self,
        at: u32,
        to: IpAddr,
        passed: &mut Vec<u32>,
        arrival: &mut Arrival,
        is_there: &dyn Fn(u32) -> bool,
    ) {
        if self.failure == Some(Failure::Vertex(at)) || passed.contains(&at) {
            arrival.lost = true;
            return;
        }
        if is_there(at) {
            arrival.at.insert(at);
            return;
        }
        let next: &[u32] = match self.longest(at, to) {
            Some((net, ForwardingEntry::Own)) if net.prefix_len() == net.max_prefix_len() => {
                arrival.at.insert(at);
                return;
            }
            // An aggregate of its own, and no part of it.
            None | Some((_, ForwardingEntry::Own)) => &[],
            Some((_, ForwardingEntry::By(next))) => next,
            Some((_, ForwardingEntry::Gateway(router))) => std::slice::from_ref(router),
        };
        arrival.lost |= next.is_empty();
        passed.push(at);
        for far in next {
            self.step(*far, to, passed, arrival, is_there);
        }
        passed.pop();
    }
}
