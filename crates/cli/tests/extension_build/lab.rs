use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ichor_image::build::installer::{BootFiles, installer};
use ichor_image::media::Content;
use ichor_image::oci::{
    Descriptor, Digest, FileTree, ImageLayout, Layer, MemoryStore, NewImage, OciImage, TreeEntry,
};
use ichor_values::Arch;
use ichor_values::Moment;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::elf::{AMD64, elf};
use super::{build, desk, ichor, packed, root, write};

/// Runs a program, which must succeed, and returns its output.
fn done(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{program}: {error}; scripts/tools oci installs it"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program} {words:?}: {}{text}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

fn agent(folder: &Path) {
    fs::write(folder.join("agent"), elf(AMD64, None, &[], None)).unwrap();
}

/// Unpacks a layout with umoci, and returns the path of the container's root file system.
fn unpack(folder: &Path, layout: &str, version: &str, service: &str) -> PathBuf {
    let bundle = folder.join("bundle");
    let image = format!("{}:{version}", folder.join(layout).display());
    done("umoci", &["unpack", "--rootless", "--image", &image, bundle.to_str().unwrap()]);
    bundle.join("rootfs/rootfs/usr/local/lib/containers").join(service)
}

#[test]
fn frr_of_debian_12_runs_in_its_extension_root() {
    let folder = tempfile::tempdir().unwrap();
    agent(folder.path());
    let words = "extension build --debian bookworm --agent agent -o frr --json";

    let first = ichor(folder.path(), words);
    assert_eq!(first.code, 0, "{}", first.all());
    let second = ichor(folder.path(), &words.replace("-o frr", "-o again"));
    assert_eq!(first.json()["digest"], second.json()["digest"], "same input, same bytes");

    let json = first.json();
    assert_eq!(json["images"][0]["without_licence_text"].as_array().unwrap().len(), 0, "{json}");
    let version = json["version"].as_str().unwrap();
    assert!(version.starts_with("8.4."), "{version}");
    let inspected = done("skopeo", &["inspect", &format!("oci:{}", folder.path().join("frr").display())]);
    assert!(inspected.contains(json["digest"].as_str().unwrap()), "{inspected}");

    let root = unpack(folder.path(), "frr", version, "frr");
    let top = root.to_str().unwrap();
    for daemon in ["zebra", "bgpd", "staticd", "bfdd"] {
        let output = done("chroot", &[top, &format!("/usr/lib/frr/{daemon}"), "--version"]);
        assert!(output.contains(&format!("{daemon} version {version}")), "{output}");
    }
    fs::write(root.join("tmp/frr.conf"), "router bgp 65000\n neighbor 10.0.0.1 remote-as external\n")
        .unwrap();
    done("chroot", &[top, "/usr/bin/vtysh", "-C", "-f", "/tmp/frr.conf"]);
    runs(&root, &["zebra", "bgpd", "staticd", "bfdd"]);
    assert!(!root.join("bin/sh").exists() && !root.join("usr/bin/sh").exists());
}

/// Runs the daemons of a container as on a node: with a read-only root, a writable /run and a separate network namespace.
fn runs(root: &Path, daemons: &[&str]) {
    let script = r#"
        set -eu
        root=$1; shift
        mount --bind "$root" "$root"
        mount -t tmpfs none "$root/run"
        mkdir "$root/run/frr"
        chown 92:92 "$root/run/frr"
        mount -t proc none "$root/proc"
        mount --rbind /dev "$root/dev"
        mount -o remount,ro,bind "$root"
        ip link set lo up
        for daemon; do
            chroot "$root" "/usr/lib/frr/$daemon" -P 0 --log stdout >&2 &
        done
        for daemon; do
            tries=0
            until [ -S "$root/run/frr/$daemon.vty" ]; do
                tries=$((tries + 1))
                [ $tries -lt 100 ]
                sleep 0.1
            done
        done
        chroot "$root" /usr/bin/vtysh -c 'configure terminal' -c 'router bgp 65000' -c end -c 'show running-config'
        ss -Hltn >"$root/run/listening"
        echo "listening: $(grep -c ':26[0-9][0-9] ' "$root/run/listening" || true)"
    "#;
    let words = ["--mount", "--net", "--pid", "--fork", "--kill-child", "bash", "-c", script, "bash"];
    let output = done("unshare", &[&words, &[root.to_str().unwrap()][..], daemons].concat());
    assert!(output.contains("router bgp 65000"), "{output}");
    assert!(output.contains("listening: 0"), "the TCP ports of the daemons are off: {output}");
}

#[test]
fn frr_10_runs_from_a_container_image() {
    let lab = root().join("target/lab/trixie");
    assert!(lab.is_dir(), "there is no {}; scripts/lab-root makes it", lab.display());
    let folder = tempfile::tempdir().unwrap();
    agent(folder.path());
    let tar = folder.path().join("root.tar");
    let skipped =
        ["--exclude=./dev/*", "--exclude=./proc/*", "--exclude=./sys/*", "--exclude=./usr/share/locale"];
    let words =
        ["-C", lab.to_str().unwrap(), "-cf", tar.to_str().unwrap(), skipped[0], skipped[1], skipped[2]];
    done("tar", &[&words[..], &[skipped[3], "."]].concat());
    let bytes = fs::read(&tar).unwrap();
    let plain = Descriptor::of_blob("application/vnd.oci.image.layer.v1.tar", &bytes);
    let layer = Layer { descriptor: plain, diff_id: Digest::of_bytes(&bytes), content: bytes.into() };
    let image = [NewImage::single_layer(Arch::Amd64, layer, Moment::from_unix(0).unwrap())];
    write(&ImageLayout::pack(&image, "13"), &folder.path().join("debian"));

    let run = ichor(folder.path(), "extension build --from debian --agent agent -o frr --json");

    assert_eq!(run.code, 0, "{}", run.all());
    let json = run.json();
    let version = json["version"].as_str().unwrap();
    assert!(version.starts_with("10."), "{version}");
    let root = unpack(folder.path(), "frr", version, "frr");
    runs(&root, &["mgmtd", "zebra", "bgpd", "staticd", "bfdd"]);
}

/// Debian's docker-registry, stopped on drop.
struct Distribution {
    child: Child,
    host: String,
    _store: TempDir,
}

impl Distribution {
    fn start() -> Distribution {
        let store = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host = format!("127.0.0.1:{port}");
        let config = store.path().join("config.yml");
        let kept = store.path().join("kept");
        let text = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: {host}}}\n",
            kept.display()
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(&config).stdout(Stdio::null()).stderr(Stdio::null());
        let child =
            command.spawn().unwrap_or_else(|error| panic!("docker-registry: {error}; scripts/tools oci"));
        let started = (0..100).any(|_| {
            thread::sleep(Duration::from_millis(100));
            TcpStream::connect(&host).is_ok()
        });
        assert!(started, "docker-registry does not answer");
        Distribution { child, host, _store: store }
    }
}

