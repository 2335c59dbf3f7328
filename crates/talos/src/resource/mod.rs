//! A node's state as resources of its API.
//!
//! A [`Resource`] is one of them; a [`ResourceKind`] is a type whose specification is known, and [`Resource::read`] decodes
//! it. Fields that a release lacks are empty, and additional ones are ignored.
//!
//! Not here: the calls that fetch them (the client), and their messages ([`api::cosi`](super::api::cosi)).

mod cluster;
mod hardware;
mod network;
mod runtime;

use std::fmt;

use prost::Message as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::api::{config, cosi};
use super::document;

pub use cluster::NodeStatus;
pub use hardware::{Disk, SystemInformation};
pub use network::{AddressStatus, BgpPeerStatus, HostnameStatus, LinkStatus, RouteStatus};
pub use runtime::{
    Diagnostic, ExtensionServiceConfigStatus, ExtensionStatus, ExtensionStatusMetadata, KernelCmdline,
    MachineStatus, MachineStatusStatus, MetaKey, PlatformMetadata, ServiceResource, UnmetCondition,
};

/// The namespace, type and ids of machine configurations.
pub mod machine_config {
    /// The type.
    pub const TYPE: &str = "MachineConfigs.config.talos.dev";
    /// The namespace.
    pub const NAMESPACE: &str = "config";
    /// The configuration in force.
    pub const ACTIVE: &str = "v1alpha1";
    /// The configuration on disk.
    pub const PERSISTENT: &str = "persistent";
}

/// A type of resource that can be read.
pub trait ResourceKind: DeserializeOwned {
    /// Its name, with the group.
    const TYPE: &'static str;
    /// Its namespace in Talos.
    const NAMESPACE: &'static str;
}

/// A resource.
#[derive(Clone, PartialEq)]
pub struct Resource {
    /// Its namespace.
    pub namespace: String,
    /// Its type, such as `Disks.block.talos.dev`.
    pub r#type: String,
    /// Its name among those of its type.
    pub id: String,
    /// Another one after each change.
    pub version: String,
    /// Its specification; null if empty, and for configurations.
    pub spec: Value,
    configuration: Option<String>,
}

/// Why a resource cannot be read. Its content is not repeated: it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is not what Talos writes: {reason}")]
pub struct ReadError {
    /// Type and name.
    pub what: String,
    /// The problem.
    pub reason: String,
}

