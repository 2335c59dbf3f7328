//! Cluster-wide Talos settings: discovery, registries, encryption.

use super::Decided;
use crate::cluster::section::{
    ClusterSection, Discovery, DiskKey, Encryption, Kms, Registries, RegistryAuth,
};
use ichor_values::key::{List, Map};
use ichor_values::{DnsName, Url, WordOrRecord};

/// Node discovery.
#[derive(Debug)]
pub struct DiscoveryPlan {
    /// Whether the discovery service is used.
    pub service: Decided<bool>,
    /// URL of a self-hosted discovery service; the default is Talos'.
    pub endpoint: Option<Decided<Url>>,
    /// Whether the nodes form a KubeSpan mesh.
    pub kubespan: Decided<bool>,
}

/// Registry mirrors and credentials.
#[derive(Debug)]
pub struct RegistriesPlan {
    /// Mirrors by registry.
    pub mirrors: Option<Decided<Map<DnsName, List<Url>>>>,
    /// Credentials by registry.
    pub(crate) auth: Option<Decided<Map<DnsName, RegistryAuth>>>,
}

/// Disk encryption.
#[derive(Debug)]
pub struct EncryptionPlan {
    /// Key of the STATE partition.
    pub state: Option<Decided<WordOrRecord<DiskKey, Kms>>>,
    /// Key of the EPHEMERAL partition.
    pub(crate) ephemeral: Option<Decided<WordOrRecord<DiskKey, Kms>>>,
}

impl EncryptionPlan {
    /// Whether a TPM unlocks a partition.
    pub(crate) fn uses_tpm(&self) -> bool {
        let keys = [&self.state, &self.ephemeral].into_iter().flatten();
        keys.into_iter().any(|key| matches!(key.value, WordOrRecord::Word(DiskKey::Tpm)))
    }
}

/// Decides the node discovery.
pub fn discovery(section: &ClusterSection) -> DiscoveryPlan {
    let none = Discovery::default();
    let Discovery { service, endpoint, kubespan } = section.discovery.get().unwrap_or(&none);
    DiscoveryPlan {
        service: Decided::from_key_or(service, true, "Talos' default"),
        endpoint: Decided::from_key(endpoint),
        kubespan: Decided::from_key_or(kubespan, false, "Talos' default"),
    }
}

/// Reads registry mirrors and credentials.
pub fn registries(section: &ClusterSection) -> RegistriesPlan {
    let none = Registries::default();
    let Registries { mirrors, auth } = section.registries.get().unwrap_or(&none);
    RegistriesPlan { mirrors: Decided::from_key(mirrors), auth: Decided::from_key(auth) }
}

/// Reads the keys of encrypted partitions.
pub(crate) fn encryption(section: &ClusterSection) -> EncryptionPlan {
    let none = Encryption::default();
    let Encryption { state, ephemeral } = section.encryption.get().unwrap_or(&none);
    EncryptionPlan { state: Decided::from_key(state), ephemeral: Decided::from_key(ephemeral) }
}
