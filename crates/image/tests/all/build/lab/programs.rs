//! Disk images of ours, read by sgdisk, qemu-img, GNU tar, mtools and objdump.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use ichor_image::build::disk::{BiosPartitions, CORE_SECTOR, disk, google};
use ichor_image::build::grub::GrubLoader;
use ichor_image::build::uki::{ResetProfile, uki};
use ichor_image::build::{BootAssets, Profile};
use ichor_image::media::uki::Uki;
use ichor_image::media::{Content, qcow2};
use tempfile::TempDir;

use super::boots::write_sparse;
use crate::build::samples::{parts, profile};
use ichor_testbed::firmware::{kernel, systemd};

pub fn run_tool(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).env("LC_ALL", "C").output();
    let output = output
        .unwrap_or_else(|error| panic!("{program}: {error}; install it with scripts/tools disk efi iso fat"));
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{text}", output.status);
    text
}

fn made(profile: &Profile) -> Content {
    let image = uki(profile, &parts(), &profile.line.to_string(), ResetProfile::Maintenance, 0).unwrap();
    let loader = GrubLoader::for_sector(CORE_SECTOR, vec![1; 512], vec![2; 40_000]).unwrap();
    let bios = BiosPartitions { loader, boot: Content::from(vec![5; 5000]) };
    disk(profile, &parts(), &image, Some(&bios)).unwrap()
}

/// A disk in a folder of its own, as `disk.raw`.
fn laid_out(profile: &Profile) -> (TempDir, Content) {
    let folder = tempfile::tempdir().unwrap();
    let disk = made(profile);
    write_sparse(&disk, &folder.path().join("disk.raw"));
    (folder, disk)
}

#[test]
fn sgdisk_finds_no_problems() {
    let (folder, _) = laid_out(&profile("metal"));

    let text = run_tool(folder.path(), "sgdisk", &["--verify", "disk.raw"]);
    let bios = run_tool(folder.path(), "sgdisk", &["--info=2", "disk.raw"]);
    let list = run_tool(folder.path(), "sgdisk", &["--print", "disk.raw"]);

    assert!(text.contains("No problems found"), "{text}");
    assert!(list.contains("D92D45B3-CDE9-8760-BE9F-A2A71FAC8D11"), "{list}");
    for line in ["(BIOS boot partition)", "Attribute flags: 0000000000000004", "Partition name: 'BIOS'"] {
        assert!(bios.contains(line), "{bios}");
    }
    assert!(list.trim_end().ends_with("8300  META"), "{list}");
}

#[test]
fn mtools_and_fsck_read_the_efi_partition() {
    let (folder, _) = laid_out(&profile("metal"));

    let listed = run_tool(folder.path(), "mdir", &["-/", "-b", "-i", "disk.raw@@1M", "::"]);
    // fsck needs a file of its own.
    run_tool(folder.path(), "dd", &["if=disk.raw", "of=efi", "bs=1M", "skip=1", "count=2101", "conv=sparse"]);
    let checked = run_tool(folder.path(), "fsck.fat", &["-n", "-v", "efi"]);

    for file in ["::/EFI/BOOT/BOOTX64.EFI", "::/EFI/Linux/Talos-v1.13.9.efi", "::/loader/loader.conf"] {
        assert!(listed.contains(file), "{listed}");
    }
    assert!(!checked.contains("differ") && !checked.contains("rong"), "{checked}");
}

#[test]
fn qemu_finds_the_same_disk_in_both_forms() {
    let (folder, disk) = laid_out(&profile("nocloud"));
    qcow2::write(&disk, &mut File::create(folder.path().join("disk.qcow2")).unwrap()).unwrap();

    let checked = run_tool(folder.path(), "qemu-img", &["check", "disk.qcow2"]);
    let compared = run_tool(folder.path(), "qemu-img", &["compare", "disk.raw", "disk.qcow2"]);

    assert!(checked.contains("No errors were found"), "{checked}");
    assert!(compared.contains("Images are identical"), "{compared}");
    assert!(fs::metadata(folder.path().join("disk.qcow2")).unwrap().len() < 4 << 20);
}

#[test]
fn tar_unpacks_the_same_disk() {
    let (folder, disk) = laid_out(&profile("gcp"));
    google(&disk, 0, &mut File::create(folder.path().join("disk.tar.gz")).unwrap()).unwrap();
    fs::create_dir(folder.path().join("out")).unwrap();

    let listed =
        run_tool(folder.path(), "tar", &["--list", "--verbose", "--numeric-owner", "-zf", "disk.tar.gz"]);
    run_tool(folder.path(), "tar", &["-xSzf", "disk.tar.gz", "-C", "out"]);
    let compared = run_tool(
        folder.path(),
        "qemu-img",
        &["compare", "-f", "raw", "-F", "raw", "disk.raw", "out/disk.raw"],
    );

    assert!(
        listed.starts_with("-rw-r--r-- 0/0") && listed.contains(&format!(" {} ", disk.len())),
        "{listed}"
    );
    assert!(compared.contains("Images are identical"), "{compared}");
}

#[test]
fn objdump_reads_a_kernel_image_of_systemds_stub() {
    let parts =
        BootAssets { kernel: kernel().into(), stub: Some(systemd("linuxx64.efi.stub").into()), ..parts() };
    let image = uki(&profile("metal"), &parts, "a=b", ResetProfile::Reset, 0).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("image.efi"), image.read().unwrap()).unwrap();

    let text = run_tool(folder.path(), "objdump", &["--section-headers", "image.efi"]);
    run_tool(folder.path(), "objcopy", &["--dump-section", ".linux=kernel", "image.efi", "copy.efi"]);

    let found: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
    let added = [".osrel", ".cmdline", ".uname", ".linux", ".initrd", ".profile", ".profile", ".cmdline"];
    let names: Vec<&str> = found.iter().copied().filter(|name| name.starts_with('.')).collect();
    assert!(names.ends_with(&added) && names.starts_with(&[".text"]), "{text}");
    assert!(fs::read(folder.path().join("kernel")).unwrap().starts_with(&kernel()));
    let version = Uki::find_in(&image).unwrap().unwrap().first(".uname").unwrap().read().unwrap();
    assert!(version.ends_with(b"-amd64"), "{version:?}");
}
