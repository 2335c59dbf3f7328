//! The record of a lab: its topology, and the init process of each machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use ichor_core::lab::{HostCapabilities, LabTopology};
use ichor_system::file;
use ichor_values::format::{Document, Version, Versioned};
use serde::{Deserialize, Serialize};

use super::guest::GuestSettings;
use super::registry::{LabDir, LabError};

/// Format version. A new major version if a key changes that commands on a running lab need.
const VERSION: Version = Version::new(2, 0);

/// Contents of `lab.json`, which may contain passwords of sessions.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct LabRecord {
    /// The topology.
    pub topology: LabTopology,
    /// Versions of the daemons, and features of the kernel.
    pub host: HostCapabilities,
    /// Root file system of the machines; that of this host if none.
    #[serde(rename = "root_filesystem")]
    pub root: Option<PathBuf>,
    /// Path of the nodes' agent.
    #[serde(rename = "agent_program")]
    pub agent: PathBuf,
    /// Settings of nodes that are VMs.
    #[serde(rename = "guest_image")]
    pub guests: Option<GuestSettings>,
    /// Absolute path of the cluster file.
    #[serde(rename = "cluster_file")]
    pub file: PathBuf,
    /// SHA-256 of the cluster file and its includes.
    #[serde(rename = "source_sha256")]
    pub sources: BTreeMap<String, String>,
    /// Whether the processor is emulated, so that measured times mean nothing.
    pub emulated: bool,
    /// Init process of the switch namespace; 0 until it runs.
    pub switch_pid: i32,
    /// Init process of each machine, in the order of the topology.
    pub machine_pids: Vec<i32>,
    /// Milliseconds from the start until the last session was established; none until then.
    pub convergence_ms: Option<u64>,
}

impl LabRecord {
    /// Reads the record of a lab.
    pub(crate) fn read(dir: &LabDir) -> Result<Self, LabError> {
        let path = dir.record();
        let text = fs::read_to_string(&path).map_err(|source| LabError::Io { path: path.clone(), source })?;
        let record = Document::parse(&text, VERSION).and_then(|document| Ok(document.read()?.0));
        record.map_err(|error| LabError::Record { path, error })
    }

    /// Writes the record atomically, readable by the owner only.
    pub(crate) fn write(&self, dir: &LabDir) -> Result<(), LabError> {
        let path = dir.record();
        let text = serde_json::to_vec(&Versioned::new(VERSION, self));
        let text = text.map_err(|error| LabError::Io { path: path.clone(), source: error.into() })?;
        file::replace(&path, 0o600, &text)
            .map_err(|error| LabError::Io { path: error.path, source: error.source })
    }
}