impl Drop for Distribution {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_real_registry_has_the_same_digests() {
    let desk = desk();
    let digest = build(desk.path());
    let registry = Distribution::start();
    let target = format!("{}/me/bird:1", registry.host);

    let pushed = ichor(desk.path(), &format!("extension push bird.tar {target} --json"));
    let again = ichor(desk.path(), &format!("extension push bird.tar {target} --json"));

    assert_eq!(pushed.json()["digest"], digest.as_str(), "{}", pushed.all());
    assert_eq!(again.json()["blobs_uploaded"], 0);
    let reference = format!("docker://{target}");
    let raw = done("skopeo", &["inspect", "--tls-verify=false", "--raw", &reference]);
    assert_eq!(Digest::of_bytes(raw.as_bytes()).to_string(), digest);
    let back = format!("oci:{}:1", desk.path().join("back").display());
    done("skopeo", &["copy", "--all", "--src-tls-verify=false", &reference, &back]);
    let blob =
        |digest: &str| desk.path().join("back/blobs/sha256").join(digest.trim_start_matches("sha256:"));
    assert_eq!(fs::read_to_string(blob(&digest)).unwrap(), raw);

    // An image pushed by skopeo can be read.
    let image = format!("oci:{}:1", desk.path().join("image").display());
    let source = format!("docker://{}/me/system:1", registry.host);
    done("skopeo", &["copy", "--all", "--dest-tls-verify=false", &image, &source]);
    let words = format!(
        "extension build --backend bird --from {}/me/system:1 --agent agent -o pulled",
        registry.host
    );
    let run = ichor(desk.path(), &words);
    assert_eq!(run.code, 0, "{}", run.all());
}

/// Incompressible bytes.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(length).collect()
}

