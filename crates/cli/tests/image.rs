//! `ichor image build` on the command line, with a miniature Talos release. Other tests boot the images with a real kernel.

mod first_run;
mod lab;
mod layout;
mod official;
pub mod release;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{Run, command, folder, ichor};
use crate::extension_build::registry::Registry;
use ichor_values::Arch;
use tempfile::TempDir;

const TALOS: &str = "v1.13.9";
const ALL: &str = "netboot,uki,iso,disk,qcow2,installer";
/// Number of files of all products; netboot has three.
const FILES: usize = 8;

/// A folder with a release, an extension and an installer base image.
fn desk() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    release::files(&at("release"), TALOS);
    fs::write(at("metal-amd64-uki.efi"), release::kernel_image(Arch::Amd64, TALOS)).unwrap();
    release::imager(&at("imager.tar"), TALOS);
    release::installer_base(&at("installer-base.tar"));
    release::extension(&at("frr.tar"), "frr", "etc/frr");
    folder
}

/// Builds from the folder with additional arguments.
fn build(folder: &Path, words: &str) -> Run {
    let words = format!("image build --installer-base installer-base.tar --cache cache {words}");
    ichor(folder, &words)
}

/// The files of a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
    let file =
        |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    entries.map(|entry| file(entry.unwrap())).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn products_are_built_reproducibly() {
    let folder = desk();
    let words =
        format!("--talos {TALOS} --platform nocloud --base imager.tar --extension frr.tar --product {ALL}");

    let first = build(folder.path(), &format!("{words} -o one"));
    let second = build(folder.path(), &format!("{words} -o two --json"));

    assert_eq!((first.code, second.code), (0, 0), "{}{}", first.all(), second.all());
    let stem = "talos-v1.13.9-nocloud-amd64";
    let endings = [".cmdline", ".efi", ".initramfs.xz", ".iso", ".qcow2", ".raw", ".vmlinuz"];
    let mut want: Vec<_> = endings.iter().map(|ending| format!("{stem}{ending}")).collect();
    want.push(format!("{stem}-installer.tar"));
    want.sort();
    assert_eq!(want.len(), FILES);
    assert_eq!(names(&folder.path().join("one")), want);
    // With GRUB and mkfs.xfs installed, a disk has timestamps of mkfs.xfs.
    let is_disk = |name: &str| [".raw", ".qcow2"].iter().any(|end| name.ends_with(end));
    for name in want.iter().filter(|name| !is_disk(name)) {
        let read = |run: &str| fs::read(folder.path().join(run).join(name)).unwrap();
        assert!(read("one") == read("two"), "{name}");
    }
    assert_eq!(
        first.stderr.contains("is not reproducible"),
        !first.stderr.contains("the disk boots only under UEFI")
    );
    let json = second.json();
    let image = &json["images"][0];
    assert_eq!(image["extensions"][0]["name"], "frr");
    assert_eq!(image["products"].as_array().unwrap().len(), 6);
    assert!(
        image["kernel_command_line"].as_str().unwrap().starts_with("talos.platform=nocloud console=tty1")
    );
}

#[test]
fn a_disk_for_uefi_only_is_reproducible() {
    let folder = desk();
    let arm64 = |name: &str, bytes: Vec<u8>| fs::write(folder.path().join(name), bytes).unwrap();
    arm64("uki.efi", release::kernel_image(Arch::Arm64, TALOS));
    arm64("loader.efi", release::program(Arch::Arm64, "systemd-boot"));
    let build = |out: &str| {
        let words =
            format!("--talos {TALOS} --arch arm64 --base uki.efi --base loader.efi --product qcow2 -o {out}");
        let run = build(folder.path(), &words);
        assert_eq!(run.code, 0, "{}", run.all());
        fs::read(folder.path().join(out).join("talos-v1.13.9-metal-arm64.qcow2")).unwrap()
    };

    assert!(build("one") == build("two"));
}

