//! Clusters side by side: which values come in two of them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::model::Cluster;
use crate::plan::{Decided, NodePlan, Origin, Plan};
use crate::rules::address::holder;
use crate::rules::address::overlap::{self, PrefixUse};
use crate::rules::clash::{self, ComparedCluster};
use crate::rules::identity::vm_id;
use crate::rules::{Finding, Rule};
use ichor_values::Location;
use ichor_values::Mac;
use ichor_values::listing;

/// Who has a value: the number of a node, or what is not one.
type ValueOwner = u32;
const CLUSTER: ValueOwner = ValueOwner::MAX;
const VIP: ValueOwner = ValueOwner::MAX - 1;
const ANYCAST: ValueOwner = ValueOwner::MAX - 2;

/// A value of a cluster: whose it is, and whether it only follows from the cluster's id.
#[derive(Clone, Copy)]
struct OwnedValue<K> {
    value: K,
    file: usize,
    owner: ValueOwner,
    by_id: bool,
}

/// Values that two clusters both have: the first, and how many.
struct SharedValue<K> {
    one: OwnedValue<K>,
    other: OwnedValue<K>,
    count: usize,
}

/// Clusters side by side, and what they both claim.
pub(super) struct ClusterComparison<'c> {
    clusters: &'c [ComparedCluster<'c>],
    findings: Vec<(usize, Finding)>,
}

/// Whether a value follows from the cluster's id and nothing that was written.
fn by_id(origin: Origin) -> bool {
    matches!(origin, Origin::Derived(_, None))
}

