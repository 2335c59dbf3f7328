//! `ichor extension build` and `push` on the command line.

use ichor_testbed::elf;
pub mod registry;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use crate::common::{Run, ichor, ichor_with, root};
use elf::{AMD64, ARM64, elf};
use ichor_image::oci::{
    Archive, EntryKind, FileTree, ImageLayout, Layer, MemoryStore, NewImage, OciImage, TreeEntry, layer,
};
use ichor_values::Arch;
use ichor_values::Moment;
use registry::Registry;
use tempfile::TempDir;

const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// A small root file system with BIRD for an architecture.
fn system(machine: u16) -> FileTree {
    let mut root = FileTree::default();
    let program = || TreeEntry::file(0o755, elf(machine, Some(LOADER), &["libc.so.6"], None));
    root.put("lib64/ld-linux-x86-64.so.2", TreeEntry::file(0o755, elf(machine, None, &[], None)));
    root.put("usr/lib/libc.so.6", TreeEntry::file(0o644, elf(machine, None, &[], None)));
    root.put("usr/sbin/bird", program());
    root.put("usr/sbin/birdc", program());
    root.put("bin/sh", program());
    let apk = "P:bird\nV:2.17.1-r0\nL:GPL-2.0-or-later\no:bird\nc:abc\nF:usr/sbin\nR:bird\nR:birdc\n";
    root.put("lib/apk/db/installed", TreeEntry::file(0o644, apk.as_bytes()));
    root
}

fn packed(root: &FileTree) -> Layer {
    layer(root, &mut MemoryStore::default()).unwrap()
}

fn write(layout: &ImageLayout, folder: &Path) {
    for (path, content) in &layout.files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        content.copy_to(&mut fs::File::create(path).unwrap()).unwrap();
    }
}

/// A folder with an image and agents.
fn desk() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let images = [(Arch::Amd64, AMD64), (Arch::Arm64, ARM64)].map(|(arch, machine)| {
        NewImage::single_layer(arch, packed(&system(machine)), Moment::from_unix(0).unwrap())
    });
    let layout = ImageLayout::pack(&images, "1");
    write(&layout, &folder.path().join("image"));
    layout.archive(&mut fs::File::create(folder.path().join("image.tar")).unwrap()).unwrap();
    for (name, machine) in [("agent", AMD64), ("agent-arm64", ARM64)] {
        fs::write(folder.path().join(name), elf(machine, None, &[], None)).unwrap();
    }
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Unpacks the image of an archive.
fn unpacked(archive: &Path, arch: Arch) -> FileTree {
    let mut memory = MemoryStore::default();
    let mut source = Archive::open(fs::File::open(archive).unwrap(), &mut memory).unwrap().layout().unwrap();
    let image = OciImage::find(&mut source, arch).unwrap();
    image.unpack(&mut source, &mut memory, &|| {}).unwrap()
}

/// Writes an unpacked image to disk.
fn write_tree(root: &FileTree, folder: &Path) {
    fs::create_dir(folder).unwrap();
    for (path, entry) in root.iter() {
        let path = folder.join(path);
        match &entry.kind {
            EntryKind::Folder => fs::create_dir_all(&path).unwrap(),
            EntryKind::Link(target) => symlink(target, &path).unwrap(),
            EntryKind::File(bytes) => {
                fs::write(&path, bytes.read().unwrap()).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(entry.mode)).unwrap();
            }
            EntryKind::Special(name) => panic!("a {name} at {}", path.display()),
        }
    }
}

#[test]
fn builds_are_reproducible_from_every_kind_of_source() {
    let desk = desk();
    let build = |from: &str, out: &str| {
        let words = format!("extension build --backend bird --from {from} --agent agent -o {out}");
        let run = ichor(desk.path(), &words);
        assert_eq!(run.code, 0, "{}", run.all());
        run
    };

    build("image", "one.tar");
    build("./image.tar", "two.tar");
    let run = build("image", "folder");
    build("image", "folder");

    let one = fs::read(desk.path().join("one.tar")).unwrap();
    assert_eq!(one, fs::read(desk.path().join("two.tar")).unwrap());
    assert_eq!(names(&desk.path().join("folder")), ["blobs", "index.json", "oci-layout"]);
    let sbom = |name: &str| fs::read(desk.path().join(name)).unwrap();
    assert_eq!(sbom("one.spdx.json"), sbom("folder.spdx.json"));
    assert!(run.stdout.contains("amd64  agent"), "{}", run.stdout);
    assert!(run.stderr.contains("folder: bird 2.17.1, sha256:"), "{}", run.stderr);
    assert!(run.stderr.contains("amd64: no licence text for bird"), "{}", run.stderr);
}

