//! Real Talos with the routing extension reaches its leaf over BGP before installation.

use std::fs;

use serde_json::Value;

use super::built::ARGUMENTS;
use super::rack::{ADDRESS, Rack, extension};
use super::release::{TALOS_1_13, TALOS_1_14, TalosRelease};
use super::vm::direct_boot;
use crate::common::ichor;

/// Boots a node from ichor's image and volume, and looks at it over BGP with `ichor`.
fn boots_and_routes(release: TalosRelease) {
    let rack = Rack::new(release);
    let folder = rack.folder();
    let files = release.files();
    let words = format!(
        "image build --talos {} --platform nocloud --base {} --extension {} --product netboot --name node -o image \
         --kernel-arg {}",
        release.version,
        files.path(".").display(),
        extension().display(),
        ARGUMENTS.join(" --kernel-arg ")
    );
    let run = ichor(folder, &words);
    assert_eq!(run.code, 0, "{words}: {}", run.all());
    let image = |ending: &str| folder.join(format!("image/node{ending}")).display().to_string();
    let line = fs::read_to_string(image(".cmdline")).unwrap();

    let vm = rack.boot(&direct_boot(&image(".vmlinuz"), &image(".initramfs.xz"), line.trim()));

    let hostname = &vm.resources(ADDRESS, "hostnamestatus")[0]["spec"]["hostname"];
    assert_eq!(*hostname, "n1", "{}", vm.console());
    let ichor = |words: &str| -> Value {
        let mut command = rack.leaf.enter_network();
        command.arg(env!("CARGO_BIN_EXE_ichor")).args(words.split(' ')).arg("--json");
        let output = command.current_dir(folder).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words}: {error}: {output:?}"))
    };
    let found = ichor(&format!("discover {ADDRESS}/32"));
    let machine = found.as_array().map_or(&found["machines"][0], |machines| &machines[0]);
    assert_eq!(machine["state"], "maintenance", "{found:#}");
    let status = ichor("status");
    assert_eq!(status["nodes"][0]["stage"], "maintenance", "{status:#}");
}

#[test]
fn talos_1_14_boots_and_reaches_its_leaf() {
    boots_and_routes(TALOS_1_14);
}

#[test]
fn talos_1_13_boots_and_reaches_its_leaf() {
    boots_and_routes(TALOS_1_13);
}
