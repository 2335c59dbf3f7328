//! The names of a machine, out of `meta-data` or, where that has none, out of `user-data`.

use serde_json::{Value, json};

use super::Files;
use crate::schema_reader::SchemaReader;
use crate::types;
use ichor_values::TalosVersion;
use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::YamlNode;
use ichor_values::go_yaml::scalar::Leniency;

/// The keys of `meta-data` that Talos reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NocloudMetadata {
    hostname: String,
    local_hostname: String,
    public_hostname: String,
    instance_id: String,
    instance_type: String,
    provider_id: String,
    region: String,
    zone: String,
}

impl NocloudMetadata {
    pub(super) fn from_files(files: Files<'_>, talos: &TalosVersion) -> Self {
        let mut metadata = files.meta_data.map_or_else(Self::default, |bytes| Self::read(bytes, talos));
        // Proxmox writes the name of a machine into `user-data` only.
        if metadata.name().is_empty()
            && let Some(bytes) = files.user_data
        {
            let NocloudMetadata { hostname, local_hostname, .. } = Self::read(bytes, talos);
            metadata.hostname = hostname;
            metadata.local_hostname = local_hostname;
        }
        metadata
    }

    /// Talos ignores errors here: it takes what can be read.
    fn read(bytes: &[u8], talos: &TalosVersion) -> Self {
        let root = std::str::from_utf8(bytes).ok().and_then(|text| yaml::first(text).ok().flatten());
        let Some(root) = root.filter(|root| !has_double_key(root)) else { return Self::default() };
        let mut typed = SchemaReader::new(Leniency::for_minor(types::minor(talos)));
        let entries = typed.entries(&root, "").unwrap_or_default();
        let mut text = |key: &str| {
            let written = entries.iter().find(|(name, _)| name == key);
            written.and_then(|(_, node)| typed.text(node, key)).unwrap_or_default()
        };
        NocloudMetadata {
            hostname: text("hostname"),
            local_hostname: text("local-hostname"),
            public_hostname: text("public-hostname"),
            instance_id: text("instance-id"),
            instance_type: text("instance-type"),
            provider_id: text("provider-id"),
            region: text("region"),
            zone: text("zone"),
        }
    }

    /// The hostname, perhaps with its domain.
    pub(super) fn name(&self) -> &str {
        if self.hostname.is_empty() { &self.local_hostname } else { &self.hostname }
    }

    pub(super) fn value(&self) -> Value {
        json!({
            "platform": "nocloud",
            "hostname": self.name(),
            "region": self.region,
            "zone": self.zone,
            "instanceType": self.instance_type,
            "instanceId": self.instance_id,
            "providerId": self.provider_id,
            "internalDNS": self.local_hostname,
            "externalDNS": self.public_hostname,
        })
    }
}

/// go-yaml does not decode a map with a duplicate key.
fn has_double_key(root: &YamlNode) -> bool {
    let keys: Vec<_> = root.entries().unwrap_or_default().iter().filter_map(|(key, _)| key.text()).collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len() < keys.len()
}
