//! Where a value came from: which line, or which rule with which inputs.

use super::derive::Rule;
use super::{
    ClusterPlan, Decided, ImagePlan, NodePlan, Origin, Plan, Prefixes, RoutingPlan, VmPlan, WorkloadPlan,
};
use crate::cluster::section::{File, Node, Role};
use crate::model::Cluster;
use ichor_values::Place;
use ichor_values::nearest;
use ichor_values::print::Printed;
use ichor_values::read::{Read, Record};
use ichor_values::schema::Shape;

/// One value, explained.
#[derive(Debug)]
pub struct Why {
    /// The key path that was asked for.
    pub path: String,
    /// The value, as it could be written; none when nothing is set.
    pub value: Option<String>,
    /// Where it came from.
    pub cause: Cause,
}

/// Where a value came from.
#[derive(Debug)]
pub enum Cause {
    /// From this line.
    Line(Place),
    /// From a rule.
    Rule {
        /// The rule in words.
        rule: &'static str,
        /// What went into it.
        inputs: Vec<Input>,
    },
    /// From nothing: what holds when nobody says otherwise.
    Default(String),
}

/// Something that went into a rule.
#[derive(Debug)]
pub struct Input {
    /// What it is called in the rule.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Where it was written.
    pub place: Option<Place>,
}

/// A decided value, ready to be shown: key path, value, origin.
pub type Row = (String, String, Origin);

/// Explains the value at `path`, or says what is near it.
pub fn why(cluster: &Cluster, plan: &Plan, path: &str) -> Result<Why, String> {
    let steps = steps(path);
    let Some((first, rest)) = steps.split_first() else { return Err("an empty key path".to_owned()) };
    if *first == "nodes" {
        let Some((name, rest)) = rest.split_first() else {
            return Err("`nodes` is a list; ask for one, such as nodes.NAME.routing.asn".to_owned());
        };
        let found = cluster.node(name).or_else(|| name.parse().ok().filter(|nth| *nth < plan.nodes.len()));
        let Some(nth) = found else {
            let near = nearest(name, plan.nodes.iter().map(|node| node.name.as_str()));
            return Err(format!(
                "no node `{name}`{}",
                near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
            ));
        };
        return node_why(cluster, plan, nth, rest, path);
    }
    if let Some((_, value, origin)) =
        cluster_rows(&plan.cluster).into_iter().find(|(key, ..)| same(key, &steps))
    {
        return Ok(Why {
            path: path.to_owned(),
            value: Some(value),
            cause: cause(cluster, plan, None, "", origin),
        });
    }
    written_or_default(&cluster.file, &File::shape(), &steps, path)
}

/// A key path as its steps; a key with dots stands in quotes: `labels."topology.kubernetes.io/zone"`.
fn steps(path: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    for (nth, part) in path.split('"').enumerate() {
        if nth % 2 == 1 {
            steps.push(part);
        } else {
            steps.extend(
                part.split(['.', '[']).map(|step| step.trim_end_matches(']')).filter(|step| !step.is_empty()),
            );
        }
    }
    steps
}

fn node_why(cluster: &Cluster, plan: &Plan, nth: usize, steps: &[&str], path: &str) -> Result<Why, String> {
    let node = &plan.nodes[nth];
    if steps.is_empty() {
        let rows = node_rows(plan, node).into_iter().map(|(key, value, _)| (key, Printed::Scalar(value)));
        let value = Some(Printed::Map(rows.collect()).to_flow());
        return Ok(Why { path: path.to_owned(), value, cause: Cause::Line(node.place) });
    }
    if let Some((key, value, origin)) = node_rows(plan, node).into_iter().find(|(key, ..)| same(key, steps)) {
        return Ok(Why {
            path: path.to_owned(),
            value: Some(value),
            cause: cause(cluster, plan, Some(nth), &key, origin),
        });
    }
    let mut whole = cluster.nodes()[nth].value.clone();
    whole.rung = node.settings.clone();
    written_or_default(&whole, &Node::shape(), steps, path)
}

fn same(key: &str, steps: &[&str]) -> bool {
    key.split(['.', '[']).map(|step| step.trim_end_matches(']')).eq(steps.iter().copied())
}

/// What stands in the file at `steps`, or what holds because nothing does.
fn written_or_default<R: Record + Read>(
    record: &R,
    shape: &Shape,
    steps: &[&str],
    path: &str,
) -> Result<Why, String> {
    let path = path.to_owned();
    if let Some((value, place)) = record.lookup(steps) {
        return Ok(Why { path, value: Some(value.to_flow()), cause: Cause::Line(place) });
    }
    match shape.default_at(steps) {
        Ok("") => Ok(Why { path, value: None, cause: Cause::Default("nothing".to_owned()) }),
        Ok(default) => Ok(Why { path, value: None, cause: Cause::Default(default.to_owned()) }),
        Err((step, known)) => {
            let near = nearest(step, known.iter().copied());
            let hint = match near {
                Some(near) => format!("; did you mean `{near}`?"),
                None if known.is_empty() => String::new(),
                None => format!("; known here: {}", known.join(", ")),
            };
            Err(format!("no key `{step}` in `{path}`{hint}"))
        }
    }
}

