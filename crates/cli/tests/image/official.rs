//! Extensions from registries: official ones from their catalogue, and the routing extension of a cluster.

use std::fs;

use ichor_image::oci::ImageLayout;

use super::*;
use crate::image::release::{extension_layout, layout};

/// The catalogue of a registry with some official extensions.
fn catalogue(registry: &Registry, names: &[&str]) -> ImageLayout {
    let line = |name: &&str| {
        let extension = extension_layout(name, &format!("etc/{name}"));
        registry.hold(&format!("siderolabs/{name}"), "20260101.0", &extension);
        format!("{}/siderolabs/{name}:20260101.0@{}\n", registry.host, extension.digest)
    };
    let lines: String = names.iter().map(line).collect();
    // The official catalogue exists for amd64 only.
    layout(Arch::Amd64, &[("image-digests", lines.into_bytes())])
}

#[test]
fn an_official_extension_is_resolved_by_the_catalogue_of_the_release() {
    let folder = desk();
    let registry = Registry::start(None);
    let catalogue = catalogue(&registry, &["gvisor", "zfs"]);
    registry.hold("siderolabs/extensions", TALOS, &catalogue);
    let place = format!("{}/siderolabs/extensions:{TALOS}", registry.host);
    let words = format!("--talos {TALOS} --base imager.tar --catalogue {place} --product netboot");

    let run = build(folder.path(), &format!("{words} --extension siderolabs/gvisor --json"));
    let unknown = build(folder.path(), &format!("{words} --extension siderolabs/gvizor -o unknown"));

    assert_eq!(run.code, 0, "{}", run.all());
    let extensions = run.json()["images"][0]["extensions"].clone();
    assert_eq!(extensions, serde_json::json!([{"name": "gvisor", "version": "1.2.3"}]));
    assert_eq!(unknown.code, 2, "{}", unknown.all());
    let message = "Talos v1.13.9 has no official extension siderolabs/gvizor; want one of siderolabs/gvisor, siderolabs/zfs";
    assert!(unknown.stderr.contains(message), "{}", unknown.stderr);
    assert!(!folder.path().join("unknown").exists());
}

#[test]
fn a_catalogue_may_be_a_file_and_its_digests_are_verified() {
    let folder = desk();
    let registry = Registry::start(None);
    let catalogue = catalogue(&registry, &["gvisor"]);
    let mut bytes = Vec::new();
    catalogue.archive(&mut bytes).unwrap();
    fs::write(folder.path().join("catalogue.tar"), bytes).unwrap();
    release::archive(&folder.path().join("empty.tar"), Arch::Amd64, &[("descriptions.yaml", Vec::new())]);
    let build = |catalogue: &str, out: &str| {
        let words = format!("--talos {TALOS} --base imager.tar --catalogue {catalogue} --product netboot");
        build(folder.path(), &format!("{words} --extension siderolabs/gvisor -o {out}"))
    };

    let run = build("catalogue.tar", "out");
    let empty = build("empty.tar", "empty");
    registry.spoil();
    let spoiled = build("catalogue.tar", "spoiled");

    assert_eq!(run.code, 0, "{}", run.all());
    assert_eq!(empty.code, 2, "{}", empty.all());
    assert!(empty.stderr.contains("missing file image-digests"), "{}", empty.stderr);
    assert_eq!(spoiled.code, 2, "{}", spoiled.all());
    assert!(spoiled.stderr.contains("cannot use the extension siderolabs/gvisor"), "{}", spoiled.stderr);
    assert!(!folder.path().join("spoiled").exists());
}

#[test]
fn the_routing_extension_is_pulled_from_the_clusters_registry() {
    let folder = desk();
    let registry = Registry::start(None);
    let example = include_str!("../../../../examples/bird/ichor.yaml");
    let cluster =
        example.replace("registry: ghcr.io/example/talos", &format!("registry: {}/talos", registry.host));
    assert_ne!(cluster, example);
    let cluster = cluster.replace("talos: v1.14.1", "talos: v1.13.9");
    fs::write(folder.path().join("ichor.yaml"), cluster).unwrap();

    let without = build(folder.path(), "--base imager.tar --product netboot");
    registry.hold("talos/bird", "latest", &extension_layout("bird", "etc/bird"));
    let run = build(folder.path(), "--base imager.tar --product netboot --json");

    assert_eq!(without.code, 2, "{}", without.all());
    assert!(
        without.stderr.contains("missing routing extension `bird`; build it with `ichor extension build`"),
        "{}",
        without.stderr
    );
    assert_eq!(run.code, 0, "{}", run.all());
    assert_eq!(run.json()["images"][0]["extensions"][0]["name"], "bird");
}
