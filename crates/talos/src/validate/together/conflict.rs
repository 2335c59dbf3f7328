//! Conflicts between old fields and documents.

use super::{machine, of_kind};
use crate::config::Config;
use crate::go::netip;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting};

/// When an old field counts.
#[derive(Clone, Copy)]
enum When {
    /// It exists, even if it is empty.
    Set,
    /// It is not empty.
    Filled,
    /// It is true.
    True,
}
use When::{Filled, Set, True};

/// Documents and the old fields each refuses beside it. Talos 1.11 has one of them only, `VolumeConfig`.
const CONFLICTS: [(&str, &[(&str, When)]); 29] = [
    ("HostnameConfig", &[("machine.network.hostname", Filled), ("machine.features.stableHostname", True)]),
    (
        "ResolverConfig",
        &[("machine.network.searchDomains", Set), ("machine.network.disableSearchDomain", True)],
    ),
    (
        "TimeSyncConfig",
        &[
            ("machine.time.disabled", True),
            ("machine.time.servers", Filled),
            ("machine.time.bootTimeout", Filled),
        ],
    ),
    ("KubeSpanConfig", &[("machine.network.kubespan", Set)]),
    ("UnattendedInstallConfig", &[("machine.install", Set)]),
    ("ImageCacheConfig", &[("machine.features.imageCache", Set)]),
    ("CRIBaseRuntimeSpecConfig", &[("machine.baseRuntimeSpecOverrides", Set)]),
    ("DiscoveryIdentityConfig", &[("cluster.id", Filled), ("cluster.secret", Filled)]),
    ("DiscoveryServiceConfig", &[("cluster.discovery", Set)]),
    ("KubeClusterConfig", &[("cluster.clusterName", Filled), ("cluster.controlPlane.endpoint", Set)]),
    ("KubeNetworkConfig", &[("cluster.network", Set)]),
    ("KubeFlannelCNIConfig", &[("cluster.network", Set)]),
    ("KubeletConfig", &[("machine.kubelet", Set)]),
    ("KubeCredentialProviderConfig", &[("machine.kubelet", Set)]),
    (
        "KubeNodeConfig",
        &[
            ("cluster.allowSchedulingOnControlPlanes", Set),
            ("cluster.allowSchedulingOnMasters", Set),
            ("machine.kubelet.skipNodeRegistration", Set),
            ("machine.kubelet.registerWithFQDN", Set),
            ("machine.kubelet.nodeIP", Set),
            ("machine.nodeLabels", Set),
            ("machine.nodeAnnotations", Set),
            ("machine.nodeTaints", Set),
        ],
    ),
    (
        "KubeAPIServerConfig",
        &[("cluster.apiServer", Set), ("cluster.controlPlane.localAPIServerPort", Filled)],
    ),
    ("KubeAPIServerCAConfig", &[("cluster.ca", Set)]),
    ("KubeAggregatorCAConfig", &[("cluster.aggregatorCA", Set)]),
    ("KubeServiceAccountConfig", &[("cluster.serviceAccount", Set)]),
    ("KubeAdmissionControlConfig", &[("cluster.apiServer.admissionControl", Filled)]),
    // Not `authorizationConfig`: 1.14 checks the admission control plugins here as well.
    ("KubeAuthorizerConfig", &[("cluster.apiServer.admissionControl", Filled)]),
    ("KubeAuditPolicyConfig", &[("cluster.apiServer.auditPolicy", Filled)]),
    (
        "KubeEtcdEncryptionConfig",
        &[("cluster.secretboxEncryptionSecret", Filled), ("cluster.aescbcEncryptionSecret", Filled)],
    ),
    (
        "KubeControllerManagerConfig",
        &[("cluster.controllerManager", Set), ("machine.controlPlane.controllerManager", Set)],
    ),
    ("KubeSchedulerConfig", &[("cluster.scheduler", Set), ("machine.controlPlane.scheduler", Set)]),
    ("KubeProxyConfig", &[("cluster.proxy", Set)]),
    ("KubeCoreDNSConfig", &[("cluster.coreDNS", Set)]),
    ("KubePrismConfig", &[("machine.features.kubePrism", Set)]),
    ("KubeTalosAPIAccessConfig", &[("machine.features.kubernetesTalosAPIAccess", Set)]),
];

/// Judges documents beside the one with `machine` and `cluster`.
pub(crate) fn validate(config: &Config, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let Some((nth, old)) = machine(config) else { return };
    issues.document = nth;
    for (kind, fields) in CONFLICTS {
        if of_kind(config, kind).next().is_some() {
            for (path, when) in fields {
                say(&path.split('.').fold(old.clone(), |field, key| field.get(key)), *when, kind, issues);
            }
        }
    }
    resolver(config, &old, setting, issues);
    volume(config, &old, issues);
}