fn cause(cluster: &Cluster, plan: &Plan, node: Option<usize>, key: &str, origin: Origin) -> Cause {
    match origin {
        Origin::Written(place) => Cause::Line(place),
        Origin::Default(reason) => Cause::Default(reason.to_owned()),
        Origin::Derived(rule, base) => {
            let mut inputs = Vec::new();
            if rule.takes_id()
                && let Some(id) = cluster.id()
            {
                inputs.push(Input { name: "id", value: id.value.to_string(), place: Some(id.place) });
            }
            if let Some((name, value)) = base_of(plan, node, key, rule) {
                inputs.push(Input { name, value, place: base });
            }
            if rule.takes_index()
                && let Some(index) = node.and_then(|nth| cluster.nodes()[nth].value.index.at())
            {
                inputs.push(Input {
                    name: "index",
                    value: index.value.to_string(),
                    place: Some(index.place),
                });
            }
            Cause::Rule { rule: rule.words(), inputs }
        }
    }
}

/// What a rule starts from: a prefix, a base number, the address of something else.
fn base_of(plan: &Plan, node: Option<usize>, key: &str, rule: Rule) -> Option<(&'static str, String)> {
    let node = node.map(|nth| &plan.nodes[nth]);
    let setting = |steps: &[&str]| Some(node?.settings.lookup(steps)?.0.to_flow());
    Some(match rule {
        Rule::Host4 | Rule::Host6 => ("prefix", prefix_of(plan, node?, key)?),
        Rule::AsnBase => ("base", setting(&["routing", "asn"])?),
        Rule::RouterIdBase => ("base", setting(&["routing", "router_id"])?),
        Rule::VmId => ("first_id", setting(&["vm", "first_id"])?),
        Rule::RouterIdLoopback => ("loopback", node?.loopback.v4.as_ref()?.value.addr().to_string()),
        Rule::EndpointVip => ("VIP", plan.cluster.vip.as_ref()?.value.to_string()),
        Rule::EndpointAnycast => ("anycast", plan.cluster.anycast.first()?.value.addr().to_string()),
        Rule::FirstControlPlane | Rule::EndpointNode => {
            ("first control plane", plan.control_planes().next()?.name.to_string())
        }
        Rule::Oldest | Rule::TalosDefault => ("Talos", plan.cluster.contract.value.to_string()),
        _ => return None,
    })
}

/// The prefix an address was taken from.
fn prefix_of(plan: &Plan, node: &NodePlan, key: &str) -> Option<String> {
    let steps: Vec<&str> = key.split('.').collect();
    if let Some((written, _)) = node.settings.lookup(&steps) {
        return Some(written.to_flow());
    }
    let cluster_wide =
        if key.starts_with("network.loopback") { &plan.cluster.loopback } else { &plan.cluster.node };
    if key.ends_with("v4") {
        cluster_wide.v4.as_ref().map(|v4| v4.value.to_string())
    } else {
        cluster_wide.v6.as_ref().map(|v6| v6.value.to_string())
    }
}

struct Rows(Vec<Row>);

impl Rows {
    fn put<T: ToString>(&mut self, key: &str, decided: &Decided<T>) {
        self.0.push((key.to_owned(), decided.value.to_string(), decided.origin));
    }

    fn some<T: ToString>(&mut self, key: &str, decided: Option<&Decided<T>>) {
        if let Some(decided) = decided {
            self.put(key, decided);
        }
    }

    fn list<T: ToString>(&mut self, key: &str, decided: &Decided<Vec<T>>) {
        let words: Vec<_> = decided.value.iter().map(|item| Printed::Scalar(item.to_string())).collect();
        self.0.push((key.to_owned(), Printed::List(words).to_flow(), decided.origin));
    }

    fn prefixes(&mut self, key: &str, prefixes: &Prefixes) {
        self.some(&format!("{key}.v4"), prefixes.v4.as_ref());
        self.some(&format!("{key}.v6"), prefixes.v6.as_ref());
    }
}

/// What was decided for the cluster, by key path.
pub fn cluster_rows(plan: &ClusterPlan) -> Vec<Row> {
    let mut rows = Rows(Vec::new());
    rows.put("cluster.contract", &plan.contract);
    rows.some("cluster.kubernetes", plan.kubernetes.as_ref());
    rows.some("cluster.endpoint", plan.endpoint.as_ref());
    rows.list("cluster.talos_endpoints", &plan.talos_endpoints);
    rows.some("cluster.bootstrap", plan.bootstrap.as_ref());
    rows.list("cluster.pods", &plan.pods);
    rows.list("cluster.services", &plan.services);
    rows.put("cluster.cni", &plan.cni);
    rows.put("cluster.kube_proxy", &plan.kube_proxy);
    rows.prefixes("network.node", &plan.node);
    rows.prefixes("network.loopback", &plan.loopback);
    rows.list("network.kubelet_subnets", &plan.kubelet_subnets);
    rows.list("network.etcd_subnets", &plan.etcd_subnets);
    rows.0
}