#[test]
fn built_images_are_readable_as_a_base() {
    let folder = desk();
    let words = format!(
        "--talos {TALOS} --base imager.tar --extension frr.tar --kernel-arg quiet --meta 0xc=x --product {ALL}"
    );
    let run = build(folder.path(), &words);
    assert_eq!(run.code, 0, "{}", run.all());

    let stem = "talos-v1.13.9-metal-amd64";
    let products = [
        (".iso", ".osrel of EFI/Linux/Talos-v1.13.9.efi"),
        (".raw", ".osrel of EFI/Linux/Talos-v1.13.9.efi"),
        (".qcow2", ".osrel of EFI/Linux/Talos-v1.13.9.efi"),
        (".efi", ".osrel of the kernel image"),
        ("-installer.tar", ".osrel of the kernel image"),
        (".initramfs.xz", "rootfs.sqsh of the initramfs"),
    ];
    for (ending, by) in products {
        let seen = ichor(folder.path(), &format!("media inspect images/{stem}{ending} --json"));
        let json = seen.json();
        assert_eq!(seen.code, 0, "{ending}: {}", seen.all());
        assert_eq!(
            json["media_release"],
            serde_json::json!({"talos_version": TALOS, "source": by}),
            "{ending}"
        );
        let extension =
            serde_json::json!([{"name": "frr", "version": "1.2.3", "author": "somebody", "image": "0.sqsh"}]);
        assert_eq!(json["extensions"], extension, "{ending}");
        if ending == ".initramfs.xz" {
            assert_eq!((&json["platform"], &json["outcome"]), (&"".into(), &"depends".into()));
            continue;
        }
        assert_eq!(json["platform"], "metal", "{ending}");
        let arguments = json["kernel_arguments"].as_array().unwrap();
        assert_eq!(arguments.last().unwrap(), "quiet", "{ending}");
    }
    let folder_of_all = ichor(folder.path(), "media inspect images");
    assert!(folder_of_all.stdout.contains("frr 1.2.3"), "{}", folder_of_all.all());
    assert!(folder_of_all.stdout.contains("talos.environment=***"), "{}", folder_of_all.all());
    let other = ichor(folder.path(), &format!("media inspect images/{stem}.efi --talos 1.12"));
    assert_eq!(other.code, 2, "{}", other.all());
    assert!(other.stderr.contains("says Talos v1.13.9; omit --talos"), "{}", other.all());
    let line = fs::read_to_string(folder.path().join("images/talos-v1.13.9-metal-amd64.cmdline")).unwrap();
    assert!(
        line.contains("talos.environment=INSTALLER_META_BASE64=") && line.ends_with(" quiet\n"),
        "{line}"
    );
}

#[test]
fn an_archive_for_google_cloud_is_read_as_its_disk() {
    let folder = desk();
    let run = build(
        folder.path(),
        &format!("--talos {TALOS} --platform gcp --base imager.tar --extension frr.tar --product gcp"),
    );
    assert_eq!(run.code, 0, "{}", run.all());

    let archive = "images/talos-v1.13.9-gcp-amd64.raw.tar.gz";
    let seen = ichor(folder.path(), &format!("media inspect {archive} --json"));

    assert_eq!(seen.code, 0, "{}", seen.all());
    let json = seen.json();
    assert_eq!((&json["platform"], &json["extensions"][0]["name"]), (&"gcp".into(), &"frr".into()));
    let again = build(folder.path(), &format!("--platform gcp --base {archive} --product netboot -o again"));
    assert_eq!(again.code, 0, "{}", again.all());
}

#[test]
fn assets_are_found_in_all_official_files() {
    let folder = desk();
    let netboot = |base: &str, more: &str| {
        build(folder.path(), &format!("--platform metal {base} --product netboot {more}"))
    };

    // Only a unified kernel image and files with an os-release reveal the release.
    for base in ["--base metal-amd64-uki.efi", "--base metal-amd64-uki.efi --base release"] {
        let run = netboot(base, "-o out");
        assert_eq!(run.code, 0, "{base}: {}", run.all());
    }
    let iso = build(
        folder.path(),
        &format!("--talos {TALOS} --base imager.tar --product iso,disk --name metal-amd64 -o official"),
    );
    assert_eq!(iso.code, 0, "{}", iso.all());
    for base in ["official/metal-amd64.iso", "official/metal-amd64.raw", "official"] {
        let run = build(
            folder.path(),
            &format!("--talos {TALOS} --base {base} --product iso,disk,installer -o out"),
        );
        assert_eq!(run.code, 0, "{base}: {}", run.all());
    }
    assert_eq!(netboot(&format!("--talos {TALOS} --base release"), "-o two").code, 0);
    let same = |name: &str| {
        let want =
            if name.ends_with("vmlinuz") { "release/vmlinuz-amd64" } else { "release/initramfs-amd64.xz" };
        fs::read(folder.path().join("two").join(name)).unwrap() == fs::read(folder.path().join(want)).unwrap()
    };
    assert!(same("talos-v1.13.9-metal-amd64.vmlinuz") && same("talos-v1.13.9-metal-amd64.initramfs.xz"));
}

