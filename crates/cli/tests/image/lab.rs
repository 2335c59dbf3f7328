//! `ichor image build` with installed programs (depmod, sbsign, skopeo) and a full disk. Needs root,
//! `scripts/tools disk kmod oci openssl` and `scripts/lab-efi`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ichor_image::build::AssetCollector;
use ichor_image::build::initramfs::BaseInitramfs;
use ichor_image::media::Content;
use ichor_image::media::squashfs::Squashfs;

use super::*;

/// Runs a program in a folder, which must succeed, and returns its output.
fn run_program(folder: &Path, program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).current_dir(folder).stdin(Stdio::null()).output();
    let output = output
        .unwrap_or_else(|error| panic!("{program}: {error}; install it with scripts/tools disk oci openssl"));
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{program} {words:?}: {}\n{text}", output.status);
    text
}

fn content(path: PathBuf) -> Content {
    fs::read(path).unwrap().into()
}

/// A module list file in an initramfs.
fn list(initramfs: &Content, name: &str) -> String {
    let base = BaseInitramfs::read(initramfs, &mut |_, bytes| {
        let mut kept = Vec::new();
        bytes.read_to_end(&mut kept)?;
        Ok(Some(kept.into()))
    });
    let base = base.unwrap();
    let last = base.layers.last().unwrap();
    assert_eq!(
        (last.metadata.name.as_str(), last.metadata.version.as_str()),
        ("modules.dep", release::KERNEL)
    );
    let squashfs = Squashfs::open(&base.kept[&last.image]).unwrap();
    let path = format!("usr/lib/modules/{}/{name}", release::KERNEL);
    let file = squashfs.find(&path).unwrap().unwrap_or_else(|| panic!("there is no {path}"));
    String::from_utf8(squashfs.read(&file, 1 << 20).unwrap()).unwrap()
}

#[test]
fn modules_of_all_extensions_are_listed_by_depmod() {
    let folder = desk();
    for name in ["zfs", "drbd"] {
        release::modules(&folder.path().join(format!("{name}.tar")), Arch::Amd64, name, release::KERNEL);
    }
    let words = format!("--talos {TALOS} --base imager.tar --product netboot");

    let first = build(folder.path(), &format!("{words} --extension zfs.tar -o first --json"));
    let base =
        "--base first/talos-v1.13.9-metal-amd64.vmlinuz --base first/talos-v1.13.9-metal-amd64.initramfs.xz";
    let second = build(
        folder.path(),
        &format!(
            "--talos {TALOS} {base} --extension drbd.tar --extension frr.tar --product netboot -o second --json"
        ),
    );

    assert_eq!((first.code, second.code), (0, 0), "{}{}", first.all(), second.all());
    let initramfs =
        |out: &str| content(folder.path().join(out).join("talos-v1.13.9-metal-amd64.initramfs.xz"));
    assert_eq!(list(&initramfs("first"), "modules.dep"), "extras/zfs.ko:\n");
    assert_eq!(list(&initramfs("second"), "modules.dep"), "extras/drbd.ko:\nextras/zfs.ko:\n");
    let aliases = list(&initramfs("second"), "modules.alias");
    assert!(aliases.contains("alias pci:drbd* drbd") && aliases.contains("alias pci:zfs* zfs"), "{aliases}");
    let names = |run: &Run| -> Vec<String> {
        let extensions = run.json()["images"][0]["extensions"].clone();
        extensions.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&first), ["zfs", "modules.dep"]);
    // The list is generated again, and remains the last layer.
    assert_eq!(names(&second), ["zfs", "drbd", "frr", "modules.dep"]);
}