#[test]
fn a_built_extension_is_accepted_by_talos() {
    let desk = desk();
    let run = ichor(desk.path(), "extension build --backend bird --from image --agent agent -o bird.tar");
    assert_eq!(run.code, 0, "{}", run.all());

    write_tree(&unpacked(&desk.path().join("bird.tar"), Arch::Amd64), &desk.path().join("bird"));

    for release in ["1.11", "1.12", "1.13", "1.14"] {
        let run = ichor(desk.path(), &format!("extension check bird --talos {release} --json"));
        let json = run.json();
        assert_eq!(
            (&json["valid"], json["warnings"].as_array().map(Vec::len)),
            (&true.into(), Some(0)),
            "{json}"
        );
    }
}

#[test]
fn an_image_is_validated_by_its_unpacked_contents() {
    let desk = desk();
    build(desk.path());
    let both = "--agent agent --agent agent-arm64";
    let run = ichor(desk.path(), &format!("extension build --backend bird --from image {both} -o layout"));
    assert_eq!(run.code, 0, "{}", run.all());

    for image in ["bird.tar", "layout"] {
        let run = ichor(desk.path(), &format!("extension check {image} --json"));
        let json = run.json();
        assert_eq!(
            (run.code, &json["valid"], &json["kind"]),
            (0, &true.into(), &"extension".into()),
            "{json}"
        );
    }
    // A root file system that is not an extension.
    let other = ichor(desk.path(), "extension check image.tar");
    assert_eq!(other.code, 1, "{}", other.all());
    assert!(other.stdout.contains("manifest.yaml: error: missing"), "{}", other.stdout);
}

#[test]
fn an_image_can_have_both_architectures() {
    let desk = desk();
    let words = "extension build --backend bird --from image --agent agent --agent agent-arm64 --name mine \
                 --version 7~rc1 -o mine.tar --json";
    let run = ichor(desk.path(), words);

    let json = run.json();
    assert_eq!((&json["name"], &json["version"]), (&"mine".into(), &"7~rc1".into()));
    let archs: Vec<_> =
        json["images"].as_array().unwrap().iter().map(|image| image["arch"].as_str().unwrap()).collect();
    assert_eq!(archs, ["amd64", "arm64"]);
    for arch in [Arch::Amd64, Arch::Arm64] {
        let tree = unpacked(&desk.path().join("mine.tar"), arch);
        assert!(tree.read("rootfs/usr/local/lib/containers/mine/usr/sbin/bird").is_some());
        assert!(desk.path().join(format!("mine.{arch}.spdx.json")).is_file());
    }
    let one = ichor(desk.path(), &format!("{words} --arch arm64").replace("mine.tar", "one.tar")).json();
    assert_eq!(one["images"].as_array().unwrap().len(), 1);
}

#[test]
fn a_failed_build_changes_nothing() {
    let desk = desk();
    fs::create_dir(desk.path().join("mine")).unwrap();
    fs::write(desk.path().join("mine/notes"), "").unwrap();
    fs::write(desk.path().join("script"), "#!/bin/sh\n").unwrap();
    fs::write(desk.path().join("cut.tar"), &fs::read(desk.path().join("image.tar")).unwrap()[..4000])
        .unwrap();
    let before = names(desk.path());
    let base = "--backend bird --from image --agent agent";

    for (words, message) in [
        (format!("{base} -o no/x.tar"), "missing folder no"),
        (format!("{base} -o mine"), "refusing to replace mine: notes is not part of an OCI layout"),
        (format!("{base} -o agent"), "agent is not a folder"),
        (format!("{base} --arch arm64 -o x"), "no agent for arm64"),
        (format!("{base} --agent agent -o x"), "a second agent for amd64"),
        (format!("{base} --name ../x -o x"), "not a service name"),
        (format!("{base} --version / -o x"), "`/` is not a version"),
        ("--backend bird --from image --agent script -o x".to_owned(), "not an ELF file"),
        (
            "--backend frr --from image --agent agent -o x".to_owned(),
            "zebra, bgpd, staticd, bfdd, vtysh not found in image",
        ),
        ("--backend bird --agent agent -o x".to_owned(), "no source of BIRD"),
        ("--backend native --agent agent -o x".to_owned(), "want one of frr, bird, gobgp"),
        ("--backend bird --from ./no --agent agent -o x".to_owned(), "cannot read ./no"),
        ("--backend bird --from mine --agent agent -o x".to_owned(), "mine is not an OCI layout"),
        ("--backend bird --from agent --agent agent -o x".to_owned(), "cannot use agent"),
        ("--backend bird --from cut.tar --agent agent -o x".to_owned(), "cannot use cut.tar"),
        ("--backend bird --from A/b --agent agent -o x".to_owned(), "`A/b` is not an image reference"),
        ("--backend bird --packages agent --agent agent -o x".to_owned(), "not a Debian package"),
        ("--backend bird --packages image --agent agent -o x".to_owned(), "no .deb files in image"),
        ("--backend bird --debian ../x --agent agent -o x".to_owned(), "is not a Debian suite"),
        ("--backend bird --debian a --from b --agent agent -o x".to_owned(), "cannot be used with"),
    ] {
        let run = ichor(desk.path(), &format!("extension build {words}"));
        assert_eq!(run.code, 2, "{words}: {}", run.all());
        assert!(run.stderr.contains(message), "{words}: {}", run.stderr);
        assert_eq!(names(desk.path()), before, "{words}");
    }
}