#[test]
fn missing_assets_are_reported_before_the_build() {
    let folder = desk();

    let run = build(folder.path(), &format!("--talos {TALOS} --base release --product iso,netboot"));

    assert_eq!((run.code, names(&folder.path().join("images")).len()), (2, 0));
    assert!(run.stderr.contains("missing systemd-stub for iso; it is part of metal-amd64-uki.efi, metal-amd64.iso or ghcr.io/siderolabs/imager:v1.13.9"), "{}", run.stderr);
    assert!(run.stderr.contains("missing systemd-boot for iso"), "{}", run.stderr);
}

#[test]
fn included_extensions_and_modules_of_another_kernel_are_refused() {
    let folder = desk();
    let at = |name: &str| folder.path().join(name);
    release::extension(&at("clash.tar"), "clash", "etc/frr");
    release::modules(&at("zfs.tar"), Arch::Amd64, "zfs", "6.12.1-talos");
    release::modules(&at("zfs-arm64.tar"), Arch::Arm64, "zfs", "6.12.1-talos");
    fs::write(at("arm64.efi"), release::kernel_image(Arch::Arm64, TALOS)).unwrap();
    fs::write(at("other-arm64"), release::arm64_kernel("6.12.1-talos")).unwrap();
    let first = build(
        folder.path(),
        &format!("--talos {TALOS} --base imager.tar --extension frr.tar --product uki -o base"),
    );
    assert_eq!(first.code, 0, "{}", first.all());
    let kernel = "zfs has modules for the kernel 6.12.1-talos, and the image has the kernel 6.18.5-talos";

    for (words, code, message) in [
        (
            "--base base/talos-v1.13.9-metal-amd64.efi --extension clash.tar",
            1,
            "frr (in the image) and clash have different files at /usr/local/etc/frr",
        ),
        ("--base imager.tar --extension zfs.tar", 1, kernel),
        ("--arch arm64 --base arm64.efi --extension zfs-arm64.tar", 1, kernel),
        (
            "--arch arm64 --base other-arm64 --base arm64.efi",
            2,
            "the kernel is 6.12.1-talos, but the initramfs has modules for 6.18.5-talos",
        ),
    ] {
        let run = build(folder.path(), &format!("--talos {TALOS} {words} --product netboot"));

        assert_eq!(run.code, code, "{words}: {}", run.all());
        assert!(run.stderr.contains(message), "{words}: {}", run.stderr);
        assert_eq!(names(&at("images")), [""; 0], "{words}");
    }
}

#[test]
fn assets_of_different_releases_are_refused() {
    let folder = desk();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("vmlinuz-other"), release::kernel("6.12.1-talos")).unwrap();
    fs::write(at("arm64.efi"), release::kernel_image(Arch::Arm64, TALOS)).unwrap();
    fs::write(at("initramfs-arm64"), release::initramfs(Arch::Arm64, TALOS, release::KERNEL)).unwrap();
    release::extension(&at("again.tar"), "frr", "etc/other");
    release::extension(&at("clash.tar"), "clash", "etc/frr");
    fs::write(at("text"), "no image").unwrap();
    for (words, code, message) in [
        (
            "--base vmlinuz-other --base release",
            2,
            "the kernel is 6.12.1-talos, but the initramfs has modules for 6.18.5-talos",
        ),
        ("--talos v1.13.8 --base metal-amd64-uki.efi", 2, "is from Talos v1.13.9, not v1.13.8"),
        ("--talos v1.13.8 --base release", 2, "the initramfs is from Talos v1.13.9, not v1.13.8"),
        ("--base arm64.efi", 2, "arm64.efi is for arm64, not amd64"),
        ("--base release/vmlinuz-amd64 --base initramfs-arm64", 2, "the initramfs is for arm64, not amd64"),
        ("--base text", 2, "text is not a Talos boot asset"),
        ("--base nowhere/", 2, "nowhere/"),
        ("--base release --extension frr.tar --extension again.tar", 1, "extension frr is given twice"),
        (
            "--base release --extension frr.tar --extension clash.tar",
            1,
            "frr and clash have different files at /usr/local/etc/frr",
        ),
        ("--base release --extension text", 2, "cannot use the extension text"),
        ("--base release --platform aws", 2, "ichor builds images only for metal, nocloud, gcp"),
        ("--base release --meta x", 2, "cannot use --meta"),
        ("--base release --push ghcr.io/me/installer", 2, "--push needs an installer"),
    ] {
        let talos = if words.contains("--talos") { String::new() } else { format!("--talos {TALOS}") };
        let run = build(folder.path(), &format!("{talos} {words} --product netboot"));

        assert_eq!(run.code, code, "{words}: {}", run.all());
        assert!(run.stderr.contains(message), "{words}: {}", run.stderr);
        assert_eq!(names(&at("images")), [""; 0], "{words}");
    }
}

