//! The state that persists between runs, in a file beside the cluster file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::identity::MachineFacts;
use ichor_values::Moment;
use ichor_values::format::Version;

/// The version of the file's format. Files without a version are read alike.
pub const RECORD_VERSION: Version = Version::new(2, 0);

/// The completed steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BringupRecord {
    /// Nodes by name.
    #[serde(default)]
    pub nodes: BTreeMap<String, NodeRecord>,
    /// The bootstrap of etcd, written before it is requested.
    #[serde(default)]
    pub bootstrap: Option<BootstrapRecord>,
}

/// The completed steps of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeRecord {
    /// Its first configuration, written before it is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<AppliedConfig>,
    /// Whether its boot media are inserted, or about to be.
    #[serde(default, rename = "media_attached", alias = "media", skip_serializing_if = "std::ops::Not::not")]
    pub media: bool,
}

/// A first configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppliedConfig {
    /// Its SHA-256.
    #[serde(rename = "config_sha256", alias = "config")]
    pub config: String,
    /// The identifying properties of the machine.
    pub machine: MachineFacts,
    /// The time.
    #[serde(rename = "time", alias = "at")]
    pub at: Moment,
}

/// The bootstrap of etcd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootstrapRecord {
    /// The node.
    pub node: String,
    /// The time before the request.
    #[serde(rename = "started_at", alias = "begun")]
    pub begun: Moment,
    /// The time at which it was known to be complete.
    #[serde(default, rename = "completed_at", alias = "done", skip_serializing_if = "Option::is_none")]
    pub done: Option<Moment>,
}

impl BringupRecord {
    /// Whether ichor applied a node's first configuration, so that it had no etcd data before.
    pub(crate) fn has_first_config(&self, name: &str) -> bool {
        self.nodes.get(name).is_some_and(|node| node.applied.is_some())
    }

    /// Whether a node's boot media are inserted.
    pub(crate) fn has_media(&self, name: &str) -> bool {
        self.nodes.get(name).is_some_and(|node| node.media)
    }

    /// Removes what no longer holds when etcd is destroyed: the next run bootstraps a new one. Any control plane that was not reset may
    /// have data of the old one. Inserted boot media are kept.
    pub fn forget_etcd(&mut self) {
        self.bootstrap = None;
        for node in self.nodes.values_mut() {
            node.applied = None;
        }
    }

    /// Whether etcd is known to have been bootstrapped.
    pub fn is_bootstrapped(&self) -> bool {
        self.bootstrap.as_ref().is_some_and(|begun| begun.done.is_some())
    }
}
