//! Merges hubs of a kind into one if there are many, and collects the cables between hubs.

use std::collections::BTreeMap;

use super::hubs::Hubs;
use crate::plan::cable::Cables;
use crate::render::topology::diagram::{Fact, Hub, HubCable, HubKind};

/// Maximum number of hubs of one kind that are drawn separately.
const MOST: usize = 12;
/// Maximum number of bars of one kind that are drawn separately.
const MOST_BANDS: usize = 4;

impl Hubs<'_> {
    /// The hubs from top to bottom, the new number of each original hub, and the cables between routers.
    pub(crate) fn merge(self, cables: &Cables<'_>) -> (Vec<Hub>, Vec<usize>, Vec<HubCable>) {
        let pairs = self.connected_pairs(cables);
        let mut by_kind: BTreeMap<HubKind, Vec<usize>> = BTreeMap::new();
        for (nth, (hub, _)) in self.found.iter().enumerate() {
            by_kind.entry(hub.kind).or_default().push(nth);
        }
        let mut found: Vec<_> = self.found.into_iter().map(Some).collect();
        let mut moved = vec![0; found.len()];
        let mut hubs = Vec::new();
        for (kind, members) in by_kind {
            let most = if kind.is_band() { MOST_BANDS } else { MOST };
            let mut taken = members.iter().map(|nth| found[*nth].take().expect("each is of one kind"));
            let first = hubs.len();
            if members.len() > most {
                hubs.push(merged_hub(kind, &taken.collect::<Vec<_>>()));
                for nth in &members {
                    moved[*nth] = first;
                }
            } else {
                for (place, nth) in members.iter().enumerate() {
                    moved[*nth] = first + place;
                }
                hubs.extend(taken.by_ref().map(|(hub, _)| hub));
            }
        }
        (hubs, moved.clone(), merge_cables(pairs, &moved))
    }

    /// Pairs of connected routers: by the cables in the file, else every leaf with every spine.
    fn connected_pairs(&self, cables: &Cables<'_>) -> Vec<(usize, usize, String)> {
        if !cables.routers.is_empty() {
            let listed = cables.routers.iter().filter_map(|(one, other)| {
                let ends = (self.router(one.0)?, self.router(other.0)?);
                Some((ends.0, ends.1, format!("{} {} – {} {}", one.0, one.1, other.0, other.1)))
            });
            return listed.collect();
        }
        let of = |kind| self.found.iter().enumerate().filter(move |(_, (hub, _))| hub.kind == kind);
        let detail = |leaf: &Hub, spine: &Hub| format!("{} – {}", leaf.name, spine.name);
        of(HubKind::Leaf)
            .flat_map(|(leaf, (one, _))| {
                of(HubKind::Spine).map(move |(spine, (other, _))| (leaf, spine, detail(one, other)))
            })
            .collect()
    }
}

fn merged_hub(kind: HubKind, members: &[(Hub, Option<u32>)]) -> Hub {
    let names = format!("{} … {}", members[0].0.name, members[members.len() - 1].0.name);
    let numbers = || members.iter().filter_map(|(_, asn)| *asn);
    let mut facts = vec![Fact::new("", names)];
    if let (Some(least), Some(most)) = (numbers().min(), numbers().max()) {
        let range = if least == most { least.to_string() } else { format!("{least} … {most}") };
        facts.push(Fact::new("AS", range));
    }
    Hub { kind, name: format!("{} {}s", members.len(), kind.word()), facts, count: members.len() }
}

/// Merges all cables between the same two hubs.
fn merge_cables(pairs: Vec<(usize, usize, String)>, moved: &[usize]) -> Vec<HubCable> {
    let mut between: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for (one, other, detail) in pairs {
        let ends = (moved[one], moved[other]);
        if ends.0 != ends.1 {
            between.entry((ends.0.min(ends.1), ends.0.max(ends.1))).or_default().push(detail);
        }
    }
    let detail =
        |all: Vec<String>| if all.len() > MOST { format!("{} cables", all.len()) } else { all.join("\n") };
    between.into_iter().map(|(ends, all)| HubCable { ends, detail: detail(all) }).collect()
}
