//! Explanation of a value: its line, or its rule and inputs.

use super::derive::Derivation;
pub use super::rows::{ValueRow, cluster_detail_rows, cluster_rows, fabric_rows, node_rows};
use super::{ImagePlan, NodePlan, Origin, Plan};
use crate::cluster::section::{File, Node};
use crate::model::Cluster;
use ichor_values::Location;
use ichor_values::nearest;
use ichor_values::print::Printed;
use ichor_values::read::{Read, Record};
use ichor_values::schema::Shape;

/// The explanation of a value.
#[derive(Debug)]
pub struct ValueExplanation {
    /// Its key path.
    pub path: String,
    /// The value as it would be written; none if it is unset.
    pub value: Option<String>,
    /// Its source.
    pub cause: ValueSource,
}

/// Source of a value.
#[derive(Debug)]
pub enum ValueSource {
    /// A line.
    Line(Location),
    /// A rule.
    Rule {
        /// Description of the rule.
        rule: &'static str,
        /// Its inputs.
        inputs: Vec<DerivationInput>,
    },
    /// A default, and its reason.
    Default(String),
}

/// An input of a rule.
#[derive(Debug)]
pub struct DerivationInput {
    /// Its name in the rule.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// Where it is written.
    pub place: Option<Location>,
}

/// A key path that has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyError {
    /// It is empty.
    #[error("an empty key path")]
    Empty,
    /// It names no single node.
    #[error("`nodes` is a list; name one node, such as nodes.NAME.routing.asn")]
    Nodes,
    /// It names an unknown node.
    #[error("no node `{name}`{}", near.as_ref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Node {
        /// The name.
        name: String,
        /// The nearest name of a node.
        near: Option<String>,
    },
    /// It has an unknown key.
    #[error("no key `{step}` in `{path}`{hint}")]
    Key {
        /// The step.
        step: String,
        /// The path.
        path: String,
        /// The known keys there, or the nearest one.
        hint: String,
    },
}

/// Explains the value at `path`.
pub fn why(cluster: &Cluster, plan: &Plan, path: &str) -> Result<ValueExplanation, WhyError> {
    let steps = parse_key_path(path);
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
        return explain_node(cluster, plan, nth, rest, path);
    }
    let details = cluster_detail_rows(&plan.cluster).into_iter().chain(fabric_rows(plan));
    let mut rows = cluster_rows(&plan.cluster).into_iter().chain(details);
    if let Some((_, value, origin)) = rows.find(|(key, ..)| matches_path(key, &steps)) {
        return Ok(ValueExplanation {
            path: path.to_owned(),
            value: Some(value),
            cause: value_source(cluster, plan, None, "", origin),
        });
    }
    written_or_default(&cluster.file, &File::shape(), &steps, path)
}

/// The settings of a node merged from all layers, as they would be written on the node.
pub fn merged_settings(node: &NodePlan) -> String {
    node.settings.print().to_flow()
}

/// Splits a key path into steps; a key with dots is quoted: `labels."topology.kubernetes.io/zone"`.
fn parse_key_path(path: &str) -> Vec<&str> {
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

fn explain_node(
    cluster: &Cluster,
    plan: &Plan,
    nth: usize,
    steps: &[&str],
    path: &str,
) -> Result<ValueExplanation, WhyError> {
    let node = &plan.nodes[nth];
    if steps.is_empty() {
        let rows = node_rows(plan, node).into_iter().map(|(key, value, _)| (key, Printed::Scalar(value)));
        let value = Some(Printed::Map(rows.collect()).to_flow());
        return Ok(ValueExplanation { path: path.to_owned(), value, cause: ValueSource::Line(node.place) });
    }
    if let Some((key, value, origin)) =
        node_rows(plan, node).into_iter().find(|(key, ..)| matches_path(key, steps))
    {
        return Ok(ValueExplanation {
            path: path.to_owned(),
            value: Some(value),
            cause: value_source(cluster, plan, Some(nth), &key, origin),
        });
    }
    let mut merged = cluster.nodes()[nth].value.clone();
    merged.settings = node.settings.clone();
    written_or_default(&merged, &Node::shape(), steps, path)
}

fn matches_path(key: &str, steps: &[&str]) -> bool {
    self::parse_key_path(key) == steps
}

/// Explains the value in the file at `steps`, or its default.
fn written_or_default<R: Record + Read>(
    record: &R,
    shape: &Shape,
    steps: &[&str],
    path: &str,
) -> Result<ValueExplanation, WhyError> {
    let path = path.to_owned();
    if let Some((value, place)) = record.lookup(steps) {
        return Ok(ValueExplanation { path, value: Some(value.to_flow()), cause: ValueSource::Line(place) });
    }
    match shape.default_at(steps) {
        Ok("") => {
            Ok(ValueExplanation { path, value: None, cause: ValueSource::Default("nothing".to_owned()) })
        }
        Ok(default) => {
            Ok(ValueExplanation { path, value: None, cause: ValueSource::Default(default.to_owned()) })
        }
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

fn value_source(
    cluster: &Cluster,
    plan: &Plan,
    node: Option<usize>,
    key: &str,
    origin: Origin,
) -> ValueSource {
    match origin {
        Origin::Written(place) => ValueSource::Line(place),
        Origin::Default(reason) => ValueSource::Default(reason.to_owned()),
        Origin::Derived(rule, base) => {
            let mut inputs = Vec::new();
            if rule.uses_id()
                && let Some(id) = cluster.id()
            {
                inputs.push(DerivationInput {
                    name: "id",
                    value: id.value.to_string(),
                    place: Some(id.place),
                });
            }
            if let Some((name, value)) = rule_base(plan, node, key, rule) {
                inputs.push(DerivationInput { name, value, place: base });
            }
            if rule.uses_index()
                && let Some(index) = node.and_then(|nth| cluster.nodes()[nth].value.index.at())
            {
                inputs.push(DerivationInput {
                    name: "index",
                    value: index.value.to_string(),
                    place: Some(index.place),
                });
            }
            ValueSource::Rule { rule: rule.description(), inputs }
        }
    }
}

/// The base of a rule: a prefix, a number or an address.
fn rule_base(
    plan: &Plan,
    node: Option<usize>,
    key: &str,
    rule: Derivation,
) -> Option<(&'static str, String)> {
    let node = node.map(|nth| &plan.nodes[nth]);
    let setting = |steps: &[&str]| Some(node?.settings.lookup(steps)?.0.to_flow());
    Some(match rule {
        Derivation::Host4 | Derivation::Host6 => ("prefix", prefix_of(plan, node?, key)?),
        Derivation::AsnBase => ("base", setting(&["routing", "asn"])?),
        Derivation::RouterIdBase => ("base", setting(&["routing", "router_id"])?),
        Derivation::VmId => ("first_id", setting(&["vm", "first_id"])?),
        Derivation::RouterIdLoopback => ("loopback", node?.loopback.v4.as_ref()?.value.addr().to_string()),
        Derivation::EndpointVip => ("VIP", plan.cluster.vip.as_ref()?.value.to_string()),
        Derivation::EndpointAnycast => ("anycast", plan.cluster.anycast.first()?.value.addr().to_string()),
        Derivation::FirstControlPlane | Derivation::EndpointNode => {
            ("first control plane", plan.control_planes().next()?.name.to_string())
        }
        Derivation::Oldest | Derivation::TalosDefault => ("Talos", plan.cluster.contract.value.to_string()),
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