fn say(field: &Field<'_>, when: When, kind: &str, issues: &mut DocumentIssues) {
    let counts = match when {
        Set => field.is_set(),
        Filled => !field.is_empty(),
        True => field.flag(),
    };
    if counts {
        issues.error(field, format!("the document {kind} sets it as well: remove it here"));
    }
}

/// Invalid name servers are ignored, and host DNS counts only if the document sets it.
fn resolver(config: &Config, old: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    for (_, document) in of_kind(config, "ResolverConfig") {
        let servers = old.at(["machine", "network", "nameservers"]);
        if servers.items().any(|server| netip::is_address(server.text())) {
            say(&servers, Set, "ResolverConfig", issues);
        }
        if setting.at_least(14) && !document.get("hostDNS").is_empty() {
            say(&old.at(["machine", "features", "hostDNS"]), Set, "ResolverConfig", issues);
        }
    }
}

/// Encryption of the volumes that the old form can encrypt.
fn volume(config: &Config, old: &Field<'_>, issues: &mut DocumentIssues) {
    for (_, document) in of_kind(config, "VolumeConfig") {
        let key = match document.get("name").text() {
            "STATE" => "state",
            "EPHEMERAL" => "ephemeral",
            _ => continue,
        };
        if !["", "none"].contains(&document.at(["encryption", "provider"]).text()) {
            say(&old.at(["machine", "systemDiskEncryption", key]), Set, "VolumeConfig", issues);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::CONFLICTS;
    use crate::kind;
    use crate::validate::Mode;
    use crate::validate::trial::{judge, machine_document, with};

    fn beside(talos: &str, document: &Value, parts: &[(&str, Value)]) -> Vec<String> {
        let old = with(machine_document("controlplane", "a2V5"), parts);
        let mut found = judge(talos, Mode::Metal, &[old, document.clone()]);
        found.retain(|line| !line.contains(" 1:"));
        found
    }

    #[test]
    fn every_kind_of_the_table_exists() {
        assert!(CONFLICTS.iter().all(|(name, _)| kind::find(name).is_some()));
    }

    #[test]
    fn a_hostname_is_set_in_one_place() {
        let document = json!({"kind": "HostnameConfig", "hostname": "a"});
        let parts =
            [("machine.network.hostname", json!("a")), ("machine.features.stableHostname", json!(true))];

        let want = ["error machine.network.hostname", "error machine.features.stableHostname"];
        assert_eq!(beside("1.12", &document, &parts), want);
        let off = [("machine.features.stableHostname", json!(false))];
        assert!(beside("1.12", &document, &off).is_empty());
    }

    #[test]
    fn invalid_resolver_addresses_are_ignored() {
        let document = json!({"kind": "ResolverConfig", "hostDNS": {"enabled": true}});
        let servers = |server: &str| [("machine.network.nameservers", json!([server]))];

        let host_dns = "error machine.features.hostDNS";
        assert_eq!(
            beside("1.14", &document, &servers("10.0.0.53")),
            ["error machine.network.nameservers", host_dns]
        );
        assert_eq!(beside("1.13", &document, &servers("10.0.0.53")), ["error machine.network.nameservers"]);
        let found = beside("1.13", &document, &servers("dns.example"));
        assert_eq!(found, ["advice machine.network.nameservers[0]"]);
    }

    #[test]
    fn a_volume_is_encrypted_in_one_place() {
        let volume = |name: &str, provider: &str| json!({"kind": "VolumeConfig", "name": name, "encryption": {"provider": provider, "keys": [{"tpm": {}}]}});
        let parts = [("machine.systemDiskEncryption.state.keys", json!([{"tpm": {}}]))];

        let want = ["error machine.systemDiskEncryption.state"];
        assert_eq!(beside("1.11", &volume("STATE", "luks2"), &parts), want);
        assert!(beside("1.11", &volume("EPHEMERAL", "luks2"), &parts).is_empty());
        assert!(beside("1.11", &volume("STATE", ""), &parts).is_empty());
    }

    #[test]
    fn separate_documents_do_not_conflict() {
        let documents = [json!({"kind": "TimeSyncConfig"}), json!({"kind": "KubeSpanConfig"})];

        assert!(judge("1.13", Mode::Metal, &documents).iter().all(|line| !line.contains("machine.")));
    }
}
