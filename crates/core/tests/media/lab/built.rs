//! The volumes of an example as written by a build, read by other programs and by a Linux kernel.
#![expect(clippy::disallowed_methods, reason = "a kernel mounts folders and reads files")]

use std::fs;
use std::path::Path;

use super::tools::{assert_same, bench, run, run_text};
use crate::media::carrier::rendered::{Carried, of_case, of_text};
use crate::media::volumes::Case;
use ichor_testbed::{folder, vm};

/// The nodes of the Cilium example, and the contents of their volumes.
fn example() -> Vec<(Carried, Case)> {
    let nodes = of_case(&folder("../../../examples/cilium"), "v1.13.9");
    let with_case = |node: Carried| {
        let name = node.node.name.to_string();
        let meta_data = format!("instance-id: {name}\nlocal-hostname: {name}\n");
        let network = "version: 2\nethernets: {}\n".to_owned();
        let files = [("meta-data", meta_data), ("network-config", network), ("user-data", node.boot.clone())];
        let files = files.map(|(name, text)| (name.to_owned(), text.into_bytes())).into();
        (node, Case { label: "cidata", files })
    };
    nodes.into_iter().map(with_case).collect()
}

/// A generic machine that boots from an ISO or a USB image.
fn real() -> (Carried, Case) {
    let node = of_text(
        "cluster: {name: a, id: 1, talos: v1.13.9}\nboot: {from: metal-iso}\n\
         defaults: {platform: metal, install: {disk: /dev/sda}}\nnodes: [{name: a, role: controlplane, index: 1}]",
    );
    let files = vec![("config.yaml".to_owned(), node.boot.clone().into_bytes())];
    (node, Case { label: "metal-iso", files })
}

#[test]
fn every_iso_reader_finds_the_intended_contents() {
    for (node, case) in example().into_iter().chain([real()]) {
        let bench = bench(&node.bytes(&format!("{}.iso", case.label)));

        let facts = run_text("blkid", &["--probe", "--output", "export", bench.image()]);
        assert!(facts.contains(&format!("\nLABEL={}\n", case.label)), "{facts}");
        for (name, bytes) in &case.files {
            for names in ["-R", "-J"] {
                let (found, _) = run("isoinfo", &[names, "-i", bench.image(), "-x", &format!("/{name}")]);
                assert!(found == *bytes, "isoinfo {names} {name} of {}", node.node.name);
            }
        }
        let out = bench.out("xorriso");
        run("xorriso", &["-osirrox", "on", "-indev", bench.image(), "-extract", "/", out.to_str().unwrap()]);
        assert_same(&case, &out, "xorriso");
        let out = bench.out("7z");
        run("7z", &["x", "-tiso", &format!("-o{}", out.display()), bench.image()]);
        assert_same(&case, &out, "7z");
    }
}

#[test]
fn every_fat_reader_finds_the_intended_contents() {
    let (node, case) = real();
    let bench = bench(&node.bytes("metal-iso.img"));
    let out = bench.out("mtools");

    run("fsck.fat", &["-n", bench.image()]);
    run("mcopy", &["-i", bench.image(), "::*", out.to_str().unwrap()]);
    let facts = run_text("blkid", &["--probe", "--output", "export", bench.image()]);

    assert_same(&case, &out, "mtools");
    assert!(facts.contains("\nLABEL=metal-iso\n"), "{facts}");
}

/// A folder for each kind of mount: the command, the volume and the expected contents.
fn lay_out(folder: &Path) {
    let (cds, (real, on_it)) = (example(), real());
    let mut volumes = Vec::new();
    for (node, case) in &cds {
        volumes.push((node.bytes("cidata.iso"), case, "iso9660 ro,loop"));
        volumes.push((node.bytes("cidata.iso"), case, "iso9660 ro,loop,norock"));
    }
    volumes.push((real.bytes("metal-iso.iso"), &on_it, "iso9660 ro,loop"));
    volumes.push((real.bytes("metal-iso.img"), &on_it, "vfat ro,loop"));
    for (nth, (image, case, way)) in volumes.into_iter().enumerate() {
        let folder = folder.join(nth.to_string());
        fs::create_dir_all(folder.join("meant")).unwrap();
        fs::write(folder.join("way"), way).unwrap();
        fs::write(folder.join("image"), image).unwrap();
        for (name, bytes) in &case.files {
            fs::write(folder.join("meant").join(name), bytes).unwrap();
        }
    }
}

#[test]
fn a_linux_kernel_shows_the_intended_contents() {
    vm::run_in_vm_with(lay_out, |folder| {
        for volume in fs::read_dir(folder).unwrap().map(|volume| volume.unwrap().path()) {
            let at = |name: &str| volume.join(name).to_str().unwrap().to_owned();
            let way = fs::read_to_string(at("way")).unwrap();
            let (kind, options) = way.split_once(' ').unwrap();

            run("mount", &["-t", kind, "-o", options, &at("image"), "/mnt"]);
            run("diff", &["-r", &at("meant"), "/mnt"]);
            run("umount", &["/mnt"]);
        }
    });
}
