//! Links, addresses, routes, hostname, name and time servers of a node, as documents.

use serde_json::Value;

use crate::plan::{NodePlan, Plan, Stage};

/// The documents, for a Talos that has them (1.12 and later).
pub fn documents(_plan: &Plan, _node: &NodePlan, _stage: Stage) -> Vec<Value> {
    Vec::new()
}

/// The same for Talos 1.11: what is merged into the document with `machine` and `cluster`.
pub fn machine(_plan: &Plan, _node: &NodePlan) -> Value {
    Value::Null
}
