//! Kubernetes, in documents of its own since Talos 1.14.

mod component;
mod network;
mod node;
mod object;

use super::{certificate, required};
use crate::go::endpoint;
use crate::validate;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// The authorizers of the API server.
const AUTHORIZERS: [&str; 3] = ["Node", "RBAC", "Webhook"];

/// Roles that can be granted.
const ROLES: [&str; 7] = [
    "os:admin",
    "os:operator",
    "os:reader",
    "os:etcd:backup",
    "os:image:verifier",
    "os:meta:writer",
    "os:impersonator",
];

/// Judges a document of Kubernetes.
pub(crate) fn validate(kind: &str, document: &Field<'_>, issues: &mut DocumentIssues) {
    match kind {
        "KubeAPIServerConfig" => component::api_server(document, issues),
        "KubeControllerManagerConfig" | "KubeSchedulerConfig" => component::optional(document, issues),
        "KubeProxyConfig" => component::proxy(document, issues),
        "KubeletConfig" => component::kubelet(document, issues),
        "KubeFlannelCNIConfig" => component::flannel(document, issues),
        "KubeAPIServerCAConfig" => authority(document, issues),
        "KubeAggregatorCAConfig" => aggregator(document, issues),
        "KubeServiceAccountConfig" => service_account(document, issues),
        "KubeAdmissionControlConfig" => {
            required(&document.get("name"), issues);
        }
        "KubeAuthorizerConfig" => authorizer(document, issues),
        "KubeEtcdEncryptionConfig" => {
            required(&document.get("config"), issues);
        }
        "KubeTalosAPIAccessConfig" => access(document, issues),
        "KubeClusterConfig" => cluster(document, issues),
        "KubeNetworkConfig" => network::validate(document, issues),
        "KubeNodeConfig" => node::validate(document, issues),
        "KubePrismConfig" => prism(document, issues),
        "KubeInlineManifestConfig" => object::name(document, issues),
        "KubeExternalManifestConfig" => object::manifest(document, issues),
        "KubeStaticPodConfig" => object::pod(document, issues),
        _ => {}
    }
}

fn authority(document: &Field<'_>, issues: &mut DocumentIssues) {
    let issuing = document.get("issuingCA");
    if issuing.is_set() {
        certificate::pair(&issuing, true, issues);
    }
    for accepted in document.get("acceptedCAs").items() {
        certificate::certificates(&accepted, issues);
    }
}

fn aggregator(document: &Field<'_>, issues: &mut DocumentIssues) {
    let issuing = document.get("issuingCA");
    if !issuing.is_set() {
        issues.error(&issuing, "this has to be set");
    }
    authority(document, issues);
}

fn service_account(document: &Field<'_>, issues: &mut DocumentIssues) {
    let key = document.at(["issuer", "privateKey"]);
    if required(&key, issues) {
        certificate::private_key(&key, true, issues);
    }
    required(&document.at(["issuer", "issuerURL"]), issues);
}

fn authorizer(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("name"), issues);
    let (kind, webhook) = (document.get("type"), document.get("webhook"));
    if !AUTHORIZERS.contains(&kind.text()) {
        issues.error(
            &kind,
            format!("{:?} authorizes nothing: use one of {}", kind.text(), AUTHORIZERS.join(", ")),
        );
    }
    match (kind.text() == "Webhook", webhook.is_empty()) {
        (true, true) => issues.error(&webhook, "name the webhook to query"),
        (false, false) => issues.warning(&webhook, "this counts only with the type Webhook"),
        _ => {}
    }
}

fn access(document: &Field<'_>, issues: &mut DocumentIssues) {
    for role in document.get("allowedRoles").items().filter(|role| !ROLES.contains(&role.text())) {
        issues.error(&role, format!("{:?} is not a role: use one of {}", role.text(), ROLES.join(", ")));
    }
}

fn cluster(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("clusterName"), issues);
    let field = document.get("endpoint");
    if required(&field, issues)
        && let Err(reason) = endpoint::check(field.text())
    {
        issues.error(&field, reason);
    }
    validate::endpoint::advise(&field, issues);
}

fn prism(document: &Field<'_>, issues: &mut DocumentIssues) {
    let port = document.get("port");
    if !(1..=65535).contains(&port.number()) {
        issues.error(&port, "want a port between 1 and 65535");
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_cluster_has_a_name_and_an_endpoint() {
        check(
            "KubeClusterConfig",
            &[
                ("clusterName: a\nendpoint: https://10.0.0.1:6443", &[]),
                ("clusterName: a\nendpoint: https://10.0.0.1:0", &["!endpoint"]),
                ("clusterName: a\nendpoint: 10.0.0.1", &["!endpoint"]),
                ("clusterName: a\nendpoint: http://10.0.0.1:6443", &["~endpoint"]),
                ("", &["!clusterName", "!endpoint"]),
            ],
        );
        check(
            "KubePrismConfig",
            &[("port: 7445", &[]), ("port: 65536", &["!port"]), ("tlsServerName: a", &["!port"])],
        );
    }

    #[test]
    fn authorizers_admission_plugins_and_api_roles_are_checked() {
        check(
            "KubeAuthorizerConfig",
            &[
                ("name: a\ntype: RBAC", &[]),
                ("name: a\ntype: Webhook\nwebhook: {a: b}", &[]),
                ("name: a\ntype: Webhook", &["!webhook"]),
                ("name: a\ntype: Node\nwebhook: {a: b}", &["?webhook"]),
                ("type: ABAC", &["!name", "!type"]),
                ("name: a", &["!type"]),
            ],
        );
        check("KubeAdmissionControlConfig", &[("name: a", &[]), ("configuration: {}", &["!name"])]);
        check(
            "KubeTalosAPIAccessConfig",
            &[("allowedRoles: [os:reader]", &[]), ("allowedRoles: [os:root]", &["!allowedRoles[0]"])],
        );
    }

    #[test]
    fn required_secrets_are_present() {
        let key = "\"-----BEGIN PRIVATE KEY-----\\nMAcCAQAwAAQA\\n-----END PRIVATE KEY-----\\n\"";
        check(
            "KubeServiceAccountConfig",
            &[
                (&format!("issuer: {{privateKey: {key}, issuerURL: https://a}}"), &[]),
                ("issuer: {privateKey: a}", &["!issuer.privateKey", "!issuer.issuerURL"]),
                ("accepted: {}", &["!issuer.privateKey", "!issuer.issuerURL"]),
            ],
        );
        check("KubeEtcdEncryptionConfig", &[("config: {a: b}", &[]), ("config: {}", &["!config"])]);
        check("KubeAuditPolicyConfig", &[("configuration: {}", &[])]);
    }
}
