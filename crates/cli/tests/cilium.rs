//! Cilium in configurations, rendered by a stand-in for helm and stored in a lock file.

mod long;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::{Run, folder, ichor, ichor_with};
use tempfile::TempDir;

const SECRETS: &str = include_str!("../../talos/tests/data/clusters/single-v1.12/secrets.yaml");

/// A stand-in for helm: rejects unexpected arguments and prints the values. Each call appends a line to `asked`.
const HELM: &str = r#"#!/bin/sh
set -eu
echo "$*" >> "${0%/*}/asked"
refuse() { echo "Error: $*" >&2; exit 1; }
[ "$1 $2 $3" = "template cilium cilium" ] || refuse "unknown command $1 $2 $3"
shift 3
files=
while [ $# -gt 0 ]; do
    case "$1 $2" in
        "--repo https://helm.cilium.io/" | "--namespace kube-system" | "--kube-version v1.34.1") ;;
        "--version 1.20.1" | "--version 1.20.2") ;;
        "--version "*) refuse "chart \"cilium\" version \"$2\" not found" ;;
        "--values "*) files="$files $2" ;;
        *) refuse "unknown flag: $1 $2" ;;
    esac
    shift 2
done
if grep -q 'method: helm' $files; then
    printf -- '---\napiVersion: v1\nkind: Secret\nmetadata: {name: cilium-ca}\ndata: {ca.key: aHVudGVyMg==}\n'
fi
printf -- '---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: cilium, namespace: kube-system}\n'
printf -- '---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\ndata:\n  values: |\n'
cat $files | sed 's/^/    /'
"#;

/// A cluster file with Cilium; `cluster` is added to its `cluster`.
fn text(cluster: &str) -> String {
    format!(
        "cluster: {{name: sol, id: 101, talos: v1.13.9, kubernetes: v1.34.1, services: [172.20.0.0/16], cni: cilium{cluster}}}\n\
         secrets: secrets.yaml\n\
         network: {{node: {{v6: null, gateway: {{v4: 10.101.0.1}}}}, loopback: null}}\n\
         defaults: {{platform: nocloud, install: {{disk: /dev/sda}}}}\n\
         nodes:\n  - {{name: solcp01, role: controlplane, index: 11}}\n  - {{name: solwk01, role: worker, index: 21}}\n"
    )
}

/// The cluster with its secrets, and helm in a separate folder.
fn cluster(cluster: &str, files: &[(&str, &str)]) -> TempDir {
    let text = text(cluster);
    let mut all = vec![
        ("ichor.yaml", text.as_str()),
        ("talosctl.yaml", SECRETS),
        ("bin/helm", HELM),
        ("empty/not", ""),
    ];
    all.extend(files);
    let folder = folder(&all);
    fs::set_permissions(folder.path().join("bin/helm"), fs::Permissions::from_mode(0o755)).unwrap();
    let imported = ichor(folder.path(), "secrets import talosctl.yaml --plain -o secrets.yaml");
    assert_eq!(imported.code, 0, "{}", imported.all());
    folder
}

/// Runs ichor with helm installed.
fn with_helm(folder: &TempDir, words: &str) -> Run {
    let path = format!("{}:/usr/bin:/bin", folder.path().join("bin").display());
    ichor_with(folder.path(), words, &[("PATH", &path)])
}

/// Runs ichor without any installed program.
fn without_helm(folder: &TempDir, words: &str) -> Run {
    let path = folder.path().join("empty").display().to_string();
    ichor_with(folder.path(), words, &[("PATH", &path)])
}

fn read(folder: &TempDir, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap_or_default()
}

/// Number of helm calls.
fn asked(folder: &TempDir) -> usize {
    read(folder, "bin/asked").lines().count()
}

const PLANE: &str = "build/sol/nodes/solcp01/machine.yaml";