/// What was decided for one node, by key path below it.
pub fn node_rows(plan: &Plan, node: &NodePlan) -> Vec<Row> {
    let mut rows = Rows(Vec::new());
    rows.put("platform", &node.platform);
    rows.put("arch", &node.arch);
    rows.put("talos", &node.talos);
    for (nth, port) in node.ports.iter().enumerate() {
        rows.some(&format!("macs[{nth}]"), port.mac.as_ref());
    }
    rows.prefixes("network.node", &node.address);
    rows.put("network.node.link", &node.link);
    rows.put("network.node.addressing", &node.addressing);
    rows.some("network.node.gateway.v4", node.gateway.v4.as_ref());
    rows.some("network.node.gateway.v6", node.gateway.v6.as_ref());
    rows.prefixes("network.loopback", &node.loopback);
    let (kubelet, etcd) = (plan.kubelet_subnets(node), plan.etcd_subnets(node));
    if kubelet != plan.cluster.kubelet_subnets {
        rows.list("network.kubelet_subnets", &kubelet);
    }
    if node.role == Role::Controlplane && etcd != plan.cluster.etcd_subnets {
        rows.list("network.etcd_subnets", &etcd);
    }
    for dummy in &node.dummies {
        rows.prefixes(&format!("network.dummy.{}", dummy.name), &dummy.address);
    }
    rows.some("routing.asn", node.asn.as_ref());
    rows.some("routing.router_id", node.router_id.as_ref());
    if let Some(routing) = &node.routing {
        routing_rows(&mut rows, routing);
    }
    rows.put("boot.from", &node.boot.from);
    rows.some("install.disk", node.boot.disk.as_ref());
    rows.put("image.source", &node.boot.image);
    for (nth, extension) in node.boot.extensions.iter().enumerate() {
        rows.put(&format!("extensions[{nth}]"), extension);
    }
    if let Some(vm) = &node.vm {
        vm_rows(&mut rows, vm);
    }
    rows.0
}

fn routing_rows(rows: &mut Rows, routing: &RoutingPlan) {
    rows.put("routing.backend", &routing.backend);
    rows.some("routing.carrier", routing.carrier.as_ref());
    rows.list("routing.advertise", &routing.advertise);
    if let Some(workload) = &routing.workload {
        workload_rows(rows, workload);
    }
}

fn workload_rows(rows: &mut Rows, workload: &WorkloadPlan) {
    rows.put("routing.workload.isolation", &workload.isolation);
    let domain =
        if workload.table.is_some() { "routing.workload.vrf.name" } else { "routing.workload.namespace" };
    rows.some(domain, workload.domain.as_ref());
    rows.some("routing.workload.vrf.table", workload.table.as_ref());
    rows.some("routing.workload.link.ours", workload.link.as_ref().map(|link| &link.0));
    rows.some("routing.workload.link.theirs", workload.link.as_ref().map(|link| &link.1));
    rows.put("routing.workload.asn.ours", &workload.asn.0);
    rows.put("routing.workload.asn.theirs", &workload.asn.1);
}

fn vm_rows(rows: &mut Rows, vm: &VmPlan) {
    rows.some("vm.hypervisor", vm.hypervisor.as_ref());
    rows.some("vm.id", vm.id.as_ref());
    rows.some("vm.host", vm.host.as_ref());
    rows.put("vm.cores", &vm.cores);
    rows.put("vm.cpu", &vm.cpu);
    rows.put("vm.memory", &vm.memory);
    rows.put("vm.disk", &vm.disk);
    rows.put("vm.storage", &vm.storage);
    rows.put("vm.nic", &vm.nic);
    rows.put("vm.bridge", &vm.bridge);
    rows.some("vm.vlan", vm.vlan.as_ref());
    rows.put("vm.machine", &vm.machine);
    rows.put("vm.firmware", &vm.firmware);
    rows.list("vm.boot", &vm.boot);
    rows.put("vm.on_boot", &vm.on_boot);
    rows.put("vm.guest_agent", &vm.guest_agent);
}

impl std::fmt::Display for ImagePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Made(source) => source.fmt(f),
            Self::Given => f.pad("given"),
        }
    }
}

impl std::fmt::Display for super::CniPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flannel(None) => f.pad("flannel"),
            Self::Flannel(Some(link)) => f.pad(&format!("flannel on {link}")),
            Self::Cilium => f.pad("cilium"),
            Self::None => f.pad("none"),
            Self::Manifest(path) => f.pad(path),
        }
    }
}
