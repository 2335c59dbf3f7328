//! What Talos on every node is told of the cluster's surroundings: how nodes find each other, mirrors, firewall, encryption.

use super::Decided;
use crate::cluster::section::{
    ClusterSection, Discovery, DiskKey, Encryption, Kms, Registries, RegistryAuth,
};
use ichor_values::key::{List, Map};
use ichor_values::{DnsName, Either, Url};

/// How nodes find each other.
#[derive(Debug)]
pub struct DiscoveryPlan {
    /// Whether the discovery service is used.
    pub service: Decided<bool>,
    /// A discovery service of one's own; Talos' where none is written.
    pub endpoint: Option<Decided<Url>>,
    /// Whether KubeSpan meshes the nodes.
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
    /// Key of the partition that holds the machine's configuration.
    pub state: Option<Decided<Either<DiskKey, Kms>>>,
    /// Key of the partition that holds the workloads' data.
    pub(crate) ephemeral: Option<Decided<Either<DiskKey, Kms>>>,
}

impl EncryptionPlan {
    /// Whether a TPM unlocks a partition.
    pub(crate) fn uses_tpm(&self) -> bool {
        let keys = [&self.state, &self.ephemeral].into_iter().flatten();
        keys.into_iter().any(|key| matches!(key.value, Either::Word(DiskKey::Tpm)))
    }
}

/// Decides how nodes find each other.
pub fn discovery(section: &ClusterSection) -> DiscoveryPlan {
    let none = Discovery::default();
    let Discovery { service, endpoint, kubespan } = section.discovery.get().unwrap_or(&none);
    DiscoveryPlan {
        service: Decided::or(service, true, "Talos' own default"),
        endpoint: Decided::of(endpoint),
        kubespan: Decided::or(kubespan, false, "Talos' own default"),
    }
}

/// The mirrors and credentials that the file contains.
pub fn registries(section: &ClusterSection) -> RegistriesPlan {
    let none = Registries::default();
    let Registries { mirrors, auth } = section.registries.get().unwrap_or(&none);
    RegistriesPlan { mirrors: Decided::of(mirrors), auth: Decided::of(auth) }
}

/// The keys of encrypted partitions.
pub(crate) fn encryption(section: &ClusterSection) -> EncryptionPlan {
    let none = Encryption::default();
    let Encryption { state, ephemeral } = section.encryption.get().unwrap_or(&none);
    EncryptionPlan { state: Decided::of(state), ephemeral: Decided::of(ephemeral) }
}
