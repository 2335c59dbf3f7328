//! The kinds of documents a Talos configuration is made of, and the release that first has each.

use crate::cluster::value::TalosVersion;

use super::release;

/// One kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The minor release of Talos that first has it.
    pub since: u16,
    /// Whether a worker refuses it.
    pub control_plane: bool,
}

impl Kind {
    /// Whether a release has it.
    pub fn is_in(self, talos: &TalosVersion) -> bool {
        release::at_least(talos, self.since)
    }
}

/// Kinds by the release that first has them; all before 1.7 count as 1.6.
const EVERYWHERE: [(u16, &[&str]); 7] = [
    (
        6,
        &[
            "SideroLinkConfig",
            "EventSinkConfig",
            "KmsgLogConfig",
            "NetworkDefaultActionConfig",
            "NetworkRuleConfig",
        ],
    ),
    (7, &["ExtensionServiceConfig", "WatchdogTimerConfig"]),
    (8, &["KubeSpanEndpointsConfig", "TrustedRootsConfig", "VolumeConfig"]),
    (10, &["EthernetConfig", "PCIDriverRebindConfig", "UserVolumeConfig"]),
    (11, &["ExistingVolumeConfig", "RawVolumeConfig", "SwapVolumeConfig", "ZswapConfig"]),
    (
        12,
        &[
            "HostnameConfig",
            "LinkConfig",
            "DummyLinkConfig",
            "VLANConfig",
            "BondConfig",
            "BridgeConfig",
            "WireguardConfig",
            "LinkAliasConfig",
            "DHCPv4Config",
            "DHCPv6Config",
            "Layer2VIPConfig",
            "HCloudVIPConfig",
            "ResolverConfig",
            "StaticHostConfig",
            "TimeSyncConfig",
            "RegistryMirrorConfig",
            "RegistryAuthConfig",
            "RegistryTLSConfig",
            "OOMConfig",
        ],
    ),
    (
        13,
        &[
            "VRFConfig",
            "RoutingRuleConfig",
            "BlackholeRouteConfig",
            "KubeSpanConfig",
            "EnvironmentConfig",
            "TCPProbeConfig",
            "ExternalVolumeConfig",
            "ImageVerificationConfig",
        ],
    ),
];

/// What 1.14 brought to every node.
const SINCE_14: [&str; 31] = [
    "BGPInstanceConfig",
    "VethConfig",
    "ContainerConfig",
    "UnattendedInstallConfig",
    "EtcFileConfig",
    "SysctlConfig",
    "SysfsConfig",
    "KernelModuleConfig",
    "UdevRulesConfig",
    "SecurityProfileConfig",
    "DiscoveryServiceConfig",
    "DiscoveryIdentityConfig",
    "HTTPProbeConfig",
    "ImageCacheConfig",
    "CRICustomizationConfig",
    "CRIBaseRuntimeSpecConfig",
    "FilesystemTrimConfig",
    "FilesystemScrubConfig",
    "RAIDArrayConfig",
    "LVMVolumeGroupConfig",
    "LVMLogicalVolumeConfig",
    "KubeClusterConfig",
    "KubeNodeConfig",
    "KubeletConfig",
    "KubeNetworkConfig",
    "KubeAPIServerCAConfig",
    "KubePrismConfig",
    "KubeCredentialProviderConfig",
    "KubeStaticPodConfig",
    "KubeInlineManifestConfig",
    "KubeExternalManifestConfig",
];

/// What 1.14 brought to control planes.
const CONTROL_PLANE_14: [&str; 14] = [
    "KubeAPIServerConfig",
    "KubeAggregatorCAConfig",
    "KubeAdmissionControlConfig",
    "KubeAuditPolicyConfig",
    "KubeAuthenticationConfig",
    "KubeAuthorizerConfig",
    "KubeControllerManagerConfig",
    "KubeSchedulerConfig",
    "KubeProxyConfig",
    "KubeFlannelCNIConfig",
    "KubeCoreDNSConfig",
    "KubeEtcdEncryptionConfig",
    "KubeServiceAccountConfig",
    "KubeTalosAPIAccessConfig",
];

/// The kinds that make or set up a link, or ask for an address on one. Any of them switches Talos' default DHCP off.
pub const LINKS: [&str; 10] = [
    "LinkConfig",
    "DummyLinkConfig",
    "VLANConfig",
    "BondConfig",
    "BridgeConfig",
    "WireguardConfig",
    "VRFConfig",
    "VethConfig",
    "DHCPv4Config",
    "DHCPv6Config",
];

/// Every kind that is known.
pub fn all() -> impl Iterator<Item = Kind> {
    let everywhere = EVERYWHERE
        .into_iter()
        .flat_map(|(since, names)| names.iter().map(move |name| Kind { name, since, control_plane: false }));
    let of_14 = |control_plane| move |name| Kind { name, since: 14, control_plane };
    everywhere
        .chain(SINCE_14.into_iter().map(of_14(false)))
        .chain(CONTROL_PLANE_14.into_iter().map(of_14(true)))
}

/// The kind of this name.
pub fn find(name: &str) -> Option<Kind> {
    all().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_there_from_its_release_on() {
        let [older, newer] = ["v1.12.11", "v1.13.0"].map(|text| TalosVersion::parse(text).unwrap());

        let vrf = find("VRFConfig").unwrap();

        assert!(!vrf.is_in(&older) && vrf.is_in(&newer));
        assert!(find("KubeProxyConfig").unwrap().control_plane);
        assert_eq!(find("UnattendedInstall"), None);
    }

    #[test]
    fn no_kind_is_listed_twice() {
        let mut names: Vec<_> = all().map(|kind| kind.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();

        assert_eq!(names.len(), count);
    }
}
