//! A cluster folder, its image, and a network segment with DHCP and HTTP servers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::built::ARGUMENTS;
use super::rack::SECRETS;
use super::release::TalosRelease;
use super::vm::{TalosVm, direct_boot};
use crate::common::{folder, ichor};
use ichor_testbed::lab::{LabMachine, RootFileSystem};

/// Address of the node.
pub const ADDRESS: &str = "10.12.1.1";

/// Address of the servers, the node's gateway.
pub const SERVER: &str = "10.12.1.254";

const CLUSTER: &str = r#"
cluster: {name: lab, id: 12, talos: TALOS}
secrets: secrets.yaml
network: {node: {v4: 10.12.1.0/24, v6: "fd00:12::/64", gateway: {v4: 10.12.1.254}}, dns: [10.12.1.254]}
image: {source: ichor, registry: ghcr.io/example/talos}
defaults:
  platform: PLATFORM
  boot: {from: SOURCE}
  install: {disk: /dev/sda}
  kernel: {args: [ARGUMENTS, console=ttyS0, net.ifnames=0]}
nodes: [{name: n1, role: controlplane, index: 1, macs: ["52:54:00:12:00:01"]}]
"#;

/// Starts the servers: DHCP for machines without an address yet, and files of a folder over HTTP.
const SERVERS: &str = "dnsmasq --conf-file=/dev/null --pid-file=/tmp/dnsmasq.pid --dhcp-leasefile=/tmp/leases --port=0 \
    --interface=eth0 --bind-interfaces --dhcp-range=10.12.1.100,10.12.1.110 && busybox httpd -p 10.12.1.254:80 -h";

/// The build of a cluster with one node, and the segment that it boots on.
pub struct Site {
    release: TalosRelease,
    build: TempDir,
    segment: LabMachine,
}

impl Site {
    /// Builds files and image for a node with this platform and `boot` section.
    pub fn new(release: TalosRelease, platform: &str, source: &str) -> Self {
        let cluster = CLUSTER
            .replace("TALOS", release.version)
            .replace("PLATFORM", platform)
            .replace("SOURCE", source)
            .replace("ARGUMENTS", &ARGUMENTS.join(", "));
        let build = folder(&[("ichor.yaml", &cluster), ("talosctl.yaml", SECRETS)]);
        let files = release.files();
        fs::create_dir(build.path().join("base")).unwrap();
        for name in ["vmlinuz-amd64", "initramfs-amd64.xz"] {
            symlink(files.path(name), build.path().join("base").join(name)).unwrap();
        }
        for words in [
            "secrets import talosctl.yaml --plain -o secrets.yaml",
            "build",
            "image build --base base --product netboot -o image",
        ] {
            let run = ichor(build.path(), words);
            assert_eq!(run.code, 0, "{words}: {}", run.all());
        }
        let segment = LabMachine::new(RootFileSystem::Own);
        segment.ask(
            "ip tuntap add eth0 mode tap && ip link set eth0 up && ip addr add 10.12.1.254/24 dev eth0 && \
             ip addr add fd00:12::fffe/64 dev eth0 nodad",
        );
        Self { release, build, segment }
    }

    /// Serves DHCP, and these files over HTTP, each below a path.
    pub fn serve(&self, files: &[(String, PathBuf)]) {
        for (path, file) in files {
            let target = format!("/tmp/www/{path}");
            self.segment.ask(&format!("mkdir -p $(dirname {target})"));
            fs::copy(file, self.segment.path(&target)).unwrap();
        }
        self.segment.ask(&format!("{SERVERS} /tmp/www"));
    }

    /// The folder of the cluster file.
    pub fn folder(&self) -> &Path {
        self.build.path()
    }

    /// A file that `ichor build` wrote for the node.
    pub fn node_file(&self, name: &str) -> PathBuf {
        let path = self.folder().join("build/lab/nodes/n1").join(name);
        assert!(path.exists(), "{} is missing", path.display());
        path
    }

    /// The file of the image that ends with this suffix.
    fn image_file(&self, ending: &str) -> String {
        let files = fs::read_dir(self.folder().join("image")).unwrap().map(|file| file.unwrap().path());
        let mut found = files.map(|path| path.display().to_string()).filter(|path| path.ends_with(ending));
        found.next().unwrap_or_else(|| panic!("no file of the image ends with {ending}"))
    }

    /// The kernel command line of the image.
    pub fn command_line(&self) -> String {
        fs::read_to_string(self.image_file(".cmdline")).unwrap().trim().to_owned()
    }

    /// The folder of the image.
    pub fn image(&self) -> PathBuf {
        self.folder().join("image")
    }

    /// What `ichor media inspect` predicts for media.
    pub fn predict(&self, media: &Path) -> Value {
        let words = format!(
            "media inspect {} --talos {} --links eth0={} --json",
            media.display(),
            self.release.version,
            super::vm::PORT
        );
        ichor(self.folder(), &words).json()
    }

    /// Boots the image with this command line and more arguments of qemu.
    pub fn boot(&self, line: &str, more: &[String]) -> TalosVm<'_> {
        let direct = direct_boot(&self.image_file(".vmlinuz"), &self.image_file(".initramfs.xz"), line);
        TalosVm::start(&self.segment, &[&direct, more].concat())
    }

    /// What `ichor discover` reports about the node.
    pub fn discover(&self) -> Value {
        let mut command = self.segment.enter_network();
        command.args([env!("CARGO_BIN_EXE_ichor"), "discover", &format!("{ADDRESS}/32"), "--json"]);
        let found = command.current_dir(self.folder()).output().unwrap();
        assert!(found.status.success(), "{found:?}");
        serde_json::from_slice(&found.stdout).unwrap()
    }
}
