//! `ichor image build` with truncated, corrupt and malicious inputs: a clear error, an exit status, and no output.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Run, ichor};
use crate::image::release;
use ichor_image::oci::Digest;
use ichor_values::Arch;
use serde_json::{Value, json};
use tempfile::TempDir;

const TALOS: &str = "v1.13.9";

const MANIFEST: &str = "version: v1alpha1
metadata:
    name: odd
    version: 1.0.0
    author: somebody
    description: a test
    compatibility:
        talos:
            version: '>= v1.11.0'
";

/// Type of a layer entry.
#[derive(Clone, Copy)]
enum Shape<'s> {
    File(&'s [u8]),
    Link(&'s str),
    HardLink(&'s str),
    Device,
}

/// A layer with the manifest followed by these entries.
fn layer(entries: &[(&str, Shape<'_>)]) -> Vec<u8> {
    let manifest = [("manifest.yaml", Shape::File(MANIFEST.as_bytes()))];
    let mut bytes: Vec<u8> =
        manifest.iter().chain(entries).flat_map(|(path, shape)| entry(path, *shape)).collect();
    bytes.extend([0; 1024]);
    bytes
}

/// An entry of a tar archive.
fn entry(path: &str, shape: Shape<'_>) -> Vec<u8> {
    let (kind, target, content): (u8, &str, &[u8]) = match shape {
        Shape::File(content) => (b'0', "", content),
        Shape::HardLink(target) => (b'1', target, b""),
        Shape::Link(target) => (b'2', target, b""),
        Shape::Device => (b'3', "", b""),
    };
    let mut bytes = head(path, kind, target, content.len() as u64);
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn head(path: &str, kind: u8, target: &str, length: u64) -> Vec<u8> {
    let mut head = vec![0; 512];
    let mut put = |at: usize, text: &str| head[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, path);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{length:011o}\0"));
    put(136, "00000000000\0");
    put(148, "        ");
    put(157, target);
    put(257, "ustar\x0000");
    head[156] = kind;
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    head
}

/// Writes an image of one layer as an OCI layout.
fn layout(folder: &Path, layer: &[u8], kind: &str, arch: &str) {
    let blobs = folder.join("blobs/sha256");
    fs::create_dir_all(&blobs).unwrap();
    let blob = |bytes: &[u8], kind: &str| -> Value {
        let digest = Digest::of_bytes(bytes).to_string();
        fs::write(blobs.join(digest.trim_start_matches("sha256:")), bytes).unwrap();
        json!({"mediaType": kind, "digest": digest, "size": bytes.len()})
    };
    let unpacked = Digest::of_bytes(layer).to_string();
    let config =
        json!({"architecture": arch, "os": "linux", "rootfs": {"type": "layers", "diff_ids": [unpacked]}});
    let config = blob(config.to_string().as_bytes(), "application/vnd.oci.image.config.v1+json");
    let manifest = "application/vnd.oci.image.manifest.v1+json";
    let layers = [blob(layer, kind)];
    let text =
        json!({"schemaVersion": 2, "mediaType": manifest, "config": config, "layers": layers}).to_string();
    let index = json!({"schemaVersion": 2, "manifests": [blob(text.as_bytes(), manifest)]});
    fs::write(folder.join("index.json"), index.to_string()).unwrap();
    fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion": "1.0.0"}"#).unwrap();
}

const TAR: &str = "application/vnd.oci.image.layer.v1.tar";

/// A folder with a release.
fn desk() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    release::files(&folder.path().join("release"), TALOS);
    folder
}

/// Runs a build that must fail quickly, whatever sizes the input claims, and write nothing.
fn refused(folder: &Path, words: &str) -> Run {
    let start = Instant::now();
    let run =
        ichor(folder, &format!("image build --talos {TALOS} --product netboot --cache cache -o out {words}"));
    assert!(start.elapsed() < Duration::from_secs(30), "{words}: {:?}", start.elapsed());
    assert!([1, 2].contains(&run.code), "{words}: {}", run.all());
    assert!(run.stderr.starts_with("error: ") && !run.stderr.contains("panicked"), "{words}: {}", run.stderr);
    assert!(!folder.join("out").exists(), "{words}");
    run
}

#[test]
fn an_extension_with_forbidden_entries_is_refused() {
    let folder = desk();
    let loops = [("rootfs/usr/local/a", Shape::Link("b")), ("rootfs/usr/local/b", Shape::Link("a"))];
    let through = [&loops[..], &[("rootfs/usr/local/a/c", Shape::File(b"inside"))]].concat();
    let hard = [
        ("rootfs/usr/local/a", Shape::HardLink("rootfs/usr/local/b")),
        ("rootfs/usr/local/b", Shape::HardLink("rootfs/usr/local/a")),
    ];
    for (name, entries, message) in [
        ("a-shell", vec![("rootfs/usr/bin/sh", Shape::File(b"x"))], "/usr/bin/sh"),
        ("above", vec![("rootfs/../../etc/passwd", Shape::File(b"x"))], "rootfs/../../etc/passwd"),
        ("beside", vec![("etc/passwd", Shape::File(b"x"))], "etc"),
        ("a-device", vec![("rootfs/usr/local/null", Shape::Device)], "rootfs/usr/local/null"),
        ("through-a-loop", through, "rootfs/usr/local/a"),
        ("a-loop-of-hard-links", hard.to_vec(), "rootfs/usr/local/a"),
        ("nothing", vec![], "rootfs"),
    ] {
        layout(&folder.path().join(name), &layer(&entries), TAR, "amd64");

        let run = refused(folder.path(), &format!("--base release --extension {name}"));

        assert!(run.stderr.contains(message), "{name}: {}", run.stderr);
    }
}

#[test]
fn an_image_that_is_not_an_extension_is_refused() {
    let folder = desk();
    let at = |name: &str| folder.path().join(name);
    let good = layer(&[("rootfs/usr/local/file", Shape::File(&[7; 4096]))]);
    layout(&at("cut-off"), &good[..good.len() - 4096], TAR, "amd64");
    layout(&at("no-archive"), &[0x55; 4096], TAR, "amd64");
    layout(&at("for-others"), &good, TAR, "arm64");
    layout(&at("changed"), &good, TAR, "amd64");
    let blob =
        at("changed/blobs/sha256").join(Digest::of_bytes(&good).to_string().trim_start_matches("sha256:"));
    fs::write(&blob, [&good[..good.len() - 1], &[1]].concat()).unwrap();
    let old = MANIFEST.replace(">= v1.11.0", "< v1.5.0");
    layout(
        &at("too-old"),
        &[entry("manifest.yaml", Shape::File(old.as_bytes())), good[1024..].to_vec()].concat(),
        TAR,
        "amd64",
    );
    for (name, message) in [
        ("cut-off", "layer"),
        ("no-archive", "layer"),
        ("for-others", "no image for linux/amd64"),
        ("changed", "is corrupt: its SHA-256 is "),
        ("too-old", "< v1.5.0"),
    ] {
        let run = refused(folder.path(), &format!("--base release --extension {name}"));

        assert!(run.stderr.contains(message), "{name}: {}", run.stderr);
    }
}

#[test]
fn a_manifest_longer_than_declared_is_refused() {
    let folder = desk();
    let mut manifest = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for nth in 1..12 {
        let before = nth - 1;
        manifest += &format!("a{nth}: &a{nth} [{}]\n", vec![format!("*a{before}"); 10].join(", "));
    }
    let bytes = [entry("manifest.yaml", Shape::File(manifest.as_bytes())), vec![0; 1024]].concat();
    layout(&folder.path().join("odd"), &bytes, TAR, "amd64");

    let run = refused(folder.path(), "--base release --extension odd");

    assert!(run.stderr.contains("manifest.yaml"), "{}", run.stderr);
}

/// A zstd frame with these bytes and gigabytes of zeros, encoded in four bytes per 128 KiB.
fn bomb(start: &[u8], gigabytes: u32) -> Vec<u8> {
    const RUN: u32 = 128 << 10;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    frame.extend(&(u32::try_from(start.len()).unwrap() << 3).to_le_bytes()[..3]);
    frame.extend(start);
    let blocks = gigabytes << 13;
    for nth in 1..=blocks {
        // Block header: length, RLE type and the last-block flag.
        let head = RUN << 3 | 1 << 1 | u32::from(nth == blocks);
        frame.extend(&head.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

#[test]
fn a_decompression_bomb_is_not_unpacked() {
    let folder = desk();
    let at = |name: &str| folder.path().join(name);
    let start = [
        entry("manifest.yaml", Shape::File(MANIFEST.as_bytes())),
        head("rootfs/usr/local/large", b'0', "", 7 << 30),
    ];
    layout(&at("bomb"), &bomb(&start.concat(), 8), "application/vnd.oci.image.layer.v1.tar+zstd", "amd64");
    fs::create_dir(at("base")).unwrap();
    fs::copy(at("release/vmlinuz-amd64"), at("base/vmlinuz-amd64")).unwrap();
    // A file `init` of four gigabytes.
    let init = format!(
        "070701{}{:08X}{}{:08X}{:08X}init\0\0",
        "00000001".repeat(6),
        u32::MAX,
        "00000000".repeat(4),
        5,
        0
    );
    fs::write(at("base/initramfs-amd64.xz"), bomb(init.as_bytes(), 8)).unwrap();

    let extension = refused(folder.path(), "--base release --extension bomb");
    let base = refused(folder.path(), "--base base");

    assert!(extension.stderr.contains("cannot unpack layer"), "{}", extension.stderr);
    assert!(base.stderr.contains("initramfs"), "{}", base.stderr);
}

#[test]
fn a_truncated_or_invalid_initramfs_is_refused() {
    let folder = desk();
    let initramfs = release::initramfs(Arch::Amd64, TALOS, release::KERNEL);
    for (name, bytes) in [
        ("half", initramfs[..initramfs.len() / 2].to_vec()),
        ("odd-end", [&initramfs[..], b"more"].concat()),
        ("no-init", b"07070100000001".repeat(20)),
        ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\0".repeat(9)),
        ("empty", Vec::new()),
    ] {
        let base = folder.path().join(name);
        fs::create_dir(&base).unwrap();
        fs::copy(folder.path().join("release/vmlinuz-amd64"), base.join("vmlinuz-amd64")).unwrap();
        fs::write(base.join("initramfs-amd64.xz"), bytes).unwrap();

        let run = refused(folder.path(), &format!("--base {name}"));

        assert!(run.stderr.contains("initramfs"), "{name}: {}", run.stderr);
    }
}

#[test]
fn a_kernel_for_another_architecture_is_refused() {
    let folder = desk();
    let mut kernel = vec![0; 4096];
    kernel[..2].copy_from_slice(b"MZ");
    kernel[0x38..0x3c].copy_from_slice(b"ARM\x64");
    fs::write(folder.path().join("release/vmlinuz-amd64"), kernel).unwrap();

    let run = refused(folder.path(), "--base release");

    assert!(run.stderr.contains("is for arm64, not amd64"), "{}", run.stderr);
}
