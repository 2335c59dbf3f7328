//! Components of Kubernetes. Whether a node supports the release in the tag of an image is checked elsewhere, for all at once.

use super::super::required;
use crate::validate;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Arguments of the API server that other documents set, and which.
const OF_OTHERS: [(&str, &str); 6] = [
    ("anonymous-auth", "KubeAuthenticationConfig"),
    ("oidc-", "KubeAuthenticationConfig"),
    ("authentication-config", "KubeAuthenticationConfig"),
    ("authorization-config", "KubeAuthorizerConfig"),
    ("authorization-mode", "KubeAuthorizerConfig"),
    ("authorization-webhook-", "KubeAuthorizerConfig"),
];

/// Judges the API server.
pub(crate) fn api_server(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("image"), issues);
    for (name, field) in document.get("extraArgs").entries() {
        for (_, other) in OF_OTHERS.iter().filter(|(prefix, _)| name.starts_with(prefix)) {
            issues.error(&field, format!("the document {other} sets this"));
        }
    }
    resources(document, issues);
}

/// Judges a component that can be switched off.
pub(crate) fn optional(document: &Field<'_>, issues: &mut DocumentIssues) {
    if !is_off(document) {
        required(&document.get("image"), issues);
        resources(document, issues);
    }
}

/// Judges kube-proxy.
pub fn proxy(document: &Field<'_>, issues: &mut DocumentIssues) {
    if is_off(document) {
        return;
    }
    optional(document, issues);
    let (mode, arguments) = (document.get("mode"), document.get("extraArgs"));
    match mode.text() {
        "" | "nftables" => {}
        "iptables" | "ipvs" => {
            issues.warning(&mode, format!("{} is on its way out: use nftables", mode.text()));
        }
        other => issues.error(&mode, format!("{other:?} is unknown: use nftables, iptables or ipvs")),
    }
    if !arguments.is_empty() {
        issues.warning(&arguments, "kube-proxy may ignore arguments beside its configuration: use `config`");
    }
}

fn is_off(document: &Field<'_>) -> bool {
    let enabled = document.get("enabled");
    enabled.is_set() && !enabled.flag()
}

/// Judges the kubelet.
pub fn kubelet(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("image"), issues);
    validate::kubelet::judge(&document.get("config"), issues);
}

/// Judges the network of pods.
pub(crate) fn flannel(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("backendType"), issues);
    resources(document, issues);
}

fn resources(document: &Field<'_>, issues: &mut DocumentIssues) {
    for kind in ["requests", "limits"].map(|kind| document.at(["resources", kind])) {
        for (name, field) in kind.entries().filter(|(name, _)| !["cpu", "memory"].contains(name)) {
            issues.error(&field, format!("{name:?} cannot be asked for: use cpu and memory"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::check;

    #[test]
    fn a_component_has_an_image() {
        check(
            "KubeAPIServerConfig",
            &[
                ("image: a:v1.37.0\nextraArgs: {v: '1'}\nresources: {requests: {cpu: 1}}", &[]),
                (
                    "extraArgs: {oidc-issuer-url: a, authorization-mode: b}\nresources: {limits: {disk: 1}}",
                    &[
                        "!image",
                        "!extraArgs.oidc-issuer-url",
                        "!extraArgs.authorization-mode",
                        "!resources.limits.disk",
                    ],
                ),
            ],
        );
        for kind in ["KubeControllerManagerConfig", "KubeSchedulerConfig"] {
            check(
                kind,
                &[
                    ("image: a:v1.37.0", &[]),
                    ("enabled: false\nresources: {limits: {disk: 1}}", &[]),
                    ("enabled: true\nresources: {limits: {disk: 1}}", &["!image", "!resources.limits.disk"]),
                ],
            );
        }
        check(
            "KubeFlannelCNIConfig",
            &[
                ("backendType: vxlan", &[]),
                ("resources: {limits: {a: 1}}", &["!backendType", "!resources.limits.a"]),
            ],
        );
    }

    #[test]
    fn kube_proxy_has_a_mode() {
        check(
            "KubeProxyConfig",
            &[
                ("image: a:v1.37.0\nmode: nftables", &[]),
                ("enabled: false\nmode: x", &[]),
                ("image: a:v1.37.0\nmode: ipvs\nextraArgs: {v: '1'}", &["?mode", "?extraArgs"]),
                ("mode: x", &["!image", "!mode"]),
            ],
        );
    }

    #[test]
    fn the_kubelet_keeps_what_talos_sets() {
        check(
            "KubeletConfig",
            &[
                ("image: a:v1.37.0\nconfig: {maxPods: 1}", &[]),
                ("config: {kind: a, staticPodPath: b}", &["!image", "!config.kind", "!config.staticPodPath"]),
            ],
        );
    }
}
