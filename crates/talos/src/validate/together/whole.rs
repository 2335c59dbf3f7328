//! Requirements on a complete configuration, whichever of its documents meets them. Talos checks them from 1.14 on.

use super::{machine, of_kind};
use crate::config::Config;
use crate::go::url;
use crate::validate::field::Field;
use crate::validate::machine::Role;
use crate::validate::{DocumentIssues, Mode, Setting};

/// Validates a complete configuration.
pub(crate) fn validate(config: &Config, setting: Setting<'_>, issues: &mut DocumentIssues) {
    issues.document = machine(config).map_or(0, |(nth, _)| nth);
    host_dns(config, setting, issues);
    discovery(config, issues);
    endpoint(config, issues);
    let role = config.machine().map_or(Role::Unknown, |document| Role::from_document(&document.value));
    if role.is_control_plane() {
        etcd_encryption(config, issues);
    } else {
        control_plane_only(config, issues);
    }
}

/// The setting of host DNS: that of the document if it is on there, else that of the old form.
fn host_dns_of(config: &Config) -> Option<Field<'_>> {
    let document = of_kind(config, "ResolverConfig").next().map(|(_, document)| document.get("hostDNS"));
    let old =
        || machine(config).map(|(_, old)| old.at(["machine", "features", "hostDNS"])).filter(Field::is_set);
    document.filter(|host_dns| host_dns.get("enabled").flag()).or_else(old)
}

fn host_dns(config: &Config, setting: Setting<'_>, issues: &mut DocumentIssues) {
    let is = |key: &str| host_dns_of(config).is_some_and(|host_dns| host_dns.get(key).flag());
    if setting.mode == Mode::Container && !(is("enabled") && is("forwardKubeDNSToHost")) {
        let path = "machine.features.hostDNS";
        let want = "a container resolves names through the host: set `enabled` and `forwardKubeDNSToHost` to true, here or \
                    in `hostDNS` of ResolverConfig";
        issues.error(path, want);
    }
    let Some((nth, resolver)) = of_kind(config, "ResolverConfig").next() else { return };
    for protocol in resolver.get("nameservers").items().map(|server| server.get("protocol")) {
        if !["", "Do53"].contains(&protocol.text()) && !is("enabled") {
            let before = std::mem::replace(&mut issues.document, nth);
            issues.error(&protocol, "only host DNS supports it: set `hostDNS.enabled` to true");
            issues.document = before;
        }
    }
}

fn discovery(config: &Config, issues: &mut DocumentIssues) {
    if is_discovered(config) {
        let missing = |key: &str, new: &str| identity(config, key, new).is_none();
        for (key, new) in [("id", "clusterID"), ("secret", "clusterSecret")] {
            if missing(key, new) {
                let want = format!(
                    "discovery identifies the cluster by this: set it, or `{new}` of DiscoveryIdentityConfig"
                );
                issues.error(format!("cluster.{key}"), want);
            }
        }
    } else if has_kubespan(config) {
        let want = "KubeSpan finds its peers by discovery: set `enabled` to true, or add a DiscoveryServiceConfig document";
        issues.error("cluster.discovery", want);
    }
}

fn is_discovered(config: &Config) -> bool {
    let old = machine(config).is_some_and(|(_, old)| {
        let discovery = old.at(["cluster", "discovery"]);
        let service = discovery.at(["registries", "service"]);
        discovery.get("enabled").flag()
            && !service.get("disabled").flag()
            && url::parse(service.get("endpoint").text()).is_ok()
    });
    old || of_kind(config, "DiscoveryServiceConfig").next().is_some()
}

/// One half of the cluster's identity. The document is ignored if the old form has either half.
fn identity<'c>(config: &'c Config, key: &str, new: &str) -> Option<&'c str> {
    let cluster = machine(config).map(|(_, old)| old.get("cluster"));
    let cluster =
        cluster.filter(|cluster| !cluster.get("id").is_empty() || !cluster.get("secret").is_empty());
    let document =
        || of_kind(config, "DiscoveryIdentityConfig").next().map(|(_, document)| document.get(new));
    let half = cluster.map(|cluster| cluster.get(key)).or_else(document)?;
    Some(half.text()).filter(|text| !text.is_empty())
}

fn has_kubespan(config: &Config) -> bool {
    let document = of_kind(config, "KubeSpanConfig").next().map(|(_, document)| document);
    let old = || Some(machine(config)?.1.at(["machine", "network", "kubespan"]));
    document.or_else(old).is_some_and(|kubespan| kubespan.get("enabled").flag())
}

/// Whether the machine runs Kubernetes, which is where it has a CA of it.
fn has_kubernetes(config: &Config) -> bool {
    let old = || {
        let cluster = machine(config).map(|(_, old)| old.get("cluster"));
        cluster.is_some_and(|cluster| ["ca", "acceptedCAs"].iter().any(|key| cluster.get(key).is_set()))
    };
    of_kind(config, "KubeAPIServerCAConfig").next().is_some() || old()
}

fn endpoint(config: &Config, issues: &mut DocumentIssues) {
    let path = ["cluster", "controlPlane", "endpoint"];
    let old = || machine(config).is_some_and(|(_, old)| old.at(path).is_set());
    if has_kubernetes(config) && of_kind(config, "KubeClusterConfig").next().is_none() && !old() {
        let want = "Kubernetes needs the endpoint of its API: set it, or add a KubeClusterConfig document";
        issues.error(path.join("."), want);
    }
}

