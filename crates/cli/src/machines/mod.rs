//! Machine providers: create machines, attach boot media, switch power, delete machines.
//!
//! [`Fleet::from_plan`] finds the provider of each node: a hypervisor, or the BMC of a physical machine. Providers block
//! and are `Sync`; nodes are identified by name. The decisions are in `core/machines/`.
//!
//! The order of calls is `check` (read-only), `create`, `attach`, `start`, and `eject` once Talos is installed. Each call is
//! idempotent. A machine that ichor did not create is never changed.

mod error;
mod fleet;
mod ipmi;
mod libvirt;
mod media;
mod media_folders;
mod program;
mod proxmox;
mod redfish;

use std::fmt;
use std::net::IpAddr;

use ichor_core::machines::Drives;
use ichor_core::render::hypervisor::medium::Medium;
use ichor_values::Issue;

pub(crate) use error::{FailureKind, MachineError};
pub(crate) use fleet::Fleet;
pub(crate) use media::{MediaSource, MediumContent, MediumError, ProgressSink};
pub(crate) use media_folders::MediaFolders;

/// A provider of machines: a hypervisor or a BMC.
pub(crate) trait MachineProvider: fmt::Debug + Send + Sync {
    /// Address of the provider, for messages.
    fn location(&self) -> String;

    /// Operations the provider supports.
    fn capabilities(&self) -> Capabilities;

    /// Runs the preflight checks for these nodes without changing anything.
    fn check(&self, nodes: &[&str]) -> Vec<Issue>;

    /// State of a node's machine.
    fn state(&self, node: &str) -> Result<MachineState, MachineError>;

    /// Creates a node's machine if it is missing, powered off and without media. A disk based on an image has its contents.
    fn create(
        &self,
        node: &str,
        source: &dyn MediaSource,
        progress: &dyn ProgressSink,
    ) -> Result<Creation, MachineError>;

    /// Boot media of a node's machine; the first one is booted.
    fn media(&self, node: &str) -> Vec<Medium>;

    /// Uploads a node's media to its provider and attaches them.
    fn attach(
        &self,
        node: &str,
        source: &dyn MediaSource,
        progress: &dyn ProgressSink,
    ) -> Result<(), MachineError>;

    /// Contents of the removable drives of a node's machine; none if the provider does not manage any.
    fn drives(&self, node: &str) -> Result<Option<Drives>, MachineError>;

    /// Powers on a node's machine.
    fn start(&self, node: &str) -> Result<(), MachineError>;

    /// Powers off a node's machine.
    fn stop(&self, node: &str, how: PowerOff) -> Result<(), MachineError>;

    /// Ejects a node's media, and deletes those that contain secrets.
    fn eject(&self, node: &str) -> Result<(), MachineError>;

    /// Deletes a node's machine with its disk and its own media.
    fn delete(&self, node: &str) -> Result<(), MachineError>;

    /// Current addresses of a node's machine known to the provider, without loopback and link-local addresses.
    fn addresses(&self, node: &str) -> Result<Vec<IpAddr>, MachineError>;
}

/// Operations a provider supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// Creates and deletes machines.
    pub creates_vms: bool,
    /// Attaches boot media.
    pub attaches_media: bool,
    /// Can report the addresses of machines.
    pub reports_addresses: bool,
}

/// State of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MachineState {
    /// The machine does not exist.
    Absent,
    /// The machine is powered off.
    Off,
    /// The machine is powered on.
    On,
    /// A machine that ichor did not create has its name or number.
    Foreign(String),
}

/// Result of creating a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Creation {
    /// The machine was created.
    Created,
    /// The machine existed already.
    Existed,
}

/// Way to power off a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PowerOff {
    /// Ask the operating system to shut down, with a time limit.
    Graceful,
    /// Cut the power.
    Forced,
}

/// Discards progress reports.
pub(crate) struct NoProgress;

impl ProgressSink for NoProgress {
    fn transferred(&self, _: &str, _: u64, _: u64) {}

    fn message(&self, _: &str) {}
}

/// The issue for a provider that cannot be queried.
fn unreachable_issue(location: &str, kind: FailureKind, error: &dyn std::error::Error) -> Issue {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let chain: Vec<_> = std::iter::once(error.to_string()).chain(causes.map(ToString::to_string)).collect();
    let fix = match kind {
        FailureKind::Denied => {
            "use credentials with sufficient permissions, and the right `fingerprint` or `ca`"
        }
        FailureKind::Local => "install the missing program on this machine",
        _ => "check that it is running and reachable from this machine",
    };
    Issue::error(location, chain.join(": ")).with_help(fix)
}

/// The error for deleting a physical machine.
fn physical_machine_error(node: &str, location: String) -> MachineError {
    let (node, operation) = (node.to_owned(), "delete its machine".to_owned());
    MachineError {
        node,
        operation,
        location,
        kind: FailureKind::Unsupported,
        source: "it is a physical machine".into(),
    }
}