#[test]
fn rendered_manifests_are_in_control_planes_and_the_lock_file() {
    let folder =
        cluster(", cilium: {values: values.yaml}", &[("values.yaml", "hubble: {relay: {enabled: true}}\n")]);

    let run = with_helm(&folder, "build");

    assert_eq!(run.code, 0, "{}", run.all());
    assert!(run.stderr.contains("cilium.sol.lock with Cilium as rendered by helm"), "{}", run.stderr);
    let (plane, lock) = (read(&folder, PLANE), read(&folder, "cilium.sol.lock"));
    for wanted in [
        "kind: DaemonSet",
        "k8sServiceHost: localhost",
        "k8sServicePort: 7445",
        "hubble: {relay: {enabled: true}}",
    ] {
        assert!(plane.contains(wanted) && lock.contains(wanted), "{wanted}: {plane}\n{lock}");
    }
    // The last value wins in helm: those of the user come after those that Talos needs.
    assert!(lock.find("k8sServiceHost") < lock.find("relay: {enabled: true}"), "{lock}");
    assert!(!read(&folder, "build/sol/nodes/solwk01/machine.yaml").contains("DaemonSet"));
    let judged = ichor(folder.path(), &format!("talos validate {PLANE} --mode cloud --talos v1.13.9"));
    assert_eq!(judged.code, 0, "{}", judged.all());
}

#[test]
fn helm_is_called_once_and_not_needed_afterwards() {
    let folder = cluster("", &[]);
    assert_eq!(with_helm(&folder, "build").code, 0);
    let first = read(&folder, PLANE);

    let again = without_helm(&folder, "build");
    let checked = without_helm(&folder, "build --check");
    fs::remove_dir_all(folder.path().join("build")).unwrap();
    let anew = without_helm(&folder, "build");

    assert!(again.stderr.contains("nothing to write"), "{}", again.all());
    for run in [&again, &checked, &anew] {
        assert_eq!(run.code, 0, "{}", run.all());
    }
    assert_eq!(read(&folder, PLANE), first);
    assert_eq!(asked(&folder), 1);
}

#[test]
fn another_release_or_other_values_are_rendered_again() {
    let folder = cluster(", cilium: {values: values.yaml}", &[("values.yaml", "debug: {enabled: false}\n")]);
    assert_eq!(with_helm(&folder, "build").code, 0);

    fs::write(folder.path().join("values.yaml"), "debug: {enabled: true}\n").unwrap();
    let checked = with_helm(&folder, "build --check");
    let kept = read(&folder, "cilium.sol.lock");
    let built = with_helm(&folder, "build");
    let values = read(&folder, PLANE);
    fs::write(folder.path().join("ichor.yaml"), text(", cilium: {version: 1.20.2, values: values.yaml}"))
        .unwrap();
    let release = with_helm(&folder, "build");

    assert_eq!(checked.code, 1, "{}", checked.all());
    assert!(
        checked.stdout.contains("cilium.sol.lock: differs from what helm renders now\n"),
        "{}",
        checked.stdout
    );
    assert!(kept.contains("enabled: false"), "a look writes nothing: {kept}");
    assert_eq!((built.code, release.code), (0, 0), "{}{}", built.all(), release.all());
    assert!(values.contains("debug: {enabled: true}"), "{values}");
    assert!(
        read(&folder, "cilium.sol.lock").contains("# chart: cilium 1.20.2 from https://helm.cilium.io/\n")
    );
    assert_eq!(asked(&folder), 4);
}

#[test]
fn missing_helm_without_a_lock_file_is_an_error_with_alternatives() {
    let folder = cluster("", &[]);

    let run = without_helm(&folder, "build");

    assert_eq!(run.code, 1, "{}", run.all());
    for wanted in [
        "cluster.cni: cannot render Cilium: helm is not installed, and the lock file cilium.sol.lock is missing",
        "install helm",
        "cluster.cilium.manifest",
    ] {
        assert!(run.stdout.contains(wanted), "{wanted}: {}", run.stdout);
    }
    assert!(!folder.path().join("build").exists() && !folder.path().join("cilium.sol.lock").exists());
}

#[test]
fn a_lock_file_of_other_values_does_not_replace_helm() {
    let folder = cluster("", &[]);
    assert_eq!(with_helm(&folder, "build").code, 0);
    fs::write(folder.path().join("ichor.yaml"), text(", kubeprism: 7446")).unwrap();

    let run = without_helm(&folder, "build");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stdout.contains("cilium.sol.lock was rendered for other values"), "{}", run.stdout);
}