/// A server with one file that counts requests.
fn serve(name: &'static str, bytes: Vec<u8>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut head = [0; 4096];
            let length = stream.read(&mut head).unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            let is_it = head.split(' ').nth(1).is_some_and(|path| path.ends_with(name));
            let (status, body) = if is_it { ("200 OK", &bytes[..]) } else { ("404 Not Found", &[][..]) };
            count.fetch_add(usize::from(is_it), Ordering::SeqCst);
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(&[head.as_bytes(), body].concat());
        }
    });
    (host, requests)
}

#[test]
fn the_official_iso_is_downloaded_once_by_default() {
    let folder = desk();
    let words = format!("--talos {TALOS} --base imager.tar --product iso --name metal-amd64 -o official");
    assert_eq!(build(folder.path(), &words).code, 0);
    let iso = fs::read(folder.path().join("official/metal-amd64.iso")).unwrap();
    let (host, requests) = serve("/v1.13.9/metal-amd64.iso", iso);

    for words in [
        format!("--talos {TALOS} --factory http://{host}"),
        format!("--talos {TALOS} --factory http://{host} --extension frr.tar"),
    ] {
        let run = build(folder.path(), &format!("{words} --product iso,uki"));
        assert_eq!(run.code, 0, "{}", run.all());
        assert_eq!(requests.load(Ordering::SeqCst), 1);
    }
    let run = build(
        folder.path(),
        &format!("--platform metal --base http://{host}/x/v1.13.9/metal-amd64.iso --product uki"),
    );
    assert_eq!(run.code, 0, "{}", run.all());
    let run = build(folder.path(), &format!("--platform metal --base http://{host}/what --product uki"));
    assert!(run.code == 2 && run.stderr.contains("with its official file name"), "{}", run.all());
}

