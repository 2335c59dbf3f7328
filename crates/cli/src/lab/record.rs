//! What is written down of a lab: what was built, and the first process of each machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use ichor_core::lab::{HostCapabilities, LabTopology};
use ichor_system::file;
use ichor_values::format::{Document, Version, Versioned};
use serde::{Deserialize, Serialize};

use super::guest::GuestSettings;
use super::registry::{LabDir, LabError};

/// The version of the file's format: a new one, with another major number, when a key changes that commands on a running lab need.
const VERSION: Version = Version::new(2, 0);

/// `lab.json`, which may hold passwords of sessions.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct LabRecord {
    /// What is built.
    #[serde(rename = "topology")]
    pub scene: LabTopology,
    /// The daemons and the kernel it is built of.
    #[serde(rename = "host")]
    pub here: HostCapabilities,
    /// The file system of its machines; this machine's own when there is none.
    #[serde(rename = "root_filesystem")]
    pub root: Option<PathBuf>,
    /// The agent of its nodes.
    #[serde(rename = "agent_program")]
    pub agent: PathBuf,
    /// What its nodes boot, where they are virtual machines.
    #[serde(rename = "guest_image")]
    pub guests: Option<GuestSettings>,
    /// The cluster file, as it was named from the root of the file system.
    #[serde(rename = "cluster_file")]
    pub file: PathBuf,
    /// SHA-256 of the cluster file and of those it includes.
    #[serde(rename = "source_sha256")]
    pub sources: BTreeMap<String, String>,
    /// Whether the kernel, or a node's processor, is emulated, so that times mean nothing.
    pub emulated: bool,
    /// First process of the network in which the cables are; 0 before it is there.
    #[serde(rename = "switch_pid")]
    pub hub: i32,
    /// First process of each machine, in the scene's order.
    #[serde(rename = "machine_pids")]
    pub machines: Vec<i32>,
    /// Milliseconds from the start to the last session that came up; none before.
    #[serde(rename = "convergence_ms")]
    pub took: Option<u64>,
}

impl LabRecord {
    /// Reads what was written.
    pub(crate) fn read(place: &LabDir) -> Result<Self, LabError> {
        let path = place.record();
        let text = fs::read_to_string(&path).map_err(|source| LabError::Io { path: path.clone(), source })?;
        let record = Document::parse(&text, VERSION).and_then(|document| Ok(document.read()?.0));
        record.map_err(|error| LabError::Record { path, error })
    }

    /// Writes it in one step, for its owner alone.
    pub(crate) fn write(&self, place: &LabDir) -> Result<(), LabError> {
        let path = place.record();
        let text = serde_json::to_vec(&Versioned::new(VERSION, self));
        let text = text.map_err(|error| LabError::Io { path: path.clone(), source: error.into() })?;
        file::replace(&path, 0o600, &text)
            .map_err(|error| LabError::Io { path: error.path, source: error.source })
    }
}
