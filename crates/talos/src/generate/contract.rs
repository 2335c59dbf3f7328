//! The contract: the Talos release a configuration is written for, and its effect on the output.
//!
//! Everything that depends on the release is a [`Trait`] here, with the minor releases that have it; the rest of
//! [`generate`](super) asks [`Contract::has`] and compares no versions. Read from Talos 1.14's own table,
//! `talos:pkg/machinery/config/contract.go`, which still covers every release since 1.0.

use std::fmt;
use std::ops::RangeInclusive;

use ichor_values::TalosVersion;

/// No release has removed it yet.
const NOW: u16 = u16::MAX;

/// The Talos release a configuration is written for: major and minor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contract {
    major: u16,
    minor: u16,
}

/// A feature that only some releases have, or that some write in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trait {
    /// The API server admits pods by the PodSecurity plugin.
    PodSecurityAdmission,
    /// Hostnames are made from the machine's identity.
    StableHostname,
    /// The kubelet runs containers with the runtime's seccomp profile.
    SeccompByDefault,
    /// `registry.k8s.io` is tried instead of `k8s.gcr.io`.
    AlternateImageRegistries,
    /// `allowSchedulingOnControlPlanes` has replaced `allowSchedulingOnMasters`.
    SchedulingOnControlPlanes,
    /// Cluster discovery does not use Kubernetes.
    KubernetesRegistryDisabled,
    /// `apid` checks the key usage of a client certificate.
    ApidKeyUsage,
    /// The API server has an audit policy.
    AuditPolicy,
    /// The kubelet does not watch a manifest folder.
    NoManifestFolder,
    /// Secrets are encrypted in etcd with secretbox; before, with AES-CBC.
    Secretbox,
    /// Project quotas on XFS.
    DiskQuota,
    /// KubePrism, on by default.
    KubePrism,
    /// A name server on the host.
    HostDns,
    /// Service accounts have an RSA key; before, an elliptic one.
    RsaServiceAccount,
    /// Workers know the name of the cluster.
    ClusterNameForWorkers,
    /// CoreDNS forwards to the host's name server.
    ForwardKubeDns,
    /// Load balancers exclude control planes.
    ExcludeFromLoadBalancers,
    /// Secure boot keys can be enforced while they are enrolled.
    SecureBootEnforcement,
    /// Volumes are encrypted by VolumeConfig.
    VolumeEncryptionDocument,
    /// Hostname and registries are documents.
    NetworkDocuments,
    /// `disablePodSecurityPolicy` is still written.
    DisablePodSecurityPolicy,
    /// `rbac` and `apidCheckExtKeyUsage` are still written.
    RbacFeature,
    /// The endpoint's host is listed among the API server's names.
    EndpointSan,
    /// GRUB boots with the kernel arguments of the UKI.
    GrubUkiCmdline,
    /// KubeSpanConfig; before, `machine.network`, which was written even when empty.
    KubeSpanDocument,
    /// ResolverConfig for the host's name server.
    HostDnsDocument,
    /// DiscoveryServiceConfig and DiscoveryIdentityConfig.
    DiscoveryDocuments,
    /// UnattendedInstallConfig.
    InstallDocument,
    /// Kubernetes is configured by its own documents.
    KubernetesDocuments,
    /// Filesystems are trimmed, and `/var` is mounted without programs and devices.
    FilesystemTrim,
    /// Workloads are kept apart from the system.
    WorkloadIsolation,
    /// SysctlConfig.
    SysctlDocument,
    /// KernelModuleConfig.
    KernelModuleDocument,
}

impl Trait {
    /// The minor releases of Talos 1 that have it.
    const fn minors(self) -> RangeInclusive<u16> {
        match self {
            Self::PodSecurityAdmission => 1..=NOW,
            Self::StableHostname => 2..=NOW,
            Self::SeccompByDefault => 2..=NOW,
            Self::AlternateImageRegistries => 2..=2,
            Self::SchedulingOnControlPlanes => 2..=NOW,
            Self::KubernetesRegistryDisabled => 2..=NOW,
            Self::ApidKeyUsage => 3..=NOW,
            Self::AuditPolicy => 3..=NOW,
            Self::NoManifestFolder => 3..=NOW,
            Self::Secretbox => 3..=NOW,
            Self::DiskQuota => 5..=NOW,
            Self::KubePrism => 6..=NOW,
            Self::HostDns => 7..=NOW,
            Self::RsaServiceAccount => 7..=NOW,
            Self::ClusterNameForWorkers => 8..=NOW,
            Self::ForwardKubeDns => 8..=NOW,
            Self::ExcludeFromLoadBalancers => 8..=NOW,
            Self::SecureBootEnforcement => 8..=NOW,
            Self::VolumeEncryptionDocument => 11..=NOW,
            Self::NetworkDocuments => 12..=NOW,
            Self::DisablePodSecurityPolicy => 0..=11,
            Self::RbacFeature => 0..=11,
            Self::EndpointSan => 0..=11,
            Self::GrubUkiCmdline => 12..=NOW,
            Self::KubeSpanDocument => 13..=NOW,
            Self::HostDnsDocument => 14..=NOW,
            Self::DiscoveryDocuments => 14..=NOW,
            Self::InstallDocument => 14..=NOW,
            Self::KubernetesDocuments => 14..=NOW,
            Self::FilesystemTrim => 14..=NOW,
            Self::WorkloadIsolation => 14..=NOW,
            Self::SysctlDocument => 14..=NOW,
            Self::KernelModuleDocument => 14..=NOW,
        }
    }
}

impl Contract {
    /// The newest contract that is known here.
    pub const NEWEST: Self = Self { major: 1, minor: 14 };

    /// The contract of a release; its patch number does not matter.
    pub fn for_release(talos: &TalosVersion) -> Self {
        let (major, minor) = talos.minor();
        Self { major, minor }
    }

    /// Whether configurations for this release have it. Releases before 1.0 count as 1.0, as in Talos.
    pub fn has(self, wanted: Trait) -> bool {
        let minor = match self.major {
            0 => 0,
            1 => self.minor,
            _ => NOW,
        };
        wanted.minors().contains(&minor)
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract(text: &str) -> Contract {
        Contract::for_release(&TalosVersion::parse(text).unwrap())
    }

    #[test]
    fn a_trait_begins_and_ends_with_a_release() {
        assert!(!contract("v1.11.6").has(Trait::NetworkDocuments));
        assert!(contract("v1.12.0-alpha.0").has(Trait::NetworkDocuments));
        assert!(contract("1.11").has(Trait::EndpointSan));
        assert!(!contract("1.12").has(Trait::EndpointSan));
        assert!(contract("1.2").has(Trait::AlternateImageRegistries));
        assert!(!contract("1.3").has(Trait::AlternateImageRegistries));
    }

    #[test]
    fn releases_before_1_0_and_after_1_14_are_like_their_neighbours() {
        assert!(!contract("0.14").has(Trait::PodSecurityAdmission));
        assert!(contract("0.14").has(Trait::RbacFeature));
        assert!(contract("1.15").has(Trait::KubernetesDocuments));
        assert!(contract("2.0").has(Trait::KubernetesDocuments));
        assert!(!contract("2.0").has(Trait::EndpointSan));
        assert!(contract("1.15") > Contract::NEWEST);
        assert_eq!(contract("v1.14.0-rc.1").to_string(), "v1.14");
    }
}
