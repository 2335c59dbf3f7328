//! `ichor migrate`: its output and patches.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::{folder, ichor};
use tempfile::TempDir;

const SECRETS: &str = include_str!("../../talos/tests/data/clusters/single-v1.12/secrets.yaml");
const EXAMPLE: &str = include_str!("../../../examples/native/ichor.yaml");

/// The example with unencrypted secrets, and a registry for images with the extension.
fn cluster(text: &str) -> TempDir {
    let text = format!("{text}\nsecrets: secrets.yaml\nimage: {{registry: example.com/talos}}\n");
    let folder = folder(&[("ichor.yaml", &text), ("talosctl.yaml", SECRETS)]);
    let imported = ichor(folder.path(), "secrets import talosctl.yaml --plain -o secrets.yaml");
    assert_eq!(imported.code, 0, "{}", imported.all());
    folder
}

#[test]
fn steps_cover_all_nodes_and_patches_are_private() {
    let folder = cluster(EXAMPLE);

    let run = ichor(folder.path(), "migrate frr native -o patches");

    assert_eq!(run.code, 0, "{}", run.all());
    assert!(
        run.stdout.contains("ExtensionServiceConfig frr") && run.stdout.contains("for 30 s"),
        "{}",
        run.stdout
    );
    let path = folder.path().join("patches/rack/01-wk1.yaml");
    let patch = fs::read_to_string(&path).unwrap();
    assert!(patch.contains("$patch: delete") && patch.contains("kind: BGPInstanceConfig"), "{patch}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(folder.path().join("patches/rack/05-cp3.yaml").exists());
}

#[test]
fn the_way_back_upgrades_first_and_drains() {
    let folder = cluster(EXAMPLE);

    let run = ichor(folder.path(), "migrate native frr");
    let json = ichor(folder.path(), "migrate native frr --json");

    assert!(
        run.stdout.contains("upgrade before the patch to example.com/talos/installer:v1.14.1"),
        "{}",
        run.all()
    );
    assert!(run.stdout.contains("drain it first"), "{}", run.stdout);
    assert!(run.stdout.contains("leaf1, leaf2, cp1 and 3 more"), "{}", run.stdout);
    let steps: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(steps[0]["node"], "wk1");
    assert_eq!(steps[0]["added_documents"][0]["kind"].as_str().map(str::is_empty), Some(false));
    assert!(!json.stdout.contains("router bgp"), "what documents hold is in the patches alone");
}

#[test]
fn missing_features_of_the_new_backend_prevent_the_migration() {
    let folder = cluster(&EXAMPLE.replace("leaf2, role: leaf, asn: 65100", "leaf2, role: leaf, asn: 65101"));

    let run = ichor(folder.path(), "migrate frr native -o patches");
    let unmoved = ichor(folder.path(), "migrate gobgp bird");

    assert_eq!(run.code, 1, "{}", run.all());
    assert!(run.stdout.contains("native-transit"), "{}", run.all());
    assert!(!folder.path().join("patches").exists());
    assert_eq!(unmoved.code, 2);
    assert!(unmoved.stderr.contains("no node can move from gobgp to bird"), "{}", unmoved.stderr);
}

#[test]
fn a_common_obstacle_is_reported_once_with_all_nodes() {
    let folder =
        cluster(&EXAMPLE.replace("software: frr", "software: frr, password: {env: ICHOR_TEST_NO_SUCH}"));
    let text = std::fs::read_to_string(folder.path().join("ichor.yaml")).unwrap();
    let without = text
        .replace("image: {registry: example.com/talos}", "")
        .replace(", password: {env: ICHOR_TEST_NO_SUCH}", "");

    let password = ichor(folder.path(), "migrate frr bird");
    fs::write(folder.path().join("ichor.yaml"), without).unwrap();
    let image = ichor(folder.path(), "migrate native frr");

    assert_eq!((password.code, image.code), (1, 1), "{}{}", password.all(), image.all());
    assert_eq!(password.stdout.matches("nodes.wk1.routing.neighbors").count(), 1, "{}", password.stdout);
    assert!(password.stdout.contains("nodes.cp3.routing.neighbors"), "{}", password.stdout);
    assert!(image.stdout.contains("wk1, wk2, cp1, cp2, cp3: "), "{}", image.stdout);
    assert!(image.stdout.contains("`image.registry`"), "{}", image.stdout);
}
