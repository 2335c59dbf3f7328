//! Talos' warnings about configurations.

use std::fmt;

use crate::plan::NodePlan;
use ichor_talos::config::Config;
use ichor_talos::document;
use ichor_talos::validate::DocumentIssue;
use ichor_values::{Issue, NodeName};

/// A probable mistake in a node's configuration that Talos accepts. The text contains no secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeWarning {
    /// The node.
    pub node: NodeName,
    /// The issue. Its subject is the document by kind and name, omitted for the one with `machine` and `cluster`, and the keys
    /// in it, such as `machine.files`.
    pub issue: Issue,
    /// The patch of the cluster file that causes it, if any.
    pub(crate) patch: Option<String>,
}

impl NodeWarning {
    pub(super) fn new(config: &Config, found: DocumentIssue, node: &NodePlan) -> Self {
        let document = config.documents.get(found.document);
        let name = document.and_then(|document| {
            Some([document.kind?.name, document::name(&document.value).unwrap_or_default()])
        });
        let words = name.into_iter().flatten().chain([found.issue.subject.as_str()]);
        let subject = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        Self { node: node.name.clone(), issue: Issue::warning(subject, found.issue.message), patch: None }
    }
}

impl fmt::Display for NodeWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.issue)?;
        match &self.patch {
            Some(patch) => write!(f, " (from the patch {patch})"),
            None => Ok(()),
        }
    }
}
