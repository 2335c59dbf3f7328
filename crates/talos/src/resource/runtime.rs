//! The state of a machine.

use std::fmt;

use serde::Deserialize;

use super::ResourceKind;

/// The state of the machine; its only instance is named `machine`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MachineStatus {
    /// `booting`, `installing`, `maintenance`, `running`, `rebooting`, `shutting down`, `resetting` or `upgrading`.
    pub stage: String,
    /// Its status.
    pub status: MachineStatusStatus,
}

impl MachineStatus {
    /// The name of the one there is.
    pub const ID: &str = "machine";
}

impl ResourceKind for MachineStatus {
    const TYPE: &'static str = "MachineStatuses.runtime.talos.dev";
    const NAMESPACE: &'static str = "runtime";
}

/// Whether a machine is ready, and its unmet conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineStatusStatus {
    /// Whether it is as it should be at its stage.
    pub ready: bool,
    /// The unmet conditions.
    pub unmet_conditions: Vec<UnmetCondition>,
}

/// A condition that keeps a machine from being ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct UnmetCondition {
    /// Such as `services`.
    pub name: String,
    /// Such as `ext-frr not running`.
    pub reason: String,
}

impl fmt::Display for UnmetCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.reason)
    }
}

/// A service; named as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ServiceResource {
    /// Whether it runs.
    pub running: bool,
    /// Whether it is healthy.
    pub healthy: bool,
    /// Whether its health is unknown.
    pub unknown: bool,
}

impl ResourceKind for ServiceResource {
    const TYPE: &'static str = "Services.v1alpha1.talos.dev";
    const NAMESPACE: &'static str = "runtime";
}

/// A system extension of the image that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ExtensionStatus {
    /// The file it came from.
    pub image: String,
    /// The metadata of its manifest.
    pub metadata: ExtensionStatusMetadata,
}

impl ResourceKind for ExtensionStatus {
    const TYPE: &'static str = "ExtensionStatuses.runtime.talos.dev";
    const NAMESPACE: &'static str = "runtime";
}

/// The metadata of an extension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ExtensionStatusMetadata {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The command line of the kernel; the one is named `cmdline`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KernelCmdline {
    /// The line.
    pub cmdline: String,
}

impl KernelCmdline {
    /// The name of the one there is.
    pub const ID: &str = "cmdline";
}

impl ResourceKind for KernelCmdline {
    const TYPE: &'static str = "KernelCmdlines.runtime.talos.dev";
    const NAMESPACE: &'static str = "runtime";
}

/// The metadata that the platform provides; its only instance is named `platformmetadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PlatformMetadata {
    /// Such as `nocloud`.
    pub platform: String,
    /// The name it was given.
    pub hostname: String,
    /// The platform's id of the machine; with nocloud, the `instance-id` of its medium.
    pub instance_id: String,
}

impl PlatformMetadata {
    /// The name of the one there is.
    pub const ID: &str = "platformmetadata";
}

impl ResourceKind for PlatformMetadata {
    const TYPE: &'static str = "PlatformMetadatas.talos.dev";
    const NAMESPACE: &'static str = "runtime";
}

/// A key of META that is set; named such as `0x0a`. Its value is ignored: it may be a secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct MetaKey {}

impl ResourceKind for MetaKey {
    const TYPE: &'static str = "MetaKeys.runtime.talos.dev";
    const NAMESPACE: &'static str = "runtime";
}

/// The document of an extension's service that is in force; named as the service, without `ext-`. Only its name is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct ExtensionServiceConfigStatus {}

impl ResourceKind for ExtensionServiceConfigStatus {
    const TYPE: &'static str = "ExtensionServiceConfigStatuses.runtime.talos.dev";
    const NAMESPACE: &'static str = "runtime";
}

/// A problem that Talos itself detects on the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Diagnostic {
    /// The problem.
    pub message: String,
    /// Its details.
    pub details: Vec<String>,
}

impl ResourceKind for Diagnostic {
    const TYPE: &'static str = "Diagnostics.runtime.talos.dev";
    const NAMESPACE: &'static str = "runtime";
}
