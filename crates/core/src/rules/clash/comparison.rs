//! Comparison of clusters: values that two of them have.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::model::Cluster;
use crate::plan::{Decided, NodePlan, Origin, Plan};
use crate::rules::address::node_address;
use crate::rules::address::overlap::{self, PrefixUse};
use crate::rules::clash::{self, ComparedCluster};
use crate::rules::identity::vm_id::hypervisor_url;
use crate::rules::{Finding, Rule};
use ichor_values::Location;
use ichor_values::Mac;
use ichor_values::listing;

/// The owner of a value: a node's number, or one of the constants below.
type ValueOwner = u32;
const CLUSTER: ValueOwner = ValueOwner::MAX;
const VIP: ValueOwner = ValueOwner::MAX - 1;
const ANYCAST: ValueOwner = ValueOwner::MAX - 2;

/// A value of a cluster with its owner, and whether it is derived from the cluster's ID only.
#[derive(Clone, Copy)]
struct OwnedValue<K> {
    value: K,
    file: usize,
    owner: ValueOwner,
    by_id: bool,
}

/// Values that two clusters share: the first, and their number.
struct SharedValue<K> {
    one: OwnedValue<K>,
    other: OwnedValue<K>,
    count: usize,
}

/// Clusters to compare, and the findings.
pub(super) struct ClusterComparison<'c> {
    clusters: &'c [ComparedCluster<'c>],
    findings: Vec<(usize, Finding)>,
}

/// Whether a value is derived from the cluster's ID only.
fn by_id(origin: Origin) -> bool {
    matches!(origin, Origin::Derived(_, None))
}