#[test]
fn a_modified_lock_file_is_neither_used_nor_overwritten() {
    let folder = cluster("", &[]);
    assert_eq!(with_helm(&folder, "build").code, 0);
    let changed = read(&folder, "cilium.sol.lock").replace("kind: DaemonSet", "kind: Deployment");
    fs::write(folder.path().join("cilium.sol.lock"), &changed).unwrap();

    let run = with_helm(&folder, "build");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stdout.contains("cilium.sol.lock: changed by hand"), "{}", run.stdout);
    assert_eq!(read(&folder, "cilium.sol.lock"), changed);
}

#[test]
fn a_manifest_rendered_elsewhere_needs_no_helm() {
    let manifest = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: cilium}\n";
    let folder = cluster(", cilium: {manifest: cilium.yaml}", &[("cilium.yaml", manifest)]);

    let run = without_helm(&folder, "build");

    assert_eq!(run.code, 0, "{}", run.all());
    assert!(read(&folder, PLANE).contains("kind: DaemonSet"));
    assert!(!folder.path().join("cilium.sol.lock").exists());
}

#[test]
fn errors_of_helm_are_reported() {
    let folder = cluster(", cilium: {version: 9.9.9}", &[]);

    let run = with_helm(&folder, "build");

    assert_eq!(run.code, 1, "{}", run.all());
    let message = "cluster.cni: helm failed: Error: chart \"cilium\" version \"9.9.9\" not found\n";
    assert!(run.stdout.contains(message), "{}", run.stdout);
}

#[test]
fn keys_generated_by_a_chart_are_not_stored() {
    let silence = "silence: [{rule: cilium-values, at: cluster.cilium.values, why: \"to see\"}]\n";
    let folder = cluster(
        ", cilium: {values: values.yaml}",
        &[("values.yaml", "hubble:\n  tls:\n    auto:\n      method: helm\n")],
    );
    let found = with_helm(&folder, "build");
    fs::write(folder.path().join("ichor.yaml"), text(", cilium: {values: values.yaml}") + silence).unwrap();

    let run = with_helm(&folder, "build");

    assert_eq!((found.code, run.code), (1, 1), "{}{}", found.all(), run.all());
    assert!(found.stdout.contains("cilium-values"), "{}", found.stdout);
    assert!(run.stdout.contains("the Secret cilium-ca would be stored unencrypted"), "{}", run.stdout);
    assert!(!run.all().contains("aHVudGVyMg") && !folder.path().join("cilium.sol.lock").exists());
}

#[test]
fn show_prints_the_helm_command_line() {
    let folder = cluster(", cilium: {values: values.yaml}", &[("values.yaml", "debug: {enabled: true}\n")]);

    let shown = without_helm(&folder, "show cilium");
    let json = without_helm(&folder, "show cilium --json").json();

    let command = "# helm template cilium cilium --repo https://helm.cilium.io/ --version 1.20.1 --namespace kube-system \
                   --kube-version v1.34.1 --values THIS --values values.yaml\n";
    assert!(shown.stdout.starts_with(command), "{}", shown.stdout);
    assert!(shown.stdout.contains("kubeProxyReplacement: true\n"), "{}", shown.stdout);
    assert_eq!(json["helm_values"]["ipam"]["mode"], "kubernetes");
    assert_eq!(json["helm_arguments"][0], "template");
}

#[test]
fn show_reports_clusters_without_helm() {
    let folder = cluster(", cilium: {manifest: a.yaml}", &[("a.yaml", "apiVersion: v1\nkind: A\n")]);
    let other = crate::common::folder(&[("ichor.yaml", crate::common::GOOD)]);

    let manifest = without_helm(&folder, "show cilium");
    let flannel = ichor(other.path(), "show cilium");

    assert_eq!(manifest.stdout, "helm is not used: `cluster.cilium.manifest` is set\n");
    assert_eq!(flannel.stdout, "helm is not used: the pod network is flannel\n");
}