impl Resource {
    /// Out of a message.
    pub fn from_message(message: cosi::ResourceMessage) -> Result<Self, ReadError> {
        let metadata = message.metadata.unwrap_or_default();
        let spec = message.spec.unwrap_or_default();
        let what = format!("{}/{}", metadata.r#type, metadata.id);
        let configuration = (metadata.r#type == machine_config::TYPE).then(|| configuration(&spec));
        let read = || document::read(&spec.yaml_spec).map(|documents| documents.into_iter().next());
        let spec = if configuration.is_some() { Ok(None) } else { read() };
        let spec = spec.map_err(|error| ReadError { what, reason: error.to_string() })?.unwrap_or_default();
        let cosi::ResourceMetadata { namespace, r#type, id, version, .. } = metadata;
        Ok(Self { namespace, r#type, id, version, spec, configuration })
    }

    /// Its specification, decoded as that type.
    pub fn read<K: ResourceKind>(&self) -> Result<K, ReadError> {
        let mut spec = self.spec.clone();
        drop_nulls(&mut spec);
        serde_json::from_value(spec).map_err(|error| ReadError {
            what: format!("{}/{}", self.r#type, self.id),
            reason: shape(&error),
        })
    }

    /// The text of a configuration, if it is one; a secret.
    pub fn machine_config(&self) -> Option<&str> {
        self.configuration.as_deref()
    }
}

impl fmt::Debug for Resource {
    /// Without its specification: it may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.r#type, self.id, self.version)
    }
}

/// The text of a configuration. As YAML it is a text with YAML in it from Talos 1.12 on, and itself before.
fn configuration(spec: &cosi::Spec) -> String {
    let proto = config::MachineConfigSpec::decode(&spec.proto_spec[..]).unwrap_or_default();
    match String::from_utf8(proto.yaml_marshalled) {
        Ok(text) if !text.is_empty() => text,
        _ => match document::read(&spec.yaml_spec).as_deref() {
            Ok([Value::String(text)]) => text.clone(),
            _ => spec.yaml_spec.clone(),
        },
    }
}

/// Go writes null for missing fields; the decoder wants them absent.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The location of a mismatch, without the value.
fn shape(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => "a value of another shape".to_owned(),
        _ => "cannot be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(r#type: &str, yaml: &str) -> Resource {
        let metadata = cosi::ResourceMetadata {
            r#type: r#type.into(),
            id: "it".into(),
            ..cosi::ResourceMetadata::default()
        };
        let spec = cosi::Spec { yaml_spec: yaml.into(), ..cosi::Spec::default() };
        Resource::from_message(cosi::ResourceMessage { metadata: Some(metadata), spec: Some(spec) }).unwrap()
    }

    fn read<K: ResourceKind>(yaml: &str) -> K {
        resource(K::TYPE, yaml).read().unwrap()
    }

    #[test]
    fn a_machine_status_has_stage_and_unmet_conditions() {
        let status: MachineStatus = read(
            "stage: booting\nstatus:\n    ready: false\n    unmetConditions:\n        - name: services\n          \
             reason: ext-frr not running\n",
        );

        assert_eq!(status.stage, "booting");
        assert_eq!(status.status.unmet_conditions[0].to_string(), "services: ext-frr not running");
        let ready: MachineStatus =
            read("stage: running\nstatus:\n    ready: true\n    unmetConditions: null\n");
        assert!(ready.status.ready && ready.status.unmet_conditions.is_empty());
    }

    #[test]
    fn a_physical_port_differs_from_links_with_its_address() {
        let port: LinkStatus = read(
            "index: 4\ntype: ether\nhardwareAddr: 02:00:00:00:00:09\npermanentAddr: 02:00:00:00:00:01\nmtu: 9000\n\
             operationalState: up\nkind: \"\"\nslaveKind: bond\ndriver: virtio_net\nlinkState: true\n",
        );
        let bond: LinkStatus = read("type: ether\nhardwareAddr: 02:00:00:00:00:09\nkind: bond\n");

        assert_eq!(port.mac(), Some("02:00:00:00:00:01"));
        assert!(port.is_port() && !bond.is_port());
    }

    #[test]
    fn a_disk_and_an_extension_are_read_as_talos_writes_them() {
        let disk: Disk = read(
            "dev_path: /dev/vda\nsize: 10737418240\npretty_size: 11 GB\ncdrom: false\nmodel: QEMU\nserial: \"0123\"\n\
             bus_path: /pci0000:00\ntransport: virtio\n",
        );
        let extension: ExtensionStatus =
            read("image: 0.sqsh\nmetadata:\n    name: frr\n    version: 10.3.0\n    compatibility: {}\n");

        assert_eq!((disk.dev_path.as_str(), disk.size), ("/dev/vda", 10_737_418_240));
        assert_eq!(
            (extension.metadata.name.as_str(), extension.metadata.version.as_str()),
            ("frr", "10.3.0")
        );
    }

    #[test]
    fn a_session_of_talos_own_bgp_is_read() {
        let peer: BgpPeerStatus = read(
            "peer: fe80::1\nlocalASN: 4200000001\npeerASN: 65001\nstate: ESTABLISHED\nreceived: 3\nadvertised: 2\n\
             accepted: 3\nbfdState: up\ninstance: fabric\n",
        );

        assert_eq!((peer.peer.as_str(), peer.received, peer.advertised), ("fe80::1", 3, 2));
        assert!(peer.is_established());
    }

    #[test]
    fn a_configuration_is_found_in_every_form() {
        let text = "machine: {}\n---\nkind: X\n";
        let proto = config::MachineConfigSpec { yaml_marshalled: text.into() }.encode_to_vec();
        let metadata = cosi::ResourceMetadata {
            r#type: machine_config::TYPE.into(),
            ..cosi::ResourceMetadata::default()
        };
        let forms = [
            cosi::Spec { proto_spec: proto, yaml_spec: "other".into() },
            cosi::Spec {
                yaml_spec: "|\n    machine: {}\n    ---\n    kind: X\n".into(),
                ..cosi::Spec::default()
            },
            cosi::Spec { yaml_spec: text.into(), ..cosi::Spec::default() },
        ];

        for spec in forms {
            let message = cosi::ResourceMessage { metadata: Some(metadata.clone()), spec: Some(spec) };
            let config = Resource::from_message(message).unwrap();
            assert_eq!(config.machine_config(), Some(text));
            assert!(!format!("{config:?}").contains("kind: X"));
        }
        assert_eq!(resource("Disks.block.talos.dev", "a: b").machine_config(), None);
    }

    #[test]
    fn a_value_of_another_shape_is_an_error_that_does_not_repeat_it() {
        let error = resource(Disk::TYPE, "size: secret\n").read::<Disk>().unwrap_err();

        assert_eq!(
            error.to_string(),
            "Disks.block.talos.dev/it is not what Talos writes: a value of another shape"
        );
    }
}