#[test]
fn images_with_an_embedded_configuration_are_private() {
    let folder = desk();
    fs::write(folder.path().join("boot.yaml"), "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n")
        .unwrap();

    let run = build(
        folder.path(),
        &format!("--talos {TALOS} --base imager.tar --embed boot.yaml --product iso,uki --json"),
    );

    assert_eq!(run.code, 0, "{}", run.all());
    assert_eq!(run.json()["images"][0]["extensions"][0]["name"], "embedded-config");
    for name in ["talos-v1.13.9-metal-amd64.iso", "talos-v1.13.9-metal-amd64.efi"] {
        let mode = fs::metadata(folder.path().join("images").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let old = build(folder.path(), "--talos v1.11.6 --base imager.tar --embed boot.yaml");
    assert_eq!(old.code, 2);
}

#[test]
fn a_dry_run_validates_everything_and_writes_nothing() {
    let folder = desk();

    let words = format!("--talos {TALOS} --base imager.tar --extension frr.tar");
    let run = build(folder.path(), &format!("{words} --dry-run"));
    let plan = build(folder.path(), &format!("{words} --dry-run --json")).json();

    assert_eq!(run.code, 0, "{}", run.all());
    assert!(
        run.stdout.contains("talos-v1.13.9-metal-amd64.iso") && run.stdout.contains("frr 1.2.3"),
        "{}",
        run.stdout
    );
    assert_eq!(plan["images"][0]["extensions"][0]["name"], "frr", "{plan:#}");
    assert!(!folder.path().join("images").exists());
}

#[test]
fn an_interrupted_run_leaves_no_files() {
    let folder = desk();
    let words = format!(
        "image build --installer-base installer-base.tar --cache cache --talos {TALOS} --base imager.tar --extension frr.tar --product {ALL} -o out"
    );
    let mut interrupted = 0;
    for wait in [1, 10, 30, 60, 100, 200, 400] {
        let mut child =
            command(folder.path(), &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT);
        let has_ended = child.wait().unwrap().success();
        let made = names(&folder.path().join("out"));
        // A run that had renamed all files was only prevented from printing its result.
        if has_ended || made.len() == FILES {
            break;
        }
        interrupted += 1;
        assert_eq!(made, [""; 0], "after {wait} ms");
        let beside = names(folder.path()).into_iter().filter(|name| name.starts_with('.')).count();
        assert_eq!(beside, 0, "after {wait} ms");
    }
    assert!(interrupted > 0);
}

#[test]
fn secure_boot_without_a_key_is_refused_before_the_build() {
    let folder =
        folder(&[("ichor.yaml", &CLUSTER.replace("source: ichor", "source: ichor, secure_boot: true"))]);

    let run = ichor(folder.path(), "image build --base nowhere");

    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("needs a signature for Secure Boot")
            && run.stderr.contains("image.source: factory"),
        "{}",
        run.stderr
    );
}

const CLUSTER: &str = "\
cluster: {name: sol, id: 101, talos: v1.13.9, services: [172.20.0.0/16]}
network: {api: {vip: 10.101.0.10}}
image: {source: ichor, registry: REGISTRY}
defaults: {platform: nocloud, install: {disk: /dev/sda}, extensions: [siderolabs/frr]}
nodes:
  - {name: solcp01, role: controlplane, index: 11, macs: [bc:24:11:00:00:11]}
  - {name: solcp02, role: controlplane, index: 12, macs: [bc:24:11:00:00:12]}
  - {name: solcp03, role: controlplane, index: 13, macs: [bc:24:11:00:00:13], kernel: {args: [quiet]}}
";

#[test]
fn the_images_of_a_cluster_have_the_names_in_its_configurations() {
    let folder = desk();
    fs::write(folder.path().join("ichor.yaml"), CLUSTER.replace("REGISTRY", "ghcr.io/me")).unwrap();
    let boot = ichor(folder.path(), "show boot --json").json();

    let run = build(folder.path(), "--base imager.tar --extension frr.tar --json");

    assert_eq!(run.code, 0, "{}", run.all());
    let made = files(&folder.path().join("images"));
    assert_eq!(made.len(), 4, "{:?}", made.keys());
    let json = run.json();
    for (nth, node) in boot.as_array().unwrap().iter().enumerate() {
        let name = node["image_name"].as_str().unwrap();
        assert!(made.contains_key(&format!("{name}.iso")), "{name}");
        let image = json["images"].as_array().unwrap().iter().find(|image| image["name"] == name).unwrap();
        assert_eq!(image["installer_image"], node["installer_image"]);
        assert_eq!(image["nodes"].as_array().unwrap().len(), if nth == 2 { 1 } else { 2 });
    }
    assert_eq!(boot[0]["image_name"], boot[1]["image_name"]);
    assert_ne!(boot[0]["installer_image"], boot[2]["installer_image"]);
    let unused = build(folder.path(), "--base imager.tar --extension frr.tar --extension imager.tar");
    assert_eq!(unused.code, 2);
}

#[test]
fn an_installer_is_pushed_to_the_reference_of_the_nodes() {
    let folder = desk();
    let registry = Registry::start(None);
    let reference = format!("{}/me/bird:v1.13.9", registry.host);

    let run = build(
        folder.path(),
        &format!(
            "--talos {TALOS} --base imager.tar --extension frr.tar --product installer --push {reference} --json"
        ),
    );

    assert_eq!(run.code, 0, "{}", run.all());
    let pushed = run.json()["images"][0]["pinned_reference"].as_str().unwrap().to_owned();
    assert!(pushed.starts_with(&format!("{}/me/bird@sha256:", registry.host)), "{pushed}");
    // The pushed installer is complete and can be the base of another one.
    let again = build(folder.path(), &format!("--talos {TALOS} --base {pushed} --product uki -o again"));
    assert_eq!(again.code, 0, "{}", again.all());
}