/// Runs `ichor`, which must succeed, and returns its peak memory in KiB and its output.
fn measured(folder: &Path, words: &str) -> (u64, String) {
    let mut command = Command::new("/usr/bin/time");
    command.args(["--quiet", "--format=%M", "--output=peak", env!("CARGO_BIN_EXE_ichor")]);
    let output = command.args(words.split(' ')).current_dir(folder).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("/usr/bin/time: {error}; scripts/tools time"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{words}: {text}{}", String::from_utf8_lossy(&output.stderr));
    (fs::read_to_string(folder.join("peak")).unwrap().trim().parse().unwrap(), text)
}

/// An extension with a large file.
fn long_extension() -> FileTree {
    let manifest = "version: v1alpha1\nmetadata:\n  name: long\n  version: \"1\"\n  author: me\n  description: long\n  \
                    compatibility:\n    talos:\n      version: \">= v1.11.0\"\n";
    let mut root = FileTree::default();
    root.put("manifest.yaml", TreeEntry::file(0o644, manifest.as_bytes()));
    root.put("rootfs/usr/local/lib/long", TreeEntry::file(0o644, noise(100_000_000)));
    root
}

#[test]
fn a_large_layer_is_streamed() {
    const MOST: u64 = 64 << 10;
    let desk = tempfile::tempdir().unwrap();
    let extension = long_extension();
    let image = NewImage::single_layer(Arch::Amd64, packed(&extension), Moment::from_unix(0).unwrap());
    let layout = ImageLayout::pack(&[image], "1");
    write(&layout, &desk.path().join("folder"));
    layout.archive(&mut fs::File::create(desk.path().join("archive.tar")).unwrap()).unwrap();
    let registry = Distribution::start();

    for (name, tag) in [("folder", 1), ("archive.tar", 2)] {
        let target = format!("{}/me/{tag}:1", registry.host);
        let (peak, output) = measured(desk.path(), &format!("extension push {name} {target} --json"));
        let output: Value = serde_json::from_str(&output).unwrap();
        assert_eq!(output["digest"], layout.digest.to_string());
        assert_eq!(output["blobs_uploaded"], 2);
        assert!(peak < MOST, "{peak} KiB for a push of {name}");

        let back = format!("oci:{}:1", desk.path().join(format!("back{tag}")).display());
        done("skopeo", &["copy", "--src-tls-verify=false", &format!("docker://{target}"), &back]);
        let (peak, _) = measured(desk.path(), &format!("extension check back{tag}"));
        assert!(peak < MOST, "{peak} KiB to look into back{tag}");
    }
    let (peak, _) = measured(desk.path(), "extension check archive.tar");
    assert!(peak < MOST, "{peak} KiB to look into the archive");
}

/// A published installer base, without boot files.
fn installer_base(arch: Arch) -> NewImage {
    let mut root = FileTree::default();
    root.put("usr/bin/installer", TreeEntry::file(0o755, b"a program"));
    root.put("bin", TreeEntry::link("usr/bin"));
    let layer = packed(&root);
    let config = json!({
        "architecture": arch.word(),
        "os": "linux",
        "config": {"Entrypoint": ["/bin/installer"], "Env": ["VERSION=v1.13.9"]},
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id.to_string()]},
        "history": [{"created_by": "COPY"}, {"created_by": "ENTRYPOINT", "empty_layer": true}],
    });
    NewImage { arch, config: config.to_string().into_bytes(), layers: vec![layer] }
}

#[test]
fn the_installer_is_read_by_skopeo_and_umoci() {
    let desk = tempfile::tempdir().unwrap();
    let archs = [Arch::Amd64, Arch::Arm64];
    let mut base = ImageLayout::pack(&archs.map(installer_base), "base");
    let kernel = noise(3_000_000);
    let made = archs.map(|arch| {
        let image = OciImage::find(&mut base, arch).unwrap();
        let boot = BootFiles { loader: b"systemd-boot".into(), kernel: Content::from(kernel.clone()) };
        let created = Moment::from_unix(0).unwrap();
        installer(&image, &mut base, &boot, created, &mut MemoryStore::default()).unwrap()
    });
    let layout = ImageLayout::pack(&made, "v1.13.9");
    write(&layout, &desk.path().join("installer"));

    for arch in archs {
        let image = format!("{}:v1.13.9-{arch}", desk.path().join("installer").display());
        let config = done("skopeo", &["inspect", "--config", &format!("oci:{image}")]);
        let config: Value = serde_json::from_str(&config).unwrap();
        assert_eq!(config["architecture"], arch.word());
        assert_eq!(config["config"]["Entrypoint"], json!(["/bin/installer"]));
        assert_eq!(config["config"]["Env"], json!(["VERSION=v1.13.9"]));
        // Docker requires a history entry per layer.
        let docker = desk.path().join(format!("{arch}.tar"));
        let override_arch = format!("--override-arch={arch}");
        let target = format!("docker-archive:{}", docker.display());
        done("skopeo", &[&override_arch, "copy", &format!("oci:{image}"), &target]);

        let bundle = desk.path().join(arch.word());
        done("umoci", &["unpack", "--rootless", "--image", &image, bundle.to_str().unwrap()]);
        let root = bundle.join("rootfs");
        assert_eq!(fs::read(root.join("bin/installer")).unwrap(), b"a program");
        let names = super::names(&root.join("usr/install").join(arch.word()));
        assert_eq!(names, ["systemd-boot.efi", "vmlinuz.efi"]);
        let path = format!("usr/install/{arch}/vmlinuz.efi");
        assert!(fs::read(root.join(path)).unwrap() == kernel);
    }

    let registry = Distribution::start();
    let target = format!("{}/me/installer:v1.13.9", registry.host);
    let pushed = ichor(desk.path(), &format!("extension push installer {target} --json"));
    assert_eq!(pushed.json()["digest"], layout.digest.to_string(), "{}", pushed.all());
    let raw = done("skopeo", &["inspect", "--tls-verify=false", "--raw", &format!("docker://{target}")]);
    assert_eq!(Digest::of_bytes(raw.as_bytes()), layout.digest);
}
