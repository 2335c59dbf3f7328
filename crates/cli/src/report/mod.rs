//! Reports problems and findings as text, JSON and JUnit XML.

mod excerpt;
mod json;
mod junit;
mod text;

use std::collections::BTreeMap;

use ichor_core::prove::summarize_names;
use ichor_core::render::tree::NodeWarning;

use crate::style;

pub(crate) use json::{
    finding as finding_json, issue as issue_json, location as location_json, mistake as mistake_json,
    problem as problem_json, refused as refused_json, unresolved as unresolved_json,
};
pub(crate) use junit::junit;
pub(crate) use text::{findings, line, problems, unrendered};

/// Prints Talos's warnings about valid configurations, each once with the nodes it applies to.
pub(crate) fn warnings(warnings: &[NodeWarning]) {
    let mut nodes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for warning in warnings {
        nodes.entry(warning.to_string()).or_default().push(warning.node.as_str());
    }
    let (colour, plain) = (style::WARNING, style::WARNING.render_reset());
    for (text, mut names) in nodes {
        names.dedup();
        style::say(&format!("{colour}warning:{plain} {}: {text}", summarize_names(names)));
    }
}