impl<'c> ClusterComparison<'c> {
    /// Prepares a comparison.
    pub(crate) fn new(clusters: &'c [ComparedCluster<'c>]) -> Self {
        Self { clusters, findings: Vec::new() }
    }

    /// Compares the clusters. Each finding has the number of the later cluster.
    pub(crate) fn findings(mut self) -> Vec<(usize, Finding)> {
        self.compare_clusters();
        self.compare_node_names();
        self.compare_asns();
        self.compare_prefixes();
        self.compare_addresses();
        self.compare_macs();
        self.compare_vm_ids();
        self.findings
    }

    /// Values that occur in two clusters, by pair of clusters.
    fn shared_values<K: Ord + Copy>(&self, mut items: Vec<OwnedValue<K>>) -> Vec<SharedValue<K>> {
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

    /// The values of all nodes of all clusters.
    fn node_values<K, I: IntoIterator<Item = (K, bool)>>(
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

    /// Reports values that nodes of two clusters share.
    fn report_shared<K: Copy>(
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

    fn compare_clusters(&mut self) {
        let names = self.shared_values(self.cluster_values(|plan| Some(plan.cluster.name.as_str())));
        for SharedValue { one, other, .. } in names {
            let place = self.clusters[other.file].1.section().name.place().unwrap_or_default();
            let message =
                format!("the cluster in {} is also called `{}`", self.clusters[one.file].0, other.value);
            self.report(&clash::NAME, other.file, ("cluster.name".to_owned(), place), message);
        }
        for SharedValue { one, other, .. } in self.shared_values(self.cluster_values(|plan| plan.cluster.id))
        {
            let place = self.clusters[other.file].1.section().id.place().unwrap_or_default();
            let message = format!("the cluster in {} also has ID {}", self.clusters[one.file].0, other.value);
            self.report(&clash::ID, other.file, ("cluster.id".to_owned(), place), message);
        }
    }

    /// One value of each cluster.
    fn cluster_values<K>(&self, value: impl Fn(&'c Plan) -> Option<K>) -> Vec<OwnedValue<K>> {
        let item = |(file, (_, _, plan)): (usize, &ComparedCluster<'c>)| {
            value(plan).map(|value| OwnedValue { value, file, owner: CLUSTER, by_id: false })
        };
        self.clusters.iter().enumerate().filter_map(item).collect()
    }

    fn compare_node_names(&mut self) {
        for SharedValue { one, other, count } in
            self.shared_values(self.node_values(|_, node| [(node.name.as_str(), false)]))
        {
            let node = &self.clusters[other.file].2.nodes[other.owner as usize];
            let message =
                format!("{} also has a node {}{}", self.clusters[one.file].0, other.value, more(count));
            self.report(&clash::NODE_NAME, other.file, (node.path("name"), node.place), message);
        }
    }

    fn compare_asns(&mut self) {
        let asn = |node: &'c NodePlan| node.asn.as_ref().filter(|_| node.routing.is_some());
        let shared = self
            .shared_values(self.node_values(|_, node| asn(node).map(|asn| (asn.value, by_id(asn.origin)))));
        let place = |node: &NodePlan, _| node.asn.as_ref().map(|asn| node.place_of(asn.origin));
        self.report_shared(&clash::ASN, shared, ("routing.asn", |asn| format!("AS number {asn}")), place);
    }

    fn compare_macs(&mut self) {
        let real = |mac: &&Decided<Mac>| !mac.value.is_multicast() && mac.value.0 != [0; 6];
        let macs = |node: &'c NodePlan| node.ports.iter().filter_map(|port| port.mac.as_ref()).filter(real);
        let items = self.node_values(|_, node| macs(node).map(|mac| (mac.value, by_id(mac.origin))));
        let place = |node: &NodePlan, value| {
            let mut macs = node.ports.iter().filter_map(|port| port.mac.as_ref());
            macs.find(|mac| mac.value == value).map(|mac| node.place_of(mac.origin))
        };
        self.report_shared(
            &clash::MAC,
            self.shared_values(items),
            ("macs", |mac: Mac| mac.to_string()),
            place,
        );
    }

    fn compare_vm_ids(&mut self) {
        let vm_id = |cluster: &'c Cluster, node: &'c NodePlan| {
            let vm = node.vm.as_ref()?;
            let url = hypervisor_url(cluster, vm.hypervisor.as_ref()?.value.as_str())?;
            Some(((vm.id.as_ref()?.value, url), false))
        };
        let shared = self.shared_values(self.node_values(vm_id));
        let place = |node: &NodePlan, _| {
            let id = node.vm.as_ref()?.id.as_ref()?;
            Some(node.place_of(id.origin))
        };
        self.report_shared(
            &clash::VM_ID,
            shared,
            ("vm.id", |(id, url)| format!("VM ID {id} on {url}")),
            place,
        );
    }

    fn compare_addresses(&mut self) {
        let mut items = self.node_values(|_, node| {
            node_address::unicast_addresses(node)
                .filter(|held| !node_address::is_site_local(node, held.purpose))
                .map(|held| (held.net.addr(), by_id(held.origin)))
        });
        for (file, (_, _, plan)) in self.clusters.iter().enumerate() {
            let item = |owner| move |value| OwnedValue { value, file, owner, by_id: false };
            items.extend(plan.cluster.vip.iter().map(|vip| vip.value).map(item(VIP)));
            items.extend(plan.cluster.anycast.iter().map(|net| net.value.addr()).map(item(ANYCAST)));
        }
        for SharedValue { one, other, count } in self.shared_values(items) {
            let (file, _, plan) = self.clusters[one.file];
            let whose = match one.owner {
                VIP => "the VIP",
                ANYCAST => "an anycast address",
                nth => plan.nodes[nth as usize].name.as_str(),
            };
            let message = format!("{} is also {whose} in {file}{}", other.value, more(count));
            self.report(&clash::ADDRESS, other.file, self.address_location(&other), message);
        }
    }

    /// The key and location of an address.
    fn address_location(&self, item: &OwnedValue<IpAddr>) -> (String, Location) {
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
                let held = node_address::unicast_addresses(node).find(|held| held.net.addr() == item.value);
                let at = |held: node_address::NodeAddress<'_>| {
                    (node.path(&held.purpose.key(item.value)), node.place_of(held.origin))
                };
                held.map_or((node.path(""), node.place), at)
            }
        }
    }

    fn compare_prefixes(&mut self) {
        let mut claims = Vec::new();
        for (file, (_, cluster, plan)) in self.clusters.iter().enumerate() {
            let counts = |used| {
                matches!(
                    used,
                    PrefixUse::Node | PrefixUse::Loopback | PrefixUse::Dummy(_) | PrefixUse::Pool(_)
                )
            };
            let own = overlap::collect_claims(cluster, plan).into_iter().filter(|claim| counts(claim.used));
            claims.extend(own.map(|claim| (file, claim)));
        }
        let nets: Vec<_> = claims.iter().map(|(_, claim)| claim.net).collect();
        let mut pairs: BTreeMap<(usize, usize), (usize, usize, usize)> = BTreeMap::new();
        for (outer, inner) in overlap::nested_pairs(&nets) {
            let (one, other) =
                if claims[outer].0 < claims[inner].0 { (outer, inner) } else { (inner, outer) };
            let ((a, first), (b, second)) = (&claims[one], &claims[other]);
            let is_shared_network = first.net == second.net
                && first.used == second.used
                && !matches!(first.used, PrefixUse::Pool(_));
            let by_id = first.place.is_none() && second.place.is_none() && self.same_id(*a, *b);
            if a != b && !is_shared_network && !by_id {
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

/// The number of further values, in words.
fn more(count: usize) -> String {
    match count - 1 {
        0 => String::new(),
        more => format!(" (and {} more)", listing::thousands(more)),
    }
}
