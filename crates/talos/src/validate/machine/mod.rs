//! The document with `machine` and `cluster`.
//!
//! Each file holds what Talos says of one part of it. Weight and wording aside, the rules are those of the release:
//! they changed in nearly every one.
//!
//! Not here: what other documents say of the same things ([`together`](super::together)).

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
use super::{Flaws, Setting, runtime_spec};

pub use role::Role;

/// Judges it.
pub fn validate(value: &Value, setting: Setting<'_>, flaws: &mut Flaws) {
    let document = Field::root(value);
    let (machine, cluster) = (document.get("machine"), document.get("cluster"));
    if document.get("persist").value().is_some_and(|persist| persist == false) {
        flaws
            .error("persist", "a configuration that is not kept is refused: leave it out, or set it to true");
    }
    if !machine.is_set() {
        flaws.error("machine", "the document has no `machine`, which Talos requires");
        return;
    }
    let role = role::validate(&machine.get("type"), flaws);
    cluster::validate(&cluster, role, setting, flaws);
    ca::validate(&machine, &cluster, role, flaws);
    part(&machine, &cluster, role, setting, flaws);
    address::advise(&document, flaws);
    certificate::advise(&document, flaws);
    token::advise(&cluster, flaws);
}

/// The parts of `machine`.
fn part(machine: &Field<'_>, cluster: &Field<'_>, role: Role, setting: Setting<'_>, flaws: &mut Flaws) {
    install::validate(&machine.get("install"), setting, flaws);
    features::validate(&machine.get("features"), role, setting, flaws);
    interface::validate(&machine.at(["network", "interfaces"]), role, flaws);
    kubespan::validate(&machine.at(["network", "kubespan"]), cluster, setting, flaws);
    disk::validate(&machine.get("disks"), flaws);
    encryption::validate(&machine.get("systemDiskEncryption"), flaws);
    kubelet::validate(&machine.get("kubelet"), setting, flaws);
    logging::validate(&machine.get("logging"), flaws);
    node::validate(machine, flaws);
    registries::validate(&machine.get("registries"), flaws);
    runtime_spec::validate(&machine.get("baseRuntimeSpecOverrides"), setting, flaws);
    if setting.at_least(14) {
        deprecated(machine, flaws);
    }
}

/// Warns of what 1.14 has documents for and still reads.
fn deprecated(machine: &Field<'_>, flaws: &mut Flaws) {
    let (files, overrides) = (machine.get("files"), machine.get("baseRuntimeSpecOverrides"));
    if !files.is_empty() {
        flaws.warning(&files, "files are deprecated: say the same in documents of their own");
    }
    if !overrides.is_empty() {
        flaws.warning(&overrides, "deprecated: use a CRIBaseRuntimeSpecConfig document");
    }
}