#[test]
fn the_default_agent_is_next_to_ichor() {
    let desk = desk();
    let (program, folder) = (env!("CARGO_BIN_EXE_ichor"), desk.path().join("bin"));
    fs::create_dir(&folder).unwrap();
    // The files next to cargo's binary depend on what else was built.
    if fs::hard_link(program, folder.join("ichor")).is_err() {
        fs::copy(program, folder.join("ichor")).unwrap();
    }
    let build = || {
        let mut command = Command::new(folder.join("ichor"));
        command.args(["extension", "build", "--backend", "bird", "--from", "image", "-o", "x"]);
        command.current_dir(desk.path()).output().unwrap()
    };

    let without = build();
    fs::rename(desk.path().join("agent"), folder.join("ichor-agent")).unwrap();
    let with = build();

    let message = String::from_utf8_lossy(&without.stderr);
    assert!(without.status.code() == Some(2) && message.contains("pass it with --agent"), "{message}");
    assert!(with.status.success(), "{}", String::from_utf8_lossy(&with.stderr));
}

#[test]
fn a_modified_layer_is_rejected() {
    let desk = desk();
    let blobs = desk.path().join("image/blobs/sha256");
    let largest =
        names(&blobs).into_iter().max_by_key(|name| fs::metadata(blobs.join(name)).unwrap().len()).unwrap();
    let mut bytes = fs::read(blobs.join(&largest)).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(blobs.join(&largest), bytes).unwrap();

    let both = "--agent agent --agent agent-arm64";
    let run = ichor(desk.path(), &format!("extension build --backend bird --from image {both} -o x"));

    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains(&format!("blob sha256:{largest} is corrupt: its SHA-256 is ")),
        "{}",
        run.stderr
    );
}

/// A Debian package with files.
fn deb(control: &str, files: &FileTree) -> Vec<u8> {
    let mut description = FileTree::default();
    description.put("control", TreeEntry::file(0o644, control.as_bytes()));
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, body) in [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", packed(&description).content.read().unwrap()),
        ("data.tar.gz", packed(files).content.read().unwrap()),
    ] {
        writeln!(bytes, "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`", 0, 0, 0, 100_644, body.len()).unwrap();
        bytes.extend(&body);
        bytes.extend(&b"\n"[..body.len() % 2]);
    }
    bytes
}