impl<'c> ClusterComparison<'c> {
    /// Clusters that have not been looked at yet.
    pub(crate) fn new(clusters: &'c [ComparedCluster<'c>]) -> Self {
        Self { clusters, findings: Vec::new() }
    }

    /// Everything that two of them claim, each with the number of the later one.
    pub(crate) fn findings(mut self) -> Vec<(usize, Finding)> {
        self.names();
        self.node_names();
        self.asns();
        self.prefixes();
        self.addresses();
        self.macs();
        self.vm_ids();
        self.findings
    }

    /// Values that come in two clusters, by pair of clusters.
    fn shared<K: Ord + Copy>(&self, mut items: Vec<OwnedValue<K>>) -> Vec<SharedValue<K>> {
        items.sort_unstable_by_key(|item| (item.value, item.file, item.owner));
        let mut pairs: BTreeMap<(usize, usize), SharedValue<K>> = BTreeMap::new();
        for run in items.chunk_by(|a, b| a.value == b.value) {
            for other in run.chunk_by(|a, b| a.file == b.file).skip(1).map(|claims| claims[0]) {
                let one = run[0];
                if one.by_id && other.by_id && self.same_id(one.file, other.file) {
                    continue;
                }
                let pair = pairs.entry((one.file, other.file));
                pair.or_insert(SharedValue { one, other, count: 0 }).count += 1;
            }
        }
        pairs.into_values().collect()
    }

    fn same_id(&self, one: usize, other: usize) -> bool {
        self.clusters[one].2.cluster.id == self.clusters[other].2.cluster.id
    }

    /// Every value of every node of every cluster.
    fn of_nodes<K, I: IntoIterator<Item = (K, bool)>>(
        &self,
        values: impl Fn(&'c Cluster, &'c NodePlan) -> I,
    ) -> Vec<OwnedValue<K>> {
        let mut items = Vec::new();
        for (file, (_, cluster, plan)) in self.clusters.iter().enumerate() {
            for (owner, node) in (0..).zip(&plan.nodes) {
                let item = |(value, by_id)| OwnedValue { value, file, owner, by_id };
                items.extend(values(cluster, node).into_iter().map(item));
            }
        }
        items
    }

    fn report(
        &mut self,
        rule: &'static Rule,
        file: usize,
        (path, place): (String, Location),
        message: String,
    ) {
        self.findings.push((file, Finding::new(rule, path, place, message)));
    }

    /// Reports values that nodes of two clusters have.
    fn tell<K: Copy>(
        &mut self,
        rule: &'static Rule,
        shared: Vec<SharedValue<K>>,
        (key, what): (&str, impl Fn(K) -> String),
        place: impl Fn(&NodePlan, K) -> Option<Location>,
    ) {
        for SharedValue { one, other, count } in shared {
            let clusters = self.clusters;
            let node = &clusters[other.file].2.nodes[other.owner as usize];
            let whose = &clusters[one.file].2.nodes[one.owner as usize].name;
            let file = clusters[one.file].0;
            let at = (node.path(key), place(node, other.value).unwrap_or(node.place));
            let message = format!("{} also belongs to {whose} in {file}{}", what(other.value), more(count));
            self.report(rule, other.file, at, message);
        }
    }

    fn names(&mut self) {
        let names = self.shared(self.of_clusters(|plan| Some(plan.cluster.name.as_str())));
        for SharedValue { one, other, .. } in names {
            let place = self.clusters[other.file].1.section().name.place().unwrap_or_default();
            let message =
                format!("the cluster in {} is also called `{}`", self.clusters[one.file].0, other.value);
            self.report(&clash::NAME, other.file, ("cluster.name".to_owned(), place), message);
        }
        for SharedValue { one, other, .. } in self.shared(self.of_clusters(|plan| plan.cluster.id)) {
            let place = self.clusters[other.file].1.section().id.place().unwrap_or_default();
            let message = format!("the cluster in {} also has ID {}", self.clusters[one.file].0, other.value);
            self.report(&clash::ID, other.file, ("cluster.id".to_owned(), place), message);
        }
    }

    /// One value of every cluster.
    fn of_clusters<K>(&self, value: impl Fn(&'c Plan) -> Option<K>) -> Vec<OwnedValue<K>> {
        let item = |(file, (_, _, plan)): (usize, &ComparedCluster<'c>)| {
            value(plan).map(|value| OwnedValue { value, file, owner: CLUSTER, by_id: false })
        };
        self.clusters.iter().enumerate().filter_map(item).collect()
    }

    fn node_names(&mut self) {
        for SharedValue { one, other, count } in
            self.shared(self.of_nodes(|_, node| [(node.name.as_str(), false)]))
        {
            let node = &self.clusters[other.file].2.nodes[other.owner as usize];
            let message =
                format!("{} also has a node {}{}", self.clusters[one.file].0, other.value, more(count));
            self.report(&clash::NODE_NAME, other.file, (node.path("name"), node.place), message);
        }
    }

    fn asns(&mut self) {
        let of = |node: &'c NodePlan| node.asn.as_ref().filter(|_| node.routing.is_some());
        let shared = self.shared(self.of_nodes(|_, node| of(node).map(|asn| (asn.value, by_id(asn.origin)))));
        let place = |node: &NodePlan, _| node.asn.as_ref().map(|asn| node.place_of(asn.origin));
        self.tell(&clash::ASN, shared, ("routing.asn", |asn| format!("AS number {asn}")), place);
    }

    fn macs(&mut self) {
        let real = |mac: &&Decided<Mac>| !mac.value.is_multicast() && mac.value.0 != [0; 6];
        let of = |node: &'c NodePlan| node.ports.iter().filter_map(|port| port.mac.as_ref()).filter(real);
        let items = self.of_nodes(|_, node| of(node).map(|mac| (mac.value, by_id(mac.origin))));
        let place = |node: &NodePlan, value| {
            let mut macs = node.ports.iter().filter_map(|port| port.mac.as_ref());
            macs.find(|mac| mac.value == value).map(|mac| node.place_of(mac.origin))
        };
        self.tell(&clash::MAC, self.shared(items), ("macs", |mac: Mac| mac.to_string()), place);
    }

    fn vm_ids(&mut self) {
        let of = |cluster: &'c Cluster, node: &'c NodePlan| {
            let vm = node.vm.as_ref()?;
            let url = vm_id::url(cluster, vm.hypervisor.as_ref()?.value.as_str())?;
            Some(((vm.id.as_ref()?.value, url), false))
        };
        let shared = self.shared(self.of_nodes(of));
        let place = |node: &NodePlan, _| {
            let id = node.vm.as_ref()?.id.as_ref()?;
            Some(node.place_of(id.origin))
        };
        self.tell(&clash::VM_ID, shared, ("vm.id", |(id, url)| format!("VM ID {id} on {url}")), place);
    }

    fn addresses(&mut self) {
        let mut items = self.of_nodes(|_, node| {
            holder::own(node)
                .filter(|held| !holder::is_apart(node, held.purpose))
                .map(|held| (held.net.addr(), by_id(held.origin)))
        });
        for (file, (_, _, plan)) in self.clusters.iter().enumerate() {
            let item = |owner| move |value| OwnedValue { value, file, owner, by_id: false };
            items.extend(plan.cluster.vip.iter().map(|vip| vip.value).map(item(VIP)));
            items.extend(plan.cluster.anycast.iter().map(|net| net.value.addr()).map(item(ANYCAST)));
        }
        for SharedValue { one, other, count } in self.shared(items) {
            let (file, _, plan) = self.clusters[one.file];
            let whose = match one.owner {
                VIP => "the VIP",
                ANYCAST => "an anycast address",
                nth => plan.nodes[nth as usize].name.as_str(),
            };
            let message = format!("{} is also {whose} in {file}{}", other.value, more(count));
            self.report(&clash::ADDRESS, other.file, self.at(&other), message);
        }
    }

    /// Where a cluster has an address.
    fn at(&self, item: &OwnedValue<IpAddr>) -> (String, Location) {
        let (_, cluster, plan) = self.clusters[item.file];
        match item.owner {
            VIP => {
                let place = plan.cluster.vip.as_ref().and_then(|vip| vip.place());
                ("network.api.vip".to_owned(), place.unwrap_or(cluster.place()))
            }
            ANYCAST => {
                let mut anycast = plan.cluster.anycast.iter();
                let place = anycast.find(|net| net.value.addr() == item.value).and_then(|net| net.place());
                ("network.api.anycast".to_owned(), place.unwrap_or(cluster.place()))
            }
            nth => {
                let node = &plan.nodes[nth as usize];
                let held = holder::own(node).find(|held| held.net.addr() == item.value);
                let at = |held: holder::NodeAddress<'_>| {
                    (node.path(&held.purpose.key(item.value)), node.place_of(held.origin))
                };
                held.map_or((node.path(""), node.place), at)
            }
        }
    }

    fn prefixes(&mut self) {
        let mut claims = Vec::new();
        for (file, (_, cluster, plan)) in self.clusters.iter().enumerate() {
            let counts = |used| {
                matches!(
                    used,
                    PrefixUse::Node | PrefixUse::Loopback | PrefixUse::Dummy(_) | PrefixUse::Pool(_)
                )
            };
            let own = overlap::claims(cluster, plan).into_iter().filter(|claim| counts(claim.used));
            claims.extend(own.map(|claim| (file, claim)));
        }
        let nets: Vec<_> = claims.iter().map(|(_, claim)| claim.net).collect();
        let mut pairs: BTreeMap<(usize, usize), (usize, usize, usize)> = BTreeMap::new();
        for (outer, inner) in overlap::nested(&nets) {
            let (one, other) =
                if claims[outer].0 < claims[inner].0 { (outer, inner) } else { (inner, outer) };
            let ((a, first), (b, second)) = (&claims[one], &claims[other]);
            let whole = first.net == second.net
                && first.used == second.used
                && !matches!(first.used, PrefixUse::Pool(_));
            let by_id = first.place.is_none() && second.place.is_none() && self.same_id(*a, *b);
            if a != b && !whole && !by_id {
                pairs.entry((*a, *b)).or_insert((one, other, 0)).2 += 1;
            }
        }
        for ((a, b), (one, other, count)) in pairs {
            let (one, other) = (&claims[one].1, &claims[other].1);
            let (file, cluster) = (self.clusters[a].0, self.clusters[b].1);
            let place = other.place.or(cluster.section().id.place()).unwrap_or(cluster.place());
            let message = format!(
                "{} shares addresses with `{}` {} in {file}{}",
                other.net,
                one.key,
                one.net,
                more(count)
            );
            self.report(&clash::PREFIX, b, (other.key.clone(), place), message);
        }
    }
}

/// How many more there are like the one that is named.
fn more(count: usize) -> String {
    match count - 1 {
        0 => String::new(),
        more => format!(" (and {} more)", listing::thousands(more)),
    }
}
