//! Disks that others made: sgdisk, mkfs.fat, genisoimage, xorriso and qemu-img.

use std::fs;
use std::path::Path;
use std::process::Command;

use ichor_image::inspect::{BootMedia, BootOutcome, Inspection};
use ichor_image::oci::MemoryStore;
use tempfile::TempDir;

use crate::inspect::disk;
use crate::inspect::images::{WORKER, of_image};

const NETWORK: &str =
    "version: 2\nethernets: {eth0: {match: {macaddress: '52:54:00:00:01:0b'}, addresses: [10.0.0.11/24]}}\n";

fn run(folder: &Path, line: &str) {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap();
    let output = Command::new(program).args(words).current_dir(folder).env("LC_ALL", "C").output();
    let output = output
        .unwrap_or_else(|error| panic!("{program}: {error}; install it with scripts/tools iso fat disk"));
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A folder with the files of a volume in `files`.
fn bench() -> TempDir {
    let bench = TempDir::new().unwrap();
    let files = bench.path().join("files");
    fs::create_dir(&files).unwrap();
    for (name, text) in
        [("user-data", WORKER), ("meta-data", "local-hostname: solcp01\n"), ("network-config", NETWORK)]
    {
        fs::write(files.join(name), text).unwrap();
    }
    bench
}

fn read(bench: &TempDir, name: &str) -> Inspection {
    of_image(&fs::read(bench.path().join(name)).unwrap())
}

fn assert_boots(found: &Inspection, what: &str) {
    let addresses: Vec<_> = found.addressing.iter().map(|found| found.address.as_str()).collect();
    assert_eq!((found.outcome(), found.platform.as_str()), (BootOutcome::Boots, "nocloud"), "{what}");
    assert_eq!(
        (found.hostname().as_deref(), addresses),
        (Some("solcp01"), vec!["10.0.0.11/24", "dhcp4"]),
        "{what}"
    );
    assert!(found.mistakes.is_empty(), "{what}: {:?}", found.mistakes);
}

#[test]
fn isos_and_usb_images_of_other_tools_boot() {
    for make in [
        "genisoimage -quiet -joliet -rock -volid cidata -output image files",
        "genisoimage -quiet -joliet -volid CIDATA -output image files",
        "genisoimage -quiet -rock -volid cidata -output image files",
        "xorriso -as mkisofs -quiet -joliet -rock -volid cidata -output image files",
    ] {
        let bench = bench();
        run(bench.path(), make);
        assert_boots(&read(&bench, "image"), make);
    }
    for bits in ["12", "16", "32"] {
        let bench = bench();
        run(bench.path(), &format!("mkfs.fat -F {bits} -n CIDATA -C image 40000"));
        run(bench.path(), "mcopy -i image files/user-data files/meta-data files/network-config ::");
        assert_boots(&read(&bench, "image"), bits);
    }
}

#[test]
fn an_iso_without_long_names_is_reported() {
    for make in [
        "genisoimage -quiet -volid cidata -output image files",
        "genisoimage -quiet -iso-level 3 -volid cidata -output image files",
    ] {
        let bench = bench();
        run(bench.path(), make);
        let found = read(&bench, "image");

        let rules: Vec<_> = found.mistakes.iter().map(|mistake| mistake.rule.id).collect();
        assert_eq!((rules, found.outcome()), (vec!["media-names"], BootOutcome::Maintenance), "{make}");
    }
}

#[test]
fn truncated_isos_and_usb_images_are_rejected() {
    for make in [
        "genisoimage -quiet -no-pad -joliet -rock -volid cidata -output image files",
        "xorriso -as mkisofs -quiet -no-pad -joliet -rock -volid cidata -output image files",
        "mkfs.fat -n CIDATA -C image 1440",
    ] {
        let bench = bench();
        run(bench.path(), make);
        let image = fs::read(bench.path().join("image")).unwrap();

        assert!(BootMedia::of_image(&image, &mut MemoryStore::default()).is_ok(), "{make}");
        let error = BootMedia::of_image(&image[..image.len() - 2048].to_vec(), &mut MemoryStore::default())
            .err()
            .unwrap();
        assert!(error.to_string().contains("the image is truncated"), "{make}: {error}");
    }
}

/// A disk with a GPT of sgdisk: a stick inside of its second partition.
fn partitioned(bench: &TempDir) {
    run(bench.path(), "mkfs.fat -F 16 -n CIDATA -C stick 20000");
    run(bench.path(), "mcopy -i stick files/user-data files/meta-data files/network-config ::");
    run(bench.path(), "truncate -s 64M disk");
    run(
        bench.path(),
        "sgdisk --new=1:2048:+1M --change-name=1:BIOS --new=2:8192:+20000K --change-name=2:seed disk",
    );
    run(bench.path(), "dd if=stick of=disk bs=512 seek=8192 conv=notrunc status=none");
}

#[test]
fn disks_with_partitions_boot_in_every_form() {
    let bench = bench();
    partitioned(&bench);
    assert_boots(&read(&bench, "disk"), "raw");
    for options in [
        "",
        "-c",
        "-c -o compression_type=zstd",
        "-o compat=0.10",
        "-o cluster_size=512",
        "-c -o cluster_size=2M",
        "-o preallocation=metadata",
    ] {
        run(bench.path(), &format!("qemu-img convert -O qcow2 {options} disk image"));
        assert_boots(&read(&bench, "image"), options);
    }
}

#[test]
fn qcow2_images_with_a_backing_file_are_rejected() {
    let bench = bench();
    partitioned(&bench);
    run(bench.path(), "qemu-img convert -O qcow2 disk base");
    run(bench.path(), "qemu-img create -q -f qcow2 -b base -F qcow2 top");
    run(bench.path(), "qemu-img create -q -f qcow2 -o extended_l2=on wide 1M");

    for (name, said) in [("top", "backing file"), ("wide", "features")] {
        let image = fs::read(bench.path().join(name)).unwrap();
        let error = BootMedia::of_image(&image, &mut MemoryStore::default()).err().unwrap().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_hybrid_iso_has_its_command_line() {
    let bench = bench();
    let kernels = bench.path().join("efi/EFI/Linux");
    fs::create_dir_all(&kernels).unwrap();
    fs::write(kernels.join("Talos-v1.13.9.efi"), disk::uki("talos.platform=metal talos.config=none"))
        .unwrap();
    fs::create_dir_all(bench.path().join("tree/boot/grub")).unwrap();
    let menu = "menuentry \"Talos ISO\" {\n\tlinux /boot/vmlinuz talos.platform=metal talos.config=none\n}\n";
    run(bench.path(), "mkfs.fat -F 32 -n EFI -C efiboot.img 40000");
    run(bench.path(), "mcopy -s -i efiboot.img efi/EFI ::");
    let make = "xorriso -as mkisofs -quiet -volid TALOS_V1_13_9 -e --interval:appended_partition_2:all:: -no-emul-boot \
                -append_partition 2 0xef efiboot.img -appended_part_as_gpt -partition_offset 16 -iso-level 3 -output image tree";
    run(bench.path(), make);

    let by_kernel = read(&bench, "image");
    fs::write(bench.path().join("tree/boot/grub/grub.cfg"), menu).unwrap();
    run(bench.path(), make);
    let by_both = read(&bench, "image");

    for found in [&by_kernel, &by_both] {
        assert_eq!(
            (found.platform.as_str(), found.outcome()),
            ("metal", BootOutcome::Maintenance),
            "{:?}",
            found.found
        );
    }
    assert!(
        by_both.found.iter().any(|found| found.taken_for == "the same command line"),
        "{:?}",
        by_both.found
    );
}
