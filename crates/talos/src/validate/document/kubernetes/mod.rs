//! Kubernetes, in documents of its own since Talos 1.14.

mod component;
mod network;
mod node;
mod object;

use super::{certificate, required};
use crate::go::endpoint;
use crate::validate;
use crate::validate::Flaws;
use crate::validate::field::Field;

/// What authorizes requests to the API server.
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
pub fn validate(kind: &str, document: &Field<'_>, flaws: &mut Flaws) {
    match kind {
        "KubeAPIServerConfig" => component::api_server(document, flaws),
        "KubeControllerManagerConfig" | "KubeSchedulerConfig" => component::optional(document, flaws),
        "KubeProxyConfig" => component::proxy(document, flaws),
        "KubeletConfig" => component::kubelet(document, flaws),
        "KubeFlannelCNIConfig" => component::flannel(document, flaws),
        "KubeAPIServerCAConfig" => authority(document, flaws),
        "KubeAggregatorCAConfig" => aggregator(document, flaws),
        "KubeServiceAccountConfig" => service_account(document, flaws),
        "KubeAdmissionControlConfig" => {
            required(&document.get("name"), flaws);
        }
        "KubeAuthorizerConfig" => authorizer(document, flaws),
        "KubeEtcdEncryptionConfig" => {
            required(&document.get("config"), flaws);
        }
        "KubeTalosAPIAccessConfig" => access(document, flaws),
        "KubeClusterConfig" => cluster(document, flaws),
        "KubeNetworkConfig" => network::validate(document, flaws),
        "KubeNodeConfig" => node::validate(document, flaws),
        "KubePrismConfig" => prism(document, flaws),
        "KubeInlineManifestConfig" => object::name(document, flaws),
        "KubeExternalManifestConfig" => object::manifest(document, flaws),
        "KubeStaticPodConfig" => object::pod(document, flaws),
        _ => {}
    }
}

fn authority(document: &Field<'_>, flaws: &mut Flaws) {
    let issuing = document.get("issuingCA");
    if issuing.is_set() {
        certificate::pair(&issuing, true, flaws);
    }
    for accepted in document.get("acceptedCAs").items() {
        certificate::certificates(&accepted, flaws);
    }
}

fn aggregator(document: &Field<'_>, flaws: &mut Flaws) {
    let issuing = document.get("issuingCA");
    if !issuing.is_set() {
        flaws.error(&issuing, "this has to be set");
    }
    authority(document, flaws);
}

fn service_account(document: &Field<'_>, flaws: &mut Flaws) {
    let key = document.at(["issuer", "privateKey"]);
    if required(&key, flaws) {
        certificate::private_key(&key, true, flaws);
    }
    required(&document.at(["issuer", "issuerURL"]), flaws);
}

fn authorizer(document: &Field<'_>, flaws: &mut Flaws) {
    required(&document.get("name"), flaws);
    let (kind, webhook) = (document.get("type"), document.get("webhook"));
    if !AUTHORIZERS.contains(&kind.text()) {
        flaws.error(
            &kind,
            format!("{:?} authorizes nothing: use one of {}", kind.text(), AUTHORIZERS.join(", ")),
        );
    }
    match (kind.text() == "Webhook", webhook.is_empty()) {
        (true, true) => flaws.error(&webhook, "say which webhook is asked"),
        (false, false) => flaws.warning(&webhook, "this counts only with the type Webhook"),
        _ => {}
    }
}

fn access(document: &Field<'_>, flaws: &mut Flaws) {
    for role in document.get("allowedRoles").items().filter(|role| !ROLES.contains(&role.text())) {
        flaws.error(&role, format!("{:?} is no role: use one of {}", role.text(), ROLES.join(", ")));
    }
}

fn cluster(document: &Field<'_>, flaws: &mut Flaws) {
    required(&document.get("clusterName"), flaws);
    let field = document.get("endpoint");
    if required(&field, flaws)
        && let Err(reason) = endpoint::check(field.text())
    {
        flaws.error(&field, reason);
    }
    validate::endpoint::advise(&field, flaws);
}

fn prism(document: &Field<'_>, flaws: &mut Flaws) {
    let port = document.get("port");
    if !(1..=65535).contains(&port.number()) {
        flaws.error(&port, "want a port between 1 and 65535");
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
    fn requests_are_let_in_by_name() {
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
    fn what_is_secret_is_there() {
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