fn etcd_encryption(config: &Config, issues: &mut DocumentIssues) {
    let Some((_, old)) = machine(config) else { return };
    let cluster = old.get("cluster");
    let encrypts = of_kind(config, "KubeEtcdEncryptionConfig").next().is_some()
        || ["secretboxEncryptionSecret", "aescbcEncryptionSecret"]
            .iter()
            .any(|key| !cluster.get(key).is_empty());
    if has_kubernetes(config) && !encrypts {
        let want = "secrets in etcd have to be encrypted: set it, or add a KubeEtcdEncryptionConfig document";
        issues.error(&cluster.get("secretboxEncryptionSecret"), want);
    }
}

fn control_plane_only(config: &Config, issues: &mut DocumentIssues) {
    for (nth, document) in config.documents.iter().enumerate() {
        if let Some(kind) = document.kind.filter(|kind| kind.control_plane) {
            issues.document = nth;
            issues.error("kind", format!("{} is for control planes: this machine is a worker", kind.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::validate::Mode;
    use crate::validate::trial::{CERTIFICATE, judge, machine_document, with};

    fn control_plane(parts: &[(&str, Value)]) -> Value {
        with(machine_document("controlplane", "a2V5"), parts)
    }

    #[test]
    fn a_container_resolves_through_the_host() {
        let without = control_plane(&[("machine.features.hostDNS", json!(null))]);
        let resolver =
            json!({"kind": "ResolverConfig", "hostDNS": {"enabled": true, "forwardKubeDNSToHost": true}});

        let want = ["error machine.features.hostDNS"];
        assert_eq!(judge("1.14", Mode::Container, std::slice::from_ref(&without)), want);
        assert_eq!(
            judge(
                "1.14",
                Mode::Container,
                &[json!({"kind": "WatchdogTimerConfig", "device": "/dev/watchdog0"})]
            ),
            want
        );
        assert!(judge("1.14", Mode::Container, &[without.clone(), resolver]).is_empty());
        assert!(judge("1.14", Mode::Cloud, &[without]).is_empty());
    }

    #[test]
    fn only_host_dns_speaks_to_encrypted_resolvers() {
        let server = json!({"address": "10.0.0.53", "protocol": "DoT", "tlsServerName": "dns.example"});
        let resolver = json!({"kind": "ResolverConfig", "nameservers": [server, {"address": "10.0.0.54"}]});
        let without = control_plane(&[("machine.features.hostDNS", json!(null))]);

        assert_eq!(
            judge("1.14", Mode::Metal, &[without, resolver.clone()]),
            ["error 1:nameservers[0].protocol"]
        );
        assert!(judge("1.14", Mode::Metal, &[control_plane(&[]), resolver]).is_empty());
    }

    #[test]
    fn discovery_needs_an_identity() {
        let service = json!({"kind": "DiscoveryServiceConfig", "name": "a", "endpoint": "https://a/"});
        let identity =
            json!({"kind": "DiscoveryIdentityConfig", "clusterID": "aWQ=", "clusterSecret": "c2VjcmV0"});
        let without = control_plane(&[("cluster.id", json!(null)), ("cluster.secret", json!(null))]);
        let errors = |documents: &[Value]| {
            let mut found = judge("1.14", Mode::Metal, documents);
            found.retain(|line| line.starts_with("error cluster."));
            found
        };

        assert_eq!(errors(&[without.clone(), service.clone()]), ["error cluster.id", "error cluster.secret"]);
        assert!(errors(&[without.clone(), service.clone(), identity.clone()]).is_empty());
        let kubespan = json!({"kind": "KubeSpanConfig", "enabled": true});
        assert_eq!(
            errors(&[without.clone(), identity.clone(), kubespan.clone()]),
            ["error cluster.discovery"]
        );
        assert!(errors(&[without, identity, kubespan, service]).is_empty());
    }

    #[test]
    fn an_api_server_encrypts_its_secrets() {
        let parts = [
            ("cluster.ca", json!({"crt": CERTIFICATE, "key": "a2V5"})),
            ("cluster.secretboxEncryptionSecret", json!(null)),
        ];

        let want = ["error cluster.secretboxEncryptionSecret"];
        assert_eq!(judge("1.14", Mode::Metal, &[control_plane(&parts)]), want);
        assert!(judge("1.13", Mode::Metal, &[control_plane(&parts)]).is_empty());
    }

    #[test]
    fn a_kubernetes_ca_without_an_endpoint_is_rejected() {
        let endpoint = "cluster.controlPlane.endpoint";
        let ca = json!({"kind": "KubeAPIServerCAConfig"});
        let cluster = json!({"kind": "KubeClusterConfig", "clusterName": "a", "endpoint": "https://a:6443"});
        let without = control_plane(&[("cluster.controlPlane", json!(null))]);
        let is_rejected = |documents: &[Value]| {
            judge("1.14", Mode::Metal, documents).contains(&format!("error {endpoint}"))
        };

        assert!(is_rejected(&[without.clone(), ca.clone()]) && is_rejected(std::slice::from_ref(&ca)));
        assert!(!is_rejected(&[without.clone(), ca.clone(), cluster]) && !is_rejected(&[without]));
        assert!(!is_rejected(&[control_plane(&[]), ca]));
    }

    #[test]
    fn control_plane_documents_are_rejected_on_workers() {
        let proxy = json!({"kind": "KubeProxyConfig"});
        let on = |document: Value| {
            let mut found = judge("1.14", Mode::Metal, &[document, proxy.clone()]);
            found.retain(|line| line.ends_with("kind"));
            found
        };

        assert_eq!(on(machine_document("worker", "")), ["error 1:kind"]);
        assert!(on(control_plane(&[])).is_empty());
        assert!(judge("1.14", Mode::Metal, &[proxy]).contains(&"error kind".to_owned()));
    }
}
