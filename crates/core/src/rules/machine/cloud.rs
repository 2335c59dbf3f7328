//! Limits of clouds.

use crate::cluster::section::Platform;
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};

pub(super) const RULES: &[Rule] = &[GCP_NAME];

const GCP_NAME: Rule = Rule {
    id: "gcp-name",
    severity: Severity::Error,
    summary: "Google Cloud does not accept a name",
    failure: "Names of instances and networks begin with a letter. The API rejects a node called 3rd-master after the \
              network and firewall have been created.",
    fix: "give the node a name that begins with a letter, and the cluster one of at most 50 letters, digits and dashes \
          that begins with a letter",
    check: check_gcp_name,
};

/// The longest name of a cluster: the names of its resources are a few letters longer, at most 63.
const LONGEST: usize = 50;

fn check_gcp_name(context: &RuleContext<'_>, findings: &mut Findings) {
    let starts_with_letter = |name: &str| name.starts_with(|first: char| first.is_ascii_lowercase());
    let gcp_nodes = || context.plan.nodes.iter().filter(|node| node.platform.value == Platform::Gcp);
    let mut problems = NodesByProblem::new(context.plan);
    for node in gcp_nodes().filter(|node| !starts_with_letter(node.name.as_str())) {
        problems.add_message(
            "name",
            Some(node.place),
            "the name does not begin with a letter".to_owned(),
            &[node.nth],
        );
    }
    problems.report(context, findings);
    let name = context.plan.cluster.name.as_str();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if gcp_nodes().next().is_some()
        && !(starts_with_letter(name) && name.bytes().all(plain) && name.len() <= LONGEST)
    {
        let place = context.cluster.section().name.place().unwrap_or_default();
        findings.add("cluster.name", place, format!("`{name}` is not a valid network name in Google Cloud"));
    }
}
