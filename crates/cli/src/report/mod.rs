//! Problems and findings for people, programs and CI servers.

mod excerpt;
mod json;
mod junit;
mod text;

use std::collections::BTreeMap;

use ichor_core::prove::crowd;
use ichor_core::render::tree::NodeWarning;

use crate::style;

pub(crate) use json::{
    finding as finding_json, issue as issue_json, mistake as mistake_json, problem as problem_json,
    refused as refused_json, unresolved as unresolved_json,
};
pub(crate) use junit::junit;
pub(crate) use text::{findings, line, problems, unrendered};

/// Prints what Talos says of configurations that it accepts: each warning once, with the nodes that have it.
pub(crate) fn warnings(warnings: &[NodeWarning]) {
    let mut nodes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for warning in warnings {
        nodes.entry(warning.to_string()).or_default().push(warning.node.as_str());
    }
    let (colour, plain) = (style::WARNING, style::WARNING.render_reset());
    for (text, mut names) in nodes {
        names.dedup();
        style::say(&format!("{colour}warning:{plain} {}: {text}", crowd(names)));
    }
}
