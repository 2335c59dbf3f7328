//! Real Talos, as `scripts/lab-parts` builds it, boots ichor's image and boot media into the predicted state.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::Value;

use super::built::ARGUMENTS;
use super::rack::{ADDRESS, Rack, extension, netboot};
use crate::common::ichor;
use ichor_testbed::parts;

/// Talos needs more memory than the simulator.
const MEMORY: [&str; 2] = ["-m", "3072"];

/// The resources of a kind on the node, as Talos' own client prints them.
fn resources(rack: &Rack, kind: &str) -> Vec<Value> {
    let talosctl = parts::path("talosctl-1.14/talosctl");
    let command = format!("{} --insecure --nodes {ADDRESS} get {kind} -o json", talosctl.display());
    let output = rack.run_on_leaf(&command);
    assert!(output.status.success(), "{command}: {output:?}");
    serde_json::Deserializer::from_slice(&output.stdout).into_iter().map(Result::unwrap).collect()
}

/// Boots a node from ichor's image of a real release and compares it with what `ichor media inspect` predicts.
fn boot_and_compare(part: &str, talos: &str) {
    let rack = Rack::for_release(talos);
    let folder = rack.folder();
    let base = folder.join("base");
    fs::create_dir(&base).unwrap();
    symlink(parts::path(&format!("{part}/vmlinuz")), base.join("vmlinuz-amd64")).unwrap();
    symlink(parts::path(&format!("{part}/initramfs.xz")), base.join("initramfs-amd64.xz")).unwrap();
    let words = format!(
        "image build --talos {talos} --platform nocloud --base base --extension {} --product netboot --name node -o image \
         --kernel-arg {} --kernel-arg talos.dashboard.disabled=1",
        extension().display(),
        ARGUMENTS.join(" --kernel-arg ")
    );
    let run = ichor(folder, &words);
    assert_eq!(run.code, 0, "{words}: {}", run.all());
    let image = |ending: &str| folder.join(format!("image/node{ending}"));
    let line = fs::read_to_string(image(".cmdline")).unwrap();
    let words = format!(
        "media inspect {} --talos {talos} --links eth0=52:54:00:12:00:01 --json",
        rack.volume().display()
    );
    let predicted = ichor(folder, &words).json();

    let mut guest = rack.boot(
        &[
            netboot(&image(".vmlinuz"), &image(".initramfs.xz"), line.trim()),
            MEMORY.map(str::to_owned).to_vec(),
        ]
        .concat(),
    );
    guest.leaf_routes();

    let hostname = &resources(&rack, "hostnamestatus")[0]["spec"]["hostname"];
    assert_eq!(*hostname, predicted["hostname"], "{}", guest.console());
    let addresses: Vec<(String, String)> = resources(&rack, "addresses")
        .iter()
        .map(|it| [&it["spec"]["linkName"], &it["spec"]["address"]].map(|it| it.as_str().unwrap().to_owned()))
        .map(|[link, address]| (link, address))
        .collect();
    let wanted = predicted["addresses"].as_array().unwrap();
    assert!(!wanted.is_empty(), "{predicted:#}");
    for address in wanted {
        let pair = ["interface", "address"].map(|key| address[key].as_str().unwrap().to_owned());
        assert!(addresses.contains(&pair.clone().into()), "{pair:?} in {addresses:?}\n{}", guest.console());
    }

    let ichor = format!("{} discover {ADDRESS}/32 --json", env!("CARGO_BIN_EXE_ichor"));
    let found = rack.run_on_leaf(&format!("cd {} && {ichor}", folder.display()));
    assert!(found.status.success(), "{found:?}");
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    let machine = found.as_array().map_or(&found["machines"][0], |machines| &machines[0]);
    assert_eq!(machine["state"], "maintenance", "{found:#}");
}

#[test]
fn real_talos_1_14_boots_into_the_predicted_state() {
    boot_and_compare("talos-1.14", "v1.14.1");
}

#[test]
fn real_talos_1_13_boots_into_the_predicted_state() {
    boot_and_compare("talos-1.13", "v1.13.9");
}
