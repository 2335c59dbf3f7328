//! A cluster of one node: its file, its images in a registry, and its machine with an empty disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ichor_image::oci::{FileTree, ImageLayout, MemoryStore, NewImage, TreeEntry, layer};
use ichor_values::{Arch, Moment};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Run, folder_in, run_of};
use crate::image_boot::lab::built::ARGUMENTS;
use crate::image_boot::lab::rack::SECRETS;
use crate::image_boot::lab::release::TalosRelease;
use crate::image_boot::lab::vm::{TalosVm, cd};
use ichor_testbed::lab::{LabMachine, RootFileSystem, output_text, wait_for};
use ichor_testbed::parts;

/// Address of the node.
pub const ADDRESS: &str = "10.12.1.1";

/// Size of the machine's disk in bytes; the file is sparse.
pub const DISK_SIZE: u64 = 12 << 30;

/// The node's gateway, which has a registry at port 80.
const REGISTRY: &str = "10.12.1.254";

/// With `panic=1`, because an emulated kernel sometimes panics after kexec; it then boots from its disk.
const CLUSTER: &str = r#"
cluster:
  name: lab
  id: 12
  talos: TALOS
  cni: none
  discovery: {service: false}
  registries:
    mirrors:
      ghcr.io: ["http://REGISTRY"]
      registry.k8s.io: ["http://REGISTRY"]
      "REGISTRY": ["http://REGISTRY"]
secrets: secrets.yaml
network: {node: {v4: 10.12.1.0/24, v6: null, gateway: {v4: 10.12.1.254}}, loopback: null, dns: [10.12.1.254]}
image: {source: ichor, registry: "REGISTRY/talos"}
defaults:
  platform: nocloud
  boot: {from: cidata}
  install: {disk: /dev/vda}
  kernel: {args: [ARGUMENTS, panic=1]}
  patches: [{inline: {apiVersion: v1alpha1, kind: TimeSyncConfig, enabled: false}}]
nodes: [{name: n1, role: controlplane, index: 1, macs: ["52:54:00:12:00:01"]}]
"#;

/// The limit of the machine's life in seconds, after which qemu exits.
const MACHINE_TIMEOUT: u64 = 1500;

/// A cluster file, and the segment with its registry and its machine.
pub struct TestCluster {
    pub release: TalosRelease,
    build: TempDir,
    segment: LabMachine,
}

impl TestCluster {
    /// Builds the files of a cluster with this release, and starts a registry with its installer.
    pub fn new(release: TalosRelease) -> Self {
        let file = CLUSTER
            .replace("TALOS", release.version)
            .replace("REGISTRY", REGISTRY)
            .replace("ARGUMENTS", &ARGUMENTS.join(", "));
        // On disk: a folder in memory would hold the images of the registry.
        let build = folder_in(
            Path::new(env!("CARGO_TARGET_TMPDIR")),
            &[("ichor.yaml", &file), ("talosctl.yaml", SECRETS)],
        );
        let segment = LabMachine::new(RootFileSystem::Own);
        segment
            .ask("ip tuntap add eth0 mode tap && ip link set eth0 up && ip addr add 10.12.1.254/24 dev eth0");
        start_registry(&segment, &build.path().join("registry"));
        let cluster = Self { release, build, segment };
        cluster.succeeds("secrets import talosctl.yaml --plain -o secrets.yaml");
        cluster.succeeds("build");
        cluster.build_images();
        cluster
    }

    /// Builds ISO and installer, and pushes the installer.
    fn build_images(&self) {
        let files = self.release.files();
        self.succeeds(&format!(
            "image build --base {} --installer-base {} --product iso,installer --insecure --push -o images",
            files.path(".").display(),
            files.path("installer-base").display()
        ));
    }

    /// Pushes an image with these programs, each with its path in the image.
    pub fn push_programs(&self, name: &str, programs: &[(&str, PathBuf)]) {
        let mut root = FileTree::default();
        for (path, program) in programs {
            root.put(path, TreeEntry::file(0o755, fs::read(program).unwrap()));
        }
        let mut memory = MemoryStore::default();
        let layer = layer(&root, &mut memory).unwrap();
        let image = NewImage::single_layer(Arch::Amd64, layer, Moment::from_unix(0).unwrap());
        let archive = self.folder().join("image.tar");
        ImageLayout::pack(&[image], "image").archive(&mut fs::File::create(&archive).unwrap()).unwrap();
        self.succeeds(&format!("extension push {} {REGISTRY}/{name} --insecure", archive.display()));
    }