#[test]
fn debian_packages_can_replace_an_image() {
    let desk = desk();
    let folder = desk.path().join("debs");
    fs::create_dir(&folder).unwrap();
    let system = system(AMD64);
    let part = |paths: &[&str]| {
        let mut root = FileTree::default();
        // Packages have folders that are symlinks on an installed system.
        root.put("lib64", TreeEntry::folder());
        for path in paths {
            root.put(path, system.get(path).unwrap().clone());
        }
        root
    };
    let libc = part(&["lib64/ld-linux-x86-64.so.2", "usr/lib/libc.so.6"]);
    let bird = part(&["usr/sbin/bird", "usr/sbin/birdc"]);
    let control =
        |name: &str, arch: &str| format!("Package: {name}\nVersion: 2.0.12-7\nArchitecture: {arch}\n");
    fs::write(folder.join("libc6.deb"), deb(&control("libc6", "amd64"), &libc)).unwrap();
    fs::write(folder.join("bird2.deb"), deb(&control("bird2", "amd64"), &bird)).unwrap();
    fs::write(folder.join("other.deb"), deb(&control("bird2", "arm64"), &FileTree::default())).unwrap();

    let words = "extension build --backend bird --agent agent --packages debs -o bird.tar --json";
    let run = ichor(desk.path(), words);
    let alone = ichor(desk.path(), &words.replace("--packages debs", "--packages debs/bird2.deb"));

    assert_eq!(run.json()["version"], "2.0.12", "{}", run.all());
    let tree = unpacked(&desk.path().join("bird.tar"), Arch::Amd64);
    let sbom = tree.read("rootfs/usr/local/share/spdx/bird.spdx.json").unwrap();
    assert!(String::from_utf8_lossy(sbom).contains("pkg:deb/debian/libc6@2.0.12-7"));
    assert!(tree.read("rootfs/usr/local/lib/containers/bird/lib64/ld-linux-x86-64.so.2").is_some());
    assert_eq!(alone.code, 2);
    assert!(alone.stderr.contains("libc.so.6 (needed by /usr/sbin/bird)"), "{}", alone.stderr);
}

fn build(desk: &Path) -> String {
    let both = "--agent agent --agent agent-arm64";
    let run = ichor(desk, &format!("extension build --backend bird --from image {both} -o bird.tar --json"));
    run.json()["digest"].as_str().unwrap_or_else(|| panic!("{}", run.all())).to_owned()
}

#[test]
fn an_image_is_pushed_unchanged_and_pulled_again() {
    let desk = desk();
    let digest = build(desk.path());
    let registry = Registry::start(None);
    let target = format!("{}/me/bird:1", registry.host);

    let first = ichor(desk.path(), &format!("extension push bird.tar {target} --json")).json();
    let second = ichor(desk.path(), &format!("extension push bird.tar {target} --json")).json();

    assert_eq!((&first["digest"], &first["blobs_uploaded"]), (&digest.as_str().into(), &4.into()));
    assert_eq!((&second["blobs_uploaded"], &second["blobs_already_present"]), (&0.into(), &4.into()));
    assert_eq!(first["pinned_reference"].as_str().unwrap(), format!("{}/me/bird@{digest}", registry.host));
    let pinned = first["pinned_reference"].as_str().unwrap();
    // The extension has no BIRD in the usual place; the error shows that it was pulled and searched.
    let run =
        ichor(desk.path(), &format!("extension build --backend bird --from {pinned} --agent agent -o x"));
    assert!(run.stderr.contains("bird, birdc not found in"), "{}", run.all());
    registry.spoil();
    let run =
        ichor(desk.path(), &format!("extension build --backend bird --from {pinned} --agent agent -o x"));
    assert!(run.stderr.contains("has SHA-256"), "{}", run.all());
}

/// A stand-in for a credential helper: it answers `get` with the contents of a file named after the server.
const HELPER: &str = r#"#!/bin/sh
read -r server
[ "$1" = get ] && cat "$(dirname "$0")/kept-$server" 2>/dev/null && exit 0
echo credentials not found in native keychain
exit 1
"#;

