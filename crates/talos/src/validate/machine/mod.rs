//! The document with `machine` and `cluster`.
//!
//! Each file has Talos' rules for one part of it. Apart from severity and wording, the rules are those of the release:
//! they changed in nearly every one.
//!
//! Not here: conflicts with other documents ([`together`](super::together)).

mod address;
mod bond;
mod ca;
mod certificate;
mod cluster;
mod cni;
mod component;
mod discovery;
mod disk;
mod encryption;
mod etcd;
mod features;
mod install;
mod interface;
mod kubelet;
mod kubespan;
mod logging;
mod manifest;
mod node;
mod registries;
mod role;
mod route;
mod token;
mod vlan;
mod wireguard;

use serde_json::Value;

use super::field::Field;
use super::{DocumentIssues, Setting, runtime_spec};

pub use role::Role;

/// Judges it.
pub(crate) fn validate(value: &Value, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let document = Field::root(value);
    let (machine, cluster) = (document.get("machine"), document.get("cluster"));
    if document.get("persist").value().is_some_and(|persist| persist == false) {
        issues
            .error("persist", "a configuration that is not kept is refused: leave it out, or set it to true");
    }
    if !machine.is_set() {
        issues.error("machine", "the document has no `machine`, which Talos requires");
        return;
    }
    let role = role::validate(&machine.get("type"), issues);
    cluster::validate(&cluster, role, setting, issues);
    ca::validate(&machine, &cluster, role, issues);
    part(&machine, &cluster, role, setting, issues);
    address::advise(&document, issues);
    certificate::advise(&document, issues);
    token::advise(&cluster, issues);
}

/// The parts of `machine`.
fn part(
    machine: &Field<'_>,
    cluster: &Field<'_>,
    role: Role,
    setting: Setting<'_>,
    issues: &mut DocumentIssues,
) {
    install::validate(&machine.get("install"), setting, issues);
    features::validate(&machine.get("features"), role, setting, issues);
    interface::validate(&machine.at(["network", "interfaces"]), role, issues);
    kubespan::validate(&machine.at(["network", "kubespan"]), cluster, setting, issues);
    disk::validate(&machine.get("disks"), issues);
    encryption::validate(&machine.get("systemDiskEncryption"), issues);
    kubelet::validate(&machine.get("kubelet"), setting, issues);
    logging::validate(&machine.get("logging"), issues);
    node::validate(machine, issues);
    registries::validate(&machine.get("registries"), issues);
    runtime_spec::validate(&machine.get("baseRuntimeSpecOverrides"), setting, issues);
    if setting.at_least(14) {
        warn_of_deprecated_keys(machine, issues);
    }
}

/// Warns of settings for which 1.14 has documents, and which it still reads.
fn warn_of_deprecated_keys(machine: &Field<'_>, issues: &mut DocumentIssues) {
    let (files, overrides) = (machine.get("files"), machine.get("baseRuntimeSpecOverrides"));
    if !files.is_empty() {
        issues.warning(&files, "files are deprecated: use documents of their own");
    }
    if !overrides.is_empty() {
        issues.warning(&overrides, "deprecated: use a CRIBaseRuntimeSpecConfig document");
    }
}
