//! Machine configurations as `talosctl gen config` writes them.
//!
//! An [`Input`] says what is wanted, a [`Bundle`] brings the secrets; [`control_plane`] and [`worker`] give the documents
//! in Talos' order, each with its keys in Talos' order. They depend on the role and not on the node: make them once and
//! patch them for each node. What differs between releases is in [`contract`], and nowhere else.
//!
//! Not here: `talosconfig`, patches, and how documents become text.

mod cluster;
pub mod contract;
mod endpoint;
mod input;
mod install;
mod kubernetes;
mod machine;
mod network;
mod system;

use serde_json::{Value, json};

pub use contract::Contract;
pub use endpoint::{Endpoint, EndpointError};
pub use input::{Cni, Input, Registry};
pub use install::installer_image;

use super::secrets::{Bundle, Pair};
use contract::Trait;

/// What a machine is in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    ControlPlane,
    Worker,
}

/// The configuration of a control plane, as documents.
pub fn control_plane(input: &Input, bundle: &Bundle) -> Vec<Value> {
    Draft { role: Role::ControlPlane, input, bundle }.documents()
}

/// The configuration of a worker, as documents. It holds no private key.
pub fn worker(input: &Input, bundle: &Bundle) -> Vec<Value> {
    Draft { role: Role::Worker, input, bundle }.documents()
}

/// What is lost without a word when Talos writes this bundle for this contract, each in a sentence.
pub fn losses(input: &Input, bundle: &Bundle) -> Vec<String> {
    let contract = input.contract;
    let secretbox = contract.has(Trait::Secretbox);
    let mut losses = Vec::new();
    if bundle.aescbc.is_some() && contract.has(Trait::KubernetesDocuments) {
        losses.push(format!(
            "{contract} writes the AES-CBC secret of this bundle as a secretbox key: Secrets that were encrypted with it \
             cannot be read any more"
        ));
    } else if bundle.aescbc.is_some() && secretbox {
        losses.push(format!(
            "{contract} encrypts Secrets with secretbox, and this bundle has an AES-CBC secret only: they are not encrypted"
        ));
    } else if bundle.secretbox.is_some() && !secretbox {
        losses.push(format!(
            "{contract} encrypts Secrets with AES-CBC, and this bundle has a secretbox secret only: they are not encrypted"
        ));
    }
    if !input.install_kernel_args.is_empty() && contract.has(Trait::InstallDocument) {
        losses.push(format!(
            "{contract} has no place for install kernel arguments: put them into the schematic of the image"
        ));
    }
    losses
}

/// One configuration being written.
#[derive(Clone, Copy)]
struct Draft<'a> {
    role: Role,
    input: &'a Input,
    bundle: &'a Bundle,
}

impl Draft<'_> {
    fn documents(self) -> Vec<Value> {
        let mut documents = vec![self.machine_config()];
        documents.extend(self.discovery_documents());
        documents.extend(self.install_document());
        documents.extend(self.resolver_document());
        documents.extend(self.system_documents());
        documents.extend(self.registry_documents());
        documents.extend(self.network_documents());
        documents.extend(self.kubernetes_documents());
        documents.into_iter().map(without_nulls).collect()
    }

    /// The document with `machine` and `cluster`.
    fn machine_config(self) -> Value {
        json!({
            "version": "v1alpha1",
            "debug": self.input.debug,
            "persist": self.input.persist,
            "machine": self.machine(),
            "cluster": self.cluster(),
        })
    }

    fn has(self, wanted: Trait) -> bool {
        self.input.contract.has(wanted)
    }

    fn is_control_plane(self) -> bool {
        self.role == Role::ControlPlane
    }

    /// An image of Kubernetes.
    fn image(self, repository: &str) -> Option<String> {
        self.input.kubernetes.as_ref().map(|version| format!("{repository}:{version}"))
    }

    /// A certificate authority; only control planes sign, a worker gets an empty key.
    fn authority(self, pair: &Pair) -> Value {
        let key = if self.is_control_plane() { pair.key.base64() } else { String::new() };
        json!({"crt": pair.crt.base64(), "key": key})
    }
}

/// A document that is not the one with `machine` and `cluster`.
fn document(kind: &str, body: Value) -> Value {
    let mut document = json!({"apiVersion": "v1alpha1", "kind": kind});
    if let (Value::Object(document), Value::Object(body)) = (&mut document, body) {
        document.extend(body);
    }
    document
}

/// The value without the keys that are not set: they are written as null here, and not at all by Talos.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, without_nulls(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}