#[test]
fn passwords_and_tokens_come_from_the_configured_credential_helper() {
    let desk = desk();
    build(desk.path());
    let registry = Registry::start(Some("me:hunter2"));
    let program = desk.path().join("docker-credential-stand-in");
    fs::write(&program, HELPER).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", desk.path().display(), std::env::var("PATH").unwrap());
    let push = |auth: &str, kept: Option<&str>| -> Run {
        let file = desk.path().join(format!("kept-{}", registry.host));
        match kept {
            Some(kept) => fs::write(&file, kept).unwrap(),
            None => fs::remove_file(&file).unwrap_or_default(),
        }
        fs::write(desk.path().join("auth.json"), auth).unwrap();
        let auth = desk.path().join("auth.json").display().to_string();
        let words = format!("extension push bird.tar {}/me/bird:1", registry.host);
        ichor_with(desk.path(), &words, &[("REGISTRY_AUTH_FILE", &auth), ("PATH", &path)])
    };
    let of_one = format!(r#"{{"credHelpers": {{"{}": "stand-in"}}}}"#, registry.host);
    let of_all = format!(r#"{{"auths": {{"{}": {{}}}}, "credsStore": "stand-in"}}"#, registry.host);
    let password = r#"{"ServerURL": "x", "Username": "me", "Secret": "hunter2"}"#;
    let token = r#"{"ServerURL": "x", "Username": "<token>", "Secret": "1d3n+t1ty"}"#;

    let good = [push(&of_one, Some(password)), push(&of_all, Some(password)), push(&of_one, Some(token))];
    let empty = push(&of_one, None);
    let invalid = push(&of_all, Some("hunter2"));
    let absent = push(&of_one.replace("stand-in", "not-there"), Some(password));

    for run in &good {
        assert_eq!(run.code, 0, "{}", run.all());
    }
    assert!(empty.code == 2 && empty.stderr.contains("401"), "{}", empty.stderr);
    let why = format!("docker-credential-stand-in returned invalid credentials of {}", registry.host);
    assert!(invalid.code == 2 && invalid.stderr.contains(&why), "{}", invalid.stderr);
    let why =
        format!("docker-credential-not-there, the credential helper for {}, is not installed", registry.host);
    assert!(absent.code == 2 && absent.stderr.contains(&why), "{}", absent.stderr);
    assert!(absent.stderr.contains("auth.json"), "{}", absent.stderr);
    for run in good.into_iter().chain([empty, invalid, absent]) {
        assert!(
            !run.all().contains("hunter2") && !run.all().contains("t1ty") && !run.all().contains("t0k3n")
        );
    }
}

#[test]
fn credentials_are_sent_only_to_the_registry_and_never_printed() {
    let desk = desk();
    build(desk.path());
    let registry = Registry::start(Some("me:hunter2"));
    let push = |auth: &str| -> Run {
        fs::write(desk.path().join("auth.json"), auth).unwrap();
        let path = desk.path().join("auth.json").display().to_string();
        let words = format!("extension push bird.tar {}/me/bird:1", registry.host);
        ichor_with(desk.path(), &words, &[("REGISTRY_AUTH_FILE", &path)])
    };
    // me:hunter2 and me:wrong
    let good = format!(r#"{{"auths": {{"{}": {{"auth": "bWU6aHVudGVyMg=="}}}}}}"#, registry.host);
    let wrong = good.replace("bWU6aHVudGVyMg==", "bWU6d3Jvbmc=");

    registry.forget();
    let (ok, bad, none, broken) = (push(&good), push(&wrong), push("{}"), push("{\"auths\": hunter2"));

    assert_eq!(ok.code, 0, "{}", ok.all());
    assert!(bad.code == 2 && bad.stderr.contains("check that the credentials are valid"), "{}", bad.stderr);
    assert!(none.code == 2 && none.stderr.contains("401"), "{}", none.stderr);
    assert!(broken.code == 2 && broken.stderr.contains("auth.json is not JSON"), "{}", broken.stderr);
    for run in [ok, bad, none, broken] {
        assert!(
            !run.all().contains("hunter2") && !run.all().contains("bWU6") && !run.all().contains("t0k3n")
        );
    }
}

#[test]
fn inputs_that_cannot_be_pushed_are_reported() {
    let desk = desk();
    build(desk.path());
    for (words, message) in [
        ("bird.tar https://r.io/a", "a reference has no scheme"),
        ("no.tar localhost:1/a", "cannot read no.tar"),
        ("ghcr.io/a/b localhost:1/a", "no OCI layout or archive at ghcr.io/a/b"),
        ("agent localhost:1/a", "cannot use agent"),
        ("bird.tar 127.0.0.1:1/a", "cannot reach http://127.0.0.1:1/v2/a/blobs/"),
    ] {
        let run = ichor(desk.path(), &format!("extension push {words}"));
        assert_eq!(run.code, 2, "{words}: {}", run.all());
        assert!(run.stderr.contains(message), "{words}: {}", run.stderr);
    }
}

#[test]
fn the_service_definition_in_the_documentation_is_current() {
    let desk = desk();
    let run =
        ichor(desk.path(), "extension build --backend bird --from image --agent agent --name frr -o frr.tar");
    assert_eq!(run.code, 0, "{}", run.all());

    let tree = unpacked(&desk.path().join("frr.tar"), Arch::Amd64);

    let path = "rootfs/usr/local/etc/containers/frr.yaml";
    let made = String::from_utf8(tree.read(path).unwrap().to_vec()).unwrap();
    let text = fs::read_to_string(root().join("docs/how-to/build-the-routing-extension.md")).unwrap();
    let shown =
        text.split_once("```yaml\n# the definition of the service\n").unwrap().1.split_once("```").unwrap().0;
    assert_eq!(shown, made);
}

/// Tests with real tools and daemons.
mod lab;