#[test]
fn signed_images_are_verified_by_the_certificate() {
    let folder = desk();
    let efi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lab/efi");
    for name in ["linuxx64.efi.stub", "systemd-bootx64.efi"] {
        let from = efi.join(name);
        fs::copy(&from, folder.path().join(name))
            .unwrap_or_else(|error| panic!("{}: {error}; make it with `scripts/lab-efi`", from.display()));
    }
    let request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=ichor", "-days", "1"];
    for name in ["db", "other"] {
        let (key, certificate) = (format!("{name}.key"), format!("{name}.pem"));
        run_program(
            folder.path(),
            "openssl",
            &[&request[..], &["-keyout", &key, "-out", &certificate]].concat(),
        );
    }

    let run = build(
        folder.path(),
        &format!(
            "--talos {TALOS} --base release --base linuxx64.efi.stub --base systemd-bootx64.efi --extension frr.tar --product uki,iso,installer \
             --key db.key --certificate db.pem"
        ),
    );

    assert_eq!(run.code, 0, "{}", run.all());
    assert!(run.stderr.contains("without a PCR signature"), "{}", run.stderr);
    let image = |ending: &str| folder.path().join(format!("images/talos-v1.13.9-metal-amd64{ending}"));
    let mut heap = AssetCollector::new(Arch::Amd64);
    heap.add("iso", &content(image(".iso"))).unwrap();
    let loader = heap.parts().unwrap().loader.unwrap().read().unwrap();
    fs::write(folder.path().join("loader.efi"), loader).unwrap();
    fs::copy(image(".efi"), folder.path().join("image.efi")).unwrap();
    for name in ["loader.efi", "image.efi"] {
        let output = run_program(folder.path(), "sbverify", &["--cert", "db.pem", name]);
        assert!(output.contains("Signature verification OK"), "{name}: {output}");
        let other =
            Command::new("sbverify").args(["--cert", "other.pem", name]).current_dir(folder.path()).output();
        assert!(!other.unwrap().status.success(), "{name}");
    }
    let half = build(folder.path(), &format!("--talos {TALOS} --base release --key db.key"));
    assert!(half.code == 2 && half.stderr.contains("--certificate"), "{}", half.all());
}

#[test]
fn skopeo_reads_the_installer_as_a_layout() {
    let folder = desk();
    let run = build(
        folder.path(),
        &format!("--talos {TALOS} --base imager.tar --extension frr.tar --product layout,installer"),
    );
    assert_eq!(run.code, 0, "{}", run.all());

    let stem = "images/talos-v1.13.9-metal-amd64-installer";
    let of_folder =
        run_program(folder.path(), "skopeo", &["inspect", "--raw", &format!("oci:{stem}:{TALOS}")]);
    let of_archive = run_program(
        folder.path(),
        "skopeo",
        &["inspect", "--raw", &format!("oci-archive:{stem}.tar:{TALOS}")],
    );
    run_program(folder.path(), "skopeo", &["copy", &format!("oci:{stem}:{TALOS}"), "dir:copied"]);

    assert_eq!(of_folder, of_archive);
}

/// Builds on a small file system with `out` on it, and prints the files afterwards.
fn build_on_small_disk(folder: &Path, options: &str, temporary: &str, words: &str) -> Run {
    fs::create_dir_all(folder.join("small")).unwrap();
    let line = format!(
        "mount -t tmpfs -o {options} tmpfs small && {{ TMPDIR={temporary} {} image build --installer-base installer-base.tar --cache cache {words}; code=$?; \
         find small -mindepth 1; exit $code; }}",
        env!("CARGO_BIN_EXE_ichor")
    );
    let output =
        Command::new("unshare").args(["--mount", "sh", "-c", &line]).current_dir(folder).output().unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_full_or_read_only_disk_is_reported_and_left_unchanged() {
    let folder = desk();
    let words =
        format!("--talos {TALOS} --base imager.tar --extension frr.tar --product iso,installer -o small/out");

    for (options, message) in [("size=256k", "No space left on device"), ("ro", "Read-only file system")] {
        let run = build_on_small_disk(folder.path(), options, "/tmp", &words);

        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{options}: {}", run.all());
        assert!(run.stderr.contains("cannot write small/out"), "{options}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{options}: {}", run.stderr);
    }
}

#[test]
fn a_full_temporary_folder_is_reported_with_a_remedy() {
    let folder = desk();
    let words = format!("--talos {TALOS} --base imager.tar --extension frr.tar --product netboot -o out");

    let run = build_on_small_disk(folder.path(), "size=8k", "small", &words);

    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.all());
    assert!(run.stderr.contains("small is full; set $TMPDIR to another folder"), "{}", run.stderr);
    assert!(!folder.path().join("out").exists());
}
