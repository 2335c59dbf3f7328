//! What a run leaves for the next: kept in a file beside the cluster file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::identity::MachineFacts;
use ichor_values::Moment;
use ichor_values::format::Version;

/// The version of the file's format. Files of before it had one are read alike.
pub const RECORD_VERSION: Version = Version::new(2, 0);

/// What was done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BringupRecord {
    /// Nodes by name.
    #[serde(default)]
    pub nodes: BTreeMap<String, NodeRecord>,
    /// The bootstrap of etcd; written before it is asked for.
    #[serde(default)]
    pub bootstrap: Option<BootstrapRecord>,
}

/// What was done with a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeRecord {
    /// Its first configuration, written before it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<AppliedConfig>,
    /// Whether its boot media are in, or about to be.
    #[serde(default, rename = "media_attached", alias = "media", skip_serializing_if = "std::ops::Not::not")]
    pub media: bool,
}

/// A configuration that was given to a machine without one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppliedConfig {
    /// SHA-256 of it.
    #[serde(rename = "config_sha256", alias = "config")]
    pub config: String,
    /// What the machine told of itself.
    pub machine: MachineFacts,
    /// When.
    #[serde(rename = "time", alias = "at")]
    pub at: Moment,
}

/// The bootstrap of etcd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootstrapRecord {
    /// The node.
    pub node: String,
    /// When it was about to be asked for.
    #[serde(rename = "started_at", alias = "begun")]
    pub begun: Moment,
    /// When it was known to be done.
    #[serde(default, rename = "completed_at", alias = "done", skip_serializing_if = "Option::is_none")]
    pub done: Option<Moment>,
}

impl BringupRecord {
    /// Whether a node had no configuration, and so no etcd, when it was given one.
    pub(crate) fn began(&self, name: &str) -> bool {
        self.nodes.get(name).is_some_and(|node| node.applied.is_some())
    }

    /// Whether a node's boot media are in.
    pub(crate) fn has_media(&self, name: &str) -> bool {
        self.nodes.get(name).is_some_and(|node| node.media)
    }

    /// Whether etcd is known to have been bootstrapped.
    pub fn is_bootstrapped(&self) -> bool {
        self.bootstrap.as_ref().is_some_and(|begun| begun.done.is_some())
    }
}
