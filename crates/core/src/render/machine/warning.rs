//! What Talos says of a configuration that it accepts.

use std::fmt;

use crate::plan::NodePlan;
use ichor_talos::config::Config;
use ichor_talos::document;
use ichor_talos::validate::Flaw;
use ichor_values::NodeName;

/// Something in a node's configuration that Talos accepts and that is probably a mistake. It quotes no secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// The node.
    pub node: NodeName,
    /// The document: its kind and name; none for the one with `machine` and `cluster`.
    pub document: Option<String>,
    /// The keys in it, such as `machine.files`; empty for the whole document.
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
    /// The patch of the cluster file that brought it, if one did.
    pub patch: Option<String>,
}

impl Warning {
    pub(super) fn of(config: &Config, flaw: Flaw, node: &NodePlan) -> Self {
        let document = config.documents.get(flaw.document).and_then(|document| {
            let words = [document.kind?.name, document::name(&document.value).unwrap_or_default()];
            Some(words.join(" ").trim_end().to_owned())
        });
        Self { node: node.name.clone(), document, path: flaw.path, message: flaw.message, patch: None }
    }

    /// Where it is: the document and the keys in it.
    pub fn place(&self) -> String {
        let words = [self.document.as_deref().unwrap_or_default(), self.path.as_str()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place();
        let separator = if place.is_empty() { "" } else { ": " };
        write!(f, "{place}{separator}{}", self.message)?;
        match &self.patch {
            Some(patch) => write!(f, " (from the patch {patch})"),
            None => Ok(()),
        }
    }
}
