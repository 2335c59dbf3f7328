//! Where a value came from: which line, or which rule with which inputs.

use super::derive::Rule;
pub use super::rows::{Row, cluster_detail_rows, cluster_rows, node_rows, surrounding_rows};
use super::{ImagePlan, NodePlan, Origin, Plan};
use crate::cluster::section::{File, Node};
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

/// Why a key path leads to no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyError {
    /// It has no step.
    #[error("an empty key path")]
    Empty,
    /// It leads to all nodes at once.
    #[error("`nodes` is a list; ask for one, such as nodes.NAME.routing.asn")]
    Nodes,
    /// It names a node that the file does not have.
    #[error("no node `{name}`{}", near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Node {
        /// The name.
        name: String,
        /// The nearest name of a node.
        near: Option<String>,
    },
    /// It has a step that is not a key.
    #[error("no key `{step}` in `{path}`{hint}")]
    Key {
        /// The step.
        step: String,
        /// The path.
        path: String,
        /// The keys that are known there, or the nearest of them.
        hint: String,
    },
}

/// Explains the value at `path`, or says what is near it.
pub fn why(cluster: &Cluster, plan: &Plan, path: &str) -> Result<Why, WhyError> {
    let steps = steps(path);
    let Some((first, rest)) = steps.split_first() else { return Err(WhyError::Empty) };
    if *first == "nodes" {
        let Some((name, rest)) = rest.split_first() else {
            return Err(WhyError::Nodes);
        };
        let found = cluster.node(name).or_else(|| name.parse().ok().filter(|nth| *nth < plan.nodes.len()));
        let Some(nth) = found else {
            let near = nearest(name, plan.nodes.iter().map(|node| node.name.as_str()));
            return Err(WhyError::Node { name: (*name).to_owned(), near: near.map(str::to_owned) });
        };
        return node_why(cluster, plan, nth, rest, path);
    }
    let details = cluster_detail_rows(&plan.cluster).into_iter().chain(surrounding_rows(plan));
    let mut rows = cluster_rows(&plan.cluster).into_iter().chain(details);
    if let Some((_, value, origin)) = rows.find(|(key, ..)| same(key, &steps)) {
        return Ok(Why {
            path: path.to_owned(),
            value: Some(value),
            cause: cause(cluster, plan, None, "", origin),
        });
    }
    written_or_default(&cluster.file, &File::shape(), &steps, path)
}

/// Everything the file gives a node, from all rungs of the ladder, as it could stand on the node itself.
pub fn written(node: &NodePlan) -> String {
    node.settings.print().to_flow()
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

fn node_why(cluster: &Cluster, plan: &Plan, nth: usize, steps: &[&str], path: &str) -> Result<Why, WhyError> {
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
    self::steps(key) == steps
}

/// What stands in the file at `steps`, or what holds because nothing does.
fn written_or_default<R: Record + Read>(
    record: &R,
    shape: &Shape,
    steps: &[&str],
    path: &str,
) -> Result<Why, WhyError> {
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
            Err(WhyError::Key { step: step.to_owned(), path, hint })
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

impl std::fmt::Display for ImagePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Made(source) => source.fmt(f),
            Self::Given => f.pad("given"),
        }
    }
}
