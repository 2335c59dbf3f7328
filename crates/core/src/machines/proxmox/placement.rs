//! Selection of hosts for machines.
//!
//! The plan has selected hosts if the file names them. Otherwise all online hosts are used: a machine goes to the host with the
//! fewest machines of its role, then the fewest of the cluster, then the most free memory.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::inventory::ProxmoxHost;
use super::{DesiredVm, ProxmoxInventory};

/// Selects the host of each machine; none if all hosts are offline.
pub fn place_vms(wanted: &[&DesiredVm], inventory: &ProxmoxInventory) -> BTreeMap<String, String> {
    let mut placed: BTreeMap<String, String> = BTreeMap::new();
    let mut counts = PlacementCounts::default();
    let mut open = Vec::new();
    for one in wanted {
        let known = inventory.find_own(one).map(|machine| machine.host.clone()).or_else(|| one.host.clone());
        match known {
            Some(host) => {
                counts.add(&host, one);
                placed.insert(one.node.clone(), host);
            }
            None => open.push(one),
        }
    }
    for one in open {
        let online = inventory.hosts.iter().filter(|host| host.is_online);
        let Some(host) = online.min_by_key(|host| counts.rank(host, one)) else { continue };
        counts.add(&host.name, one);
        placed.insert(one.node.clone(), host.name.clone());
    }
    placed
}

/// The number of the cluster's machines on each host: control planes, workers.
#[derive(Default)]
struct PlacementCounts(BTreeMap<String, [usize; 2]>);

impl PlacementCounts {
    fn add(&mut self, host: &str, one: &DesiredVm) {
        self.0.entry(host.to_owned()).or_default()[usize::from(one.is_control_plane)] += 1;
    }

    fn rank<'h>(&self, host: &'h ProxmoxHost, one: &DesiredVm) -> (usize, usize, Reverse<u64>, &'h str) {
        let counts = self.0.get(&host.name).copied().unwrap_or_default();
        let same_role = counts[usize::from(one.is_control_plane)];
        (same_role, counts[0] + counts[1], Reverse(host.free_memory), &host.name)
    }
}
