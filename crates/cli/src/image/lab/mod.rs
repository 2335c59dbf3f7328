//! Images built with installed programs, booted in virtual machines. Needs `scripts/tools disk efi openssl`,
//! `scripts/lab-vm` and `scripts/lab-efi`.

use std::fs;
use std::path::Path;
use std::process::Command;

use ichor_image::build::disk::{BOOT_LENGTH, disk};
use ichor_image::build::uki::{ResetProfile, uki};
use ichor_image::build::{BootAssets, Profile, iso};
use ichor_image::media::uki::Uki;
use ichor_talos::kernel_args::Line;
use ichor_values::Arch;
use ichor_values::TalosVersion;

use super::{Signer, StagedFiles, bios, grub_cd};
use ichor_testbed::firmware::{BootDrive, Firmware, boot, parts};

fn profile() -> Profile {
    let mut line = Line::default();
    // GRUB must not interpret any of these.
    for argument in ["console=ttyS0", "quiet", "panic=-1", "no_timer_check", "ichor.test=${a}&{b};<c>|d"] {
        line.add(argument);
    }
    let talos = TalosVersion::parse("v1.13.9").unwrap();
    Profile { talos, arch: Arch::Amd64, platform: "metal".to_owned(), line, meta: Vec::new(), embedded: None }
}

fn run_program(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output
        .unwrap_or_else(|error| panic!("{program}: {error}; install it with scripts/tools disk openssl"));
    let text = ichor_testbed::lab::output_text(&output);
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{text}", output.status);
    text
}

#[test]
fn a_disk_for_both_boots_under_bios_and_under_uefi() {
    let (profile, parts) = (profile(), parts());
    let bios = bios::BiosTools::find().unwrap().make(&profile, &parts).unwrap();
    let image = uki(&profile, &parts, &profile.line.to_string(), ResetProfile::Maintenance, 0).unwrap();
    let disk = disk(&profile, &parts, &image, Some(&bios)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut staged = StagedFiles::new(folder.path());
    staged.write("disk.raw", false, &disk).unwrap();
    staged.write("boot", false, &bios.boot).unwrap();
    staged.commit().unwrap();

    run_program(folder.path(), "xfs_repair", &["-n", "-f", "boot"]);
    let path = folder.path().join("disk.raw");
    let under_bios = boot(Firmware::Bios, &path, BootDrive::Disk("raw"));
    let under_uefi = boot(Firmware::Uefi, &path, BootDrive::Disk("raw"));

    assert_eq!(bios.boot.len(), BOOT_LENGTH);
    assert_eq!(under_bios, format!("BOOT_IMAGE=/A/vmlinuz {}", profile.line));
    assert_eq!(under_uefi, profile.line.to_string());
    let data = disk.stretches().into_iter().filter(|one| !one.is_hole).map(|one| one.length).sum::<u64>();
    assert!(data < 2 * (image.len() + 10_000_000), "{data}");
}

#[test]
fn grub_for_a_cd_is_reproducible_and_boots_as_a_cd_and_as_a_usb_stick() {
    let make = || grub_cd::CdGrubBuilder::find().unwrap().make().unwrap();
    let grub = make();
    assert_eq!(grub.image, make().image);
    let (profile, parts) = (profile(), BootAssets { grub: Some(grub), ..parts() });
    let line = iso::line(&profile).to_string();
    let image = uki(&profile, &parts, &line, ResetProfile::Reset, 0).unwrap();

    let iso = iso::iso(&profile, &parts, &image).unwrap();

    let folder = tempfile::tempdir().unwrap();
    let mut staged = StagedFiles::new(folder.path());
    staged.write("ours.iso", false, &iso.content).unwrap();
    staged.commit().unwrap();
    for drive in [BootDrive::Cd, BootDrive::Stick] {
        let booted = boot(Firmware::Bios, &folder.path().join("ours.iso"), drive);
        assert_eq!(booted, format!("BOOT_IMAGE=/boot/vmlinuz {line}"), "{drive:?}");
    }
}

#[test]
fn signed_programs_are_verified_by_the_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=ichor", "-days", "1"];
    run_program(
        folder.path(),
        "openssl",
        &[&request[..], &["-keyout", "key.pem", "-out", "cert.pem"]].concat(),
    );
    let signer = Signer::find(&folder.path().join("key.pem"), &folder.path().join("cert.pem")).unwrap();
    let parts = parts();
    let image = uki(&profile(), &parts, "a=b", ResetProfile::Reset, 0).unwrap();

    for (name, unsigned) in [("loader.efi", parts.loader.as_ref().unwrap()), ("image.efi", &image)] {
        let signed = signer.sign(unsigned).unwrap();

        fs::write(folder.path().join(name), signed.read().unwrap()).unwrap();
        let output = run_program(folder.path(), "sbverify", &["--cert", "cert.pem", name]);
        assert!(output.contains("Signature verification OK"), "{output}");
        if let Some(found) = Uki::find_in(&signed).unwrap() {
            // An extracted stub has no signature.
            assert_eq!(found.stub().unwrap(), Uki::find_in(&image).unwrap().unwrap().stub().unwrap());
        }
    }
}

#[test]
fn the_error_of_an_invalid_key_has_the_output_of_sbsign() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["key.pem", "cert.pem"] {
        fs::write(folder.path().join(name), "none").unwrap();
    }
    let signer = Signer::find(&folder.path().join("key.pem"), &folder.path().join("cert.pem")).unwrap();

    let error = signer.sign(parts().loader.as_ref().unwrap()).unwrap_err().to_string();

    assert!(error.contains("sbsign failed: ") && error.contains("key.pem"), "{error}");
}
