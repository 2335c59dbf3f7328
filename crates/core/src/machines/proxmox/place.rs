//! Which host a machine is made on.
//!
//! Where the file names hosts, the plan has decided already. Where it names none, all that answer are used: machines of one
//! role take those that have the fewest of them, then the fewest of the cluster's, then the most memory to spare.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::there::ProxmoxHost;
use super::{DesiredVm, ProxmoxInventory};

/// The host of each machine; none where no host answers.
pub fn place(wanted: &[&DesiredVm], there: &ProxmoxInventory) -> BTreeMap<String, String> {
    let mut placed: BTreeMap<String, String> = BTreeMap::new();
    let mut counts = PlacementCounts::default();
    let mut open = Vec::new();
    for one in wanted {
        let known = there.own(one).map(|machine| machine.host.clone()).or_else(|| one.host.clone());
        match known {
            Some(host) => {
                counts.add(&host, one);
                placed.insert(one.node.clone(), host);
            }
            None => open.push(one),
        }
    }
    for one in open {
        let online = there.hosts.iter().filter(|host| host.is_online);
        let Some(host) = online.min_by_key(|host| counts.rank(host, one)) else { continue };
        counts.add(&host.name, one);
        placed.insert(one.node.clone(), host.name.clone());
    }
    placed
}

/// How many machines of the cluster are on each host: control planes, workers.
#[derive(Default)]
struct PlacementCounts(BTreeMap<String, [usize; 2]>);

impl PlacementCounts {
    fn add(&mut self, host: &str, one: &DesiredVm) {
        self.0.entry(host.to_owned()).or_default()[usize::from(one.is_control_plane)] += 1;
    }

    fn rank<'h>(&self, host: &'h ProxmoxHost, one: &DesiredVm) -> (usize, usize, Reverse<u64>, &'h str) {
        let counts = self.0.get(&host.name).copied().unwrap_or_default();
        let alike = counts[usize::from(one.is_control_plane)];
        (alike, counts[0] + counts[1], Reverse(host.free_memory), &host.name)
    }
}