    /// The folder of the cluster file.
    pub fn folder(&self) -> &Path {
        self.build.path()
    }

    /// Prepares a command that runs `ichor` on the segment.
    pub fn command(&self, words: &str) -> Command {
        let mut command = self.segment.enter_network();
        command.arg(env!("CARGO_BIN_EXE_ichor")).args(words.split_whitespace());
        command.current_dir(self.folder()).stdin(Stdio::null());
        command
    }

    /// Runs `ichor` on the segment.
    pub fn ichor(&self, words: &str) -> Run {
        run_of(self.command(words))
    }

    /// Runs `ichor`, which must succeed.
    pub fn succeeds(&self, words: &str) -> Run {
        let run = self.ichor(words);
        assert_eq!(run.code, 0, "{words}: {}", run.all());
        run
    }

    /// Runs Talos' own client with the administrator's certificate; it must succeed. Returns its output.
    pub fn talosctl(&self, words: &str) -> String {
        let mut command = self.segment.enter_network();
        let client = parts::path("talosctl-1.14/talosctl");
        command.args(["timeout", "60"]).arg(client).args(["--talosconfig", "build/lab/talosconfig"]);
        command.args(["--endpoints", ADDRESS, "--nodes", ADDRESS]).args(words.split_whitespace());
        let output = command.current_dir(self.folder()).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "talosctl {words}: {}", output_text(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The record of `ichor up`.
    pub fn record(&self) -> Value {
        let path = self.folder().join(".ichor/lab/up.json");
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }

    /// Boots the machine, with an empty disk, from the ISO. It boots from its disk as soon as it can.
    pub fn boot(&self, memory: &str) -> TalosVm<'_> {
        let disk = self.folder().join("disk");
        fs::File::create(&disk).unwrap().set_len(DISK_SIZE).unwrap();
        let variables = self.folder().join("variables.fd");
        fs::copy("/usr/share/OVMF/OVMF_VARS_4M.fd", &variables).unwrap();
        let images = fs::read_dir(self.folder().join("images")).unwrap();
        let mut images = images.map(|file| file.unwrap().path());
        let iso = images.find(|path| path.extension().is_some_and(|end| end == "iso")).unwrap();
        // UEFI, because the installer then needs no GRUB.
        let drives = [
            "if=pflash,format=raw,unit=0,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd".to_owned(),
            format!("if=pflash,format=raw,unit=1,file={}", variables.display()),
            format!("if=none,id=disk,format=raw,cache=unsafe,discard=unmap,file={}", disk.display()),
            format!("if=none,id=iso,media=cdrom,readonly=on,file={}", iso.display()),
        ];
        let drives = drives.into_iter().flat_map(|drive| ["-drive".to_owned(), drive]);
        // The machine restarts more often than it is started.
        let words = format!(
            "-device virtio-blk-pci,drive=disk,bootindex=0 -device ide-cd,drive=iso,bus=ide.0,bootindex=1 \
             -action reboot=reset -m {memory}"
        );
        let arguments: Vec<String> = drives
            .chain(words.split_whitespace().map(str::to_owned))
            .chain(cd(self.folder().join("build/lab/nodes/n1/cidata.iso").to_str().unwrap()))
            .collect();
        TalosVm::start_for(&self.segment, MACHINE_TIMEOUT, &arguments)
    }
}

/// Starts Debian's docker-registry on the segment.
fn start_registry(segment: &LabMachine, store: &Path) {
    let configuration = format!(
        "version: 0.1\nlog: {{level: warn}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: \"{REGISTRY}:80\"}}\n",
        store.display()
    );
    segment.write("/tmp/registry.yml", &configuration);
    segment.ask("docker-registry serve /tmp/registry.yml >/tmp/registry.log 2>&1 &");
    let connect = format!("bash -c 'exec 3<>/dev/tcp/{REGISTRY}/80'");
    wait_for(
        "the registry; scripts/tools oci installs it",
        || segment.run(&connect).status.success(),
        || segment.ask("cat /tmp/registry.log"),
    );
}
