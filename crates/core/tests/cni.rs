//! Pod networks, API addresses, overlays and manifests: from the cluster file to configurations, on every release.

use std::collections::BTreeMap;

use ichor_core::cluster::{self, FileError, load};
use ichor_core::plan::NodePlan;
use ichor_core::plan::attachment::Attachments;
use ichor_core::render::chart::ChartRequest;
use ichor_core::render::tree::Renderer;
use ichor_core::rules::{self, RuleContext};
use ichor_talos::document;
use ichor_testbed::machine::RenderFixture;
use ichor_values::Issue;
use ichor_values::go_yaml::emit::emit_all;
use serde_json::Value;

const RELEASES: [&str; 4] = ["v1.11.5", "v1.12.4", "v1.13.9", "v1.14.1"];

/// Files by their names.
struct Files(BTreeMap<&'static str, String>);

impl cluster::Files for Files {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, FileError> {
        self.0.get(path).map(|text| text.clone().into_bytes()).ok_or_else(|| FileError::new("not here"))
    }

    fn find(&mut self, pattern: &str) -> Result<Vec<String>, FileError> {
        let (start, end) = pattern.split_once('*').ok_or_else(|| FileError::new("no pattern"))?;
        let fits = |path: &&&str| path.starts_with(start) && path.ends_with(end);
        Ok(self.0.keys().filter(fits).map(|path| (*path).to_owned()).collect())
    }
}

/// A cluster of a control plane and a worker: `cluster` is added to its `cluster` section, `more` below it.
fn files(release: &str, cluster: &str, more: &str, beside: &[(&'static str, &str)]) -> Files {
    let text = format!(
        "cluster: {{name: sol, id: 101, talos: {release}, services: [172.20.0.0/16], {cluster}}}\n\
         network: {{node: {{v4: 10.101.0.0/24, v6: null}}}}\n\
         defaults: {{install: {{disk: /dev/sda}}}}\n{more}\n\
         nodes:\n  - {{name: solcp01, role: controlplane, index: 11}}\n  - {{name: solwk01, role: worker, index: 21}}\n"
    );
    let mut files: BTreeMap<_, _> = beside.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
    files.insert("ichor.yaml", text);
    Files(files)
}

/// The configurations of the two nodes, before and after the installation, or the problems.
fn configured(
    mut files: Files,
    cilium: Result<&'static str, &'static str>,
) -> Result<[(String, String); 2], String> {
    let (cluster, plan) = ichor_testbed::planned(load("ichor.yaml", &mut files));
    let beside = RenderFixture { cilium, ..RenderFixture::new(&cluster, &mut files) };
    let made = beside.with((&cluster, &plan), |inputs| {
        let renderer = Renderer::new(inputs)?;
        let both = |node: &NodePlan| -> Result<_, Vec<Issue>> {
            let (boot, machine) = (renderer.boot(node)?, renderer.machine(node)?);
            assert!(machine.warnings.is_empty(), "{:?}", machine.warnings);
            Ok((emit_all(&boot.documents), emit_all(&machine.documents)))
        };
        Ok([both(&plan.nodes[0])?, both(&plan.nodes[1])?])
    });
    made.map_err(|issues: Vec<Issue>| issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// The complete configurations of both nodes, on every release.
fn everywhere(
    cluster: &str,
    more: &str,
    beside: &[(&'static str, &str)],
) -> Vec<(&'static str, [String; 2])> {
    let one = |release| {
        let made = configured(files(release, cluster, more, beside), Ok(ichor_testbed::CILIUM));
        let [plane, worker] = made.unwrap_or_else(|errors| panic!("{release}: {errors}"));
        (release, [plane.1, worker.1])
    };
    RELEASES.map(one).into()
}

/// The manifests in a configuration, by name.
fn manifests(machine: &str) -> BTreeMap<String, String> {
    let documents = document::read(machine).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let own = documents.iter().filter(|it| document::kind(it) == Some("KubeInlineManifestConfig"));
    let own = own.map(|it| (text(&it["name"]), text(&it["manifest"])));
    let legacy = documents.iter().flat_map(|it| document::items(it, "/cluster/inlineManifests"));
    own.chain(legacy.map(|(_, it)| (text(&it["name"]), text(&it["contents"])))).collect()
}

/// The pod network that Talos installs.
fn brought(machine: &str) -> &'static str {
    let documents = document::read(machine).unwrap();
    let legacy = documents.iter().find_map(|it| document::value_at(it, "/cluster/network/cni/name"));
    let own = documents.iter().any(|it| document::kind(it) == Some("KubeFlannelCNIConfig"));
    match legacy.and_then(Value::as_str) {
        Some("none") => "none",
        Some("flannel") => "flannel",
        None if own => "flannel",
        // Up to 1.13 Talos installs flannel by default.
        None if documents.iter().any(|it| document::kind(it) == Some("KubeNetworkConfig")) => "none",
        _ => "flannel",
    }
}

#[test]
fn flannel_has_its_link_and_arguments() {
    for (release, [plane, _]) in everywhere("flannel: {interface: eth0, args: [--ip-masq]}", "", &[]) {
        let (_, args) = plane.split_once("extraArgs:").unwrap_or_else(|| panic!("{release}: {plane}"));
        let args: Vec<_> = args.lines().skip(1).take(2).map(str::trim).collect();
        assert_eq!(args, ["- --iface=eth0", "- --ip-masq"], "{release}");
        assert_eq!(brought(&plane), "flannel", "{release}");
        assert!(manifests(&plane).is_empty(), "{release}");
    }
}

#[test]
fn cni_none_disables_talos_pod_network() {
    for (release, [plane, worker]) in everywhere("cni: none", "", &[]) {
        assert_eq!(brought(&plane), "none", "{release}: {plane}");
        assert!(manifests(&plane).is_empty() && manifests(&worker).is_empty(), "{release}");
        assert!(!off(&plane), "{release}: kube-proxy is present unless it is switched off");
    }
}

#[test]
fn a_custom_pod_network_is_in_the_control_planes_first_configuration() {
    let own = "apiVersion: v1\nkind: Namespace\nmetadata: {name: own}\n";
    for (release, [plane, worker]) in
        everywhere("cni: {manifest: net/own.yaml}", "", &[("net/own.yaml", own)])
    {
        assert_eq!(brought(&plane), "none", "{release}");
        assert_eq!(manifests(&plane), BTreeMap::from([("own".to_owned(), own.to_owned())]), "{release}");
        assert!(manifests(&worker).is_empty(), "{release}");
    }
}

/// Whether kube-proxy is off.
fn off(machine: &str) -> bool {
    let documents = document::read(machine).unwrap();
    documents.iter().any(|it| {
        document::value_at(it, "/cluster/proxy/disabled") == Some(&Value::Bool(true))
            || (document::kind(it) == Some("KubeProxyConfig") && it["enabled"] == Value::Bool(false))
    })
}

#[test]
fn the_rendered_cilium_chart_is_in_the_control_planes_and_replaces_kube_proxy() {
    for (release, [plane, worker]) in everywhere("cni: cilium", "", &[]) {
        assert_eq!(brought(&plane), "none", "{release}");
        assert_eq!(
            manifests(&plane),
            BTreeMap::from([("cilium".to_owned(), ichor_testbed::CILIUM.to_owned())])
        );
        assert!(manifests(&worker).is_empty(), "{release}");
        assert!(off(&plane), "{release}: {plane}");
    }
}

#[test]
fn the_speaker_has_its_bgp_configuration_from_the_start() {
    let routing = "image: {registry: ghcr.io/me}\n\
                   routing: {backend: frr, neighbors: [{link: eth0}], workload: {speaker: cilium}}";
    for (release, [plane, worker]) in everywhere("cni: cilium", routing, &[]) {
        let made = manifests(&plane);
        assert_eq!(made.keys().collect::<Vec<_>>(), ["cilium", "cilium-bgp"], "{release}");
        let objects = document::read(&made["cilium-bgp"]).unwrap();
        let kinds: Vec<_> = objects.iter().filter_map(document::kind).collect();
        assert_eq!(
            kinds,
            ["CiliumBGPClusterConfig", "CiliumBGPPeerConfig", "CiliumBGPAdvertisement"],
            "{release}"
        );
        assert!(manifests(&worker).is_empty(), "{release}");
    }
    for (release, [plane, _]) in everywhere("cni: none", routing, &[]) {
        assert!(manifests(&plane).is_empty(), "{release}: who brings Cilium brings that, too");
    }
}

#[test]
fn a_cilium_manifest_replaces_the_chart() {
    let beside = [("rendered.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: cilium}\n")];
    for (release, [plane, _]) in everywhere("cni: cilium, cilium: {manifest: rendered.yaml}", "", &beside) {
        assert_eq!(manifests(&plane).into_keys().collect::<Vec<_>>(), ["rendered"], "{release}");
    }
}

#[test]
fn the_manifest_of_an_unused_pod_network_is_omitted() {
    let beside = [("rendered.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: cilium}\n")];
    for (release, [plane, _]) in everywhere("cilium: {manifest: rendered.yaml}", "", &beside) {
        assert!(manifests(&plane).is_empty(), "{release}");
        assert_eq!(brought(&plane), "flannel", "{release}");
    }
}

#[test]
fn a_missing_cilium_chart_is_reported_once_for_the_cluster() {
    let made = configured(files(RELEASES[2], "cni: cilium", "", &[]), Err("helm is on holiday"));

    assert_eq!(made.unwrap_err(), "cluster.cni: helm is on holiday");
}

#[test]
fn kube_vip_is_in_the_control_planes_first_configuration() {
    for (release, [plane, worker]) in
        everywhere("kube_vip: {address: 10.101.0.10, interface: eth0}, kubeprism: 7446", "", &[])
    {
        let made = manifests(&plane);
        let objects = document::read(&made["kube-vip"]).unwrap();
        let set = objects.iter().find(|it| document::kind(it) == Some("DaemonSet")).unwrap();
        let env = set.pointer("/spec/template/spec/containers/0/env").and_then(Value::as_array).unwrap();
        let env: BTreeMap<_, _> =
            env.iter().filter_map(|it| Some((it["name"].as_str()?, it["value"].as_str()?))).collect();
        assert_eq!((env["address"], env["vip_interface"]), ("10.101.0.10", "eth0"), "{release}");
        assert_eq!((env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"]), ("localhost", "7446"));
        assert!(manifests(&worker).is_empty(), "{release}");
        // Talos itself does not hold the address.
        assert!(!plane.contains("Layer2VIPConfig") && !plane.contains("vip:\n"), "{release}: {plane}");
        assert!(plane.contains("https://10.101.0.10:6443"), "{release}");
    }
}

#[test]
fn talos_own_vip_needs_no_kube_vip() {
    for (release, [plane, worker]) in
        everywhere("kubeprism: 7445", "roles: {controlplane: {network: {api: {vip: 10.101.0.10}}}}", &[])
    {
        assert!(plane.contains("Layer2VIPConfig") || plane.contains("vip:\n"), "{release}: {plane}");
        assert!(!worker.contains("Layer2VIPConfig") && !worker.contains("vip:\n"), "{release}");
        assert!(manifests(&plane).is_empty(), "{release}");
    }
}

#[test]
fn patterns_include_every_matching_manifest() {
    let object = |name: &str| format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n");
    let (a, b, c) = (object("a"), object("b"), object("c"));
    let beside =
        [("extra/a.yaml", a.as_str()), ("extra/b.yaml", &b), ("one.yml", &c), ("extra/notes.txt", "no")];
    for (release, [plane, worker]) in everywhere("manifests: [extra/*.yaml, one.yml]", "", &beside) {
        let made = manifests(&plane);
        assert_eq!(made.keys().collect::<Vec<_>>(), ["a", "b", "one"], "{release}");
        assert_eq!(made["one"], c, "{release}");
        assert!(manifests(&worker).is_empty(), "{release}");
    }
}

#[test]
fn only_the_complete_configuration_has_the_overlay_key() {
    let overlay = "overlay: {tailscale: {server: https://headscale.sol.example, key: {env: TS_KEY}, tags: [tag:edge], \
                   routes: [10.20.0.0/24]}}";
    for release in RELEASES {
        for (boot, machine) in configured(files(release, "kubeprism: 7445", overlay, &[]), Ok("")).unwrap() {
            let (_, service) = machine.split_once("kind: ExtensionServiceConfig\nname: tailscale\n").unwrap();
            for wanted in [
                "- TS_AUTHKEY=a-secret-of-the-file\n",
                "- TS_EXTRA_ARGS=--login-server=https://headscale.sol.example\n",
                "- TS_ROUTES=10.20.0.0/24\n",
                "- TS_AUTH_ONCE=true\n",
            ] {
                assert!(service.contains(wanted), "{release}: {wanted}: {service}");
            }
            assert!(
                !boot.contains("a-secret-of-the-file") && !boot.contains("tailscale"),
                "{release}: {boot}"
            );
        }
    }
}

#[test]
fn machines_request_tags_only_from_tailscale() {
    for (server, requested) in [("", true), ("server: https://headscale.sol.example, ", false)] {
        let overlay = format!("overlay: {{tailscale: {{{server}key: {{env: TS_KEY}}, tags: [tag:edge]}}}}");
        for (release, nodes) in everywhere("kubeprism: 7445", &overlay, &[]) {
            for machine in nodes {
                assert_eq!(machine.contains("--advertise-tags=tag:edge"), requested, "{release}: {machine}");
            }
        }
    }
}

#[test]
fn an_oauth_secret_is_in_no_configuration() {
    let overlay = "overlay: {tailscale: {key: {env: TS_KEY}, mint: true, key_life: 1h}}";
    for (release, nodes) in everywhere("kubeprism: 7445", overlay, &[]) {
        for machine in nodes {
            assert!(machine.contains("name: tailscale\n"), "{release}");
            assert!(
                !machine.contains("TS_AUTHKEY") && !machine.contains("a-secret-of-the-file"),
                "{release}"
            );
        }
    }
}

/// The arguments for helm, and the values that Talos needs.
fn order(cluster: &str, more: &str) -> (String, Value) {
    let mut files = files("v1.13.9", cluster, more, &[("values.yaml", "hubble: {relay: {enabled: true}}\n")]);
    let (cluster, plan) = ichor_testbed::planned(load("ichor.yaml", &mut files));
    let attachments = Attachments::gather(&cluster, "ichor.yaml", &mut files);
    let order = ChartRequest::from_plan(&plan, &attachments).unwrap();
    (order.arguments().join(" "), document::read(&order.values()[0]).unwrap().remove(0))
}

#[test]
fn the_cilium_chart_has_the_values_that_talos_needs() {
    let (words, values) = order("cni: cilium, kubernetes: v1.34.1", "");

    assert_eq!(
        words,
        "template cilium cilium --repo https://helm.cilium.io/ --version 1.20.1 --namespace kube-system --kube-version v1.34.1"
    );
    let wanted = document::read(
        "{ipam: {mode: kubernetes}, ipv4: {enabled: true}, ipv6: {enabled: false}, kubeProxyReplacement: true,
          k8sServiceHost: localhost, k8sServicePort: 7445,
          cgroup: {autoMount: {enabled: false}, hostRoot: /sys/fs/cgroup},
          securityContext: {capabilities: {
            ciliumAgent: [CHOWN, KILL, NET_ADMIN, NET_RAW, IPC_LOCK, SYS_ADMIN, SYS_RESOURCE, DAC_OVERRIDE, FOWNER, SETGID, SETUID],
            cleanCiliumState: [NET_ADMIN, SYS_ADMIN, SYS_RESOURCE]}},
          hubble: {tls: {auto: {method: cronJob}}}}",
    );
    assert_eq!(values, wanted.unwrap()[0]);
}

#[test]
fn the_cilium_chart_has_the_values_of_the_cluster_file() {
    let (words, values) = order(
        "cni: cilium, kube_proxy: true, kubeprism: 7446, pods: [\"fd00:101:244::/56\"],
         cilium: {chart: \"oci://registry.sol.example/charts/cilium\", version: 1.18.13}",
        "routing: {backend: frr, neighbors: [{link: eth0}], workload: {speaker: cilium}}",
    );

    assert!(
        words.starts_with("template cilium oci://registry.sol.example/charts/cilium --version 1.18.13 "),
        "{words}"
    );
    assert!(!words.contains("--repo"), "{words}");
    assert_eq!(values["kubeProxyReplacement"], Value::Bool(false));
    assert_eq!(values["k8sServicePort"], 7446);
    assert_eq!(
        (&values["ipv4"]["enabled"], &values["ipv6"]["enabled"]),
        (&Value::Bool(false), &Value::Bool(true))
    );
    assert_eq!(values["bgpControlPlane"]["enabled"], Value::Bool(true));
}

/// The findings about Cilium's values.
fn values_findings(cluster: &str, more: &str, values: &str) -> Vec<String> {
    let mut files = files("v1.13.9", cluster, more, &[("values.yaml", values)]);
    let (cluster, plan) = ichor_testbed::planned(load("ichor.yaml", &mut files));
    let attachments = Attachments::gather(&cluster, "ichor.yaml", &mut files);
    let findings = rules::check(&RuleContext { cluster: &cluster, plan: &plan, attachments: &attachments });
    let about =
        findings.into_iter().filter(|it| it.rule.id.starts_with('c') && it.issue.subject.contains("cilium"));
    about.map(|it| format!("{} {}: {}", it.rule.id, it.issue.subject, it.issue.message)).collect()
}

#[test]
fn values_that_contradict_talos_are_reported_with_the_reason() {
    let found = values_findings(
        "cni: cilium, cilium: {values: values.yaml}",
        "routing: {backend: frr, neighbors: [{link: eth0}], workload: {speaker: cilium}}",
        "{kubeProxyReplacement: \"false\", k8sServicePort: 6443, cgroup: {autoMount: true}, bgpControlPlane: {enabled: false},
          hubble: {tls: {auto: {method: helm}}}, ipam: {mode: kubernetes}}",
    );

    let about: Vec<_> = found.iter().map(|line| line.split('`').nth(1).unwrap()).collect();
    assert_eq!(
        about,
        [
            "kubeProxyReplacement: \"false\"",
            "k8sServicePort: 6443",
            "cgroup.autoMount",
            "hubble.tls.auto.method: \"helm\"",
            "bgpControlPlane.enabled: false",
        ],
        "{found:#?}"
    );
    assert!(found.iter().all(|line| line.starts_with("cilium-values cluster.cilium.values: values.yaml: ")));
}

#[test]
fn unused_values_are_not_checked() {
    let cluster = "cni: cilium, cilium: {values: values.yaml, manifest: values.yaml}";

    let found = values_findings(cluster, "", "{ipam: {mode: cluster-pool}, apiVersion: v1, kind: A}");

    let unused =
        "cni-settings-unused cluster.cilium.values: not used: `cluster.cilium.manifest` replaces the chart";
    assert_eq!(found, [unused]);
}
