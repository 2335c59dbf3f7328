//! Simulates Talos' machined until extension services run.
//!
//! The boot media are inspected with the code of `ichor media inspect`: the command line, the configuration in the image, the
//! volumes and the META partition. Then it applies the addresses of the configuration in force, and passes each service of an
//! extension its document.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use ichor_image::inspect;
use ichor_image::inspect::{BootMedia, Inspection, MetaValuesError, TargetMachine};
use ichor_image::media::{FileSystem, Image, Partitions};
use ichor_image::oci::MemoryStore;
use ichor_talos::nocloud::Link;
use ichor_talos::{document, meta_partition as adv};
use ichor_values::{Mac, TalosVersion};
use serde_json::Value;

use crate::boot::console::print;
use crate::boot::host::NodeHost;
use crate::boot::service::{ExtensionService, listen_machined};

/// The folder of service definitions.
const DEFINITIONS: &str = "/usr/local/etc/containers";

/// The folder of their root file systems.
const ROOTS: &str = "/usr/local/lib/containers";

/// The configuration inside of an image.
const EMBEDDED: &str = "/usr/local/etc/talos/config.yaml";

/// Tenths of a second after which a missing volume is given up.
const PATIENCE: u32 = 50;

/// The files of extensions on the node: each path with its kind, mode, owner and, of a file, its length; and their contents.
const TREE: &str = r"
cd /usr/local
{
    find . -type f -printf '%p %m %U:%G %s\n'
    find . ! -type f -printf '%p %y %m %U:%G %l\n'
    find . -type f -exec sha256sum {} +
} | sort | sha256sum";

/// Runs the machine; never returns.
pub fn run() {
    let node = ThisMachine;
    for folder in ["/run", "/tmp", "/system", "/var"] {
        node.ask(&format!("mount -t tmpfs tmpfs {folder}"));
    }
    node.ask("modprobe -a $(cat /etc/modules)");
    print(&format!("tree {}", node.ask(TREE).trim_end_matches(" -\n").trim_end()));
    let inspection = inspection(&node);
    print_inspection(&inspection);
    connect(&node, &inspection);
    let _machined = listen_machined(&node);
    let mut services = services(&node);
    for service in &mut services {
        start(service, &inspection);
    }
    follow(&node);
}

/// This machine.
struct ThisMachine;

impl NodeHost for ThisMachine {
    fn enter(&self) -> Command {
        Command::new("env")
    }

    fn path(&self, path: &str) -> PathBuf {
        path.into()
    }

    fn system(&self) -> &'static str {
        "/system"
    }
}

/// Inspects the boot media. Talos searches for volumes once all devices are known; here the search is repeated.
fn inspection(node: &dyn NodeHost) -> Inspection {
    let machine = TargetMachine { talos: release(), links: links(node) };
    let mut media = media();
    for _ in 0..PATIENCE {
        if media.carriers.iter().any(|carrier| !carrier.files.is_empty()) {
            break;
        }
        thread::sleep(Duration::from_millis(100));
        media = self::media();
    }
    inspect::inspect(&media, &machine).unwrap_or_else(|error| panic!("{error}"))
}

fn release() -> TalosVersion {
    let text = fs::read_to_string("/etc/os-release").unwrap();
    let version = text.lines().find_map(|line| line.strip_prefix("VERSION_ID=")).expect("a release has one");
    TalosVersion::parse(version).expect("its tests wrote it")
}

/// The physical links.
fn links(node: &dyn NodeHost) -> Vec<Link> {
    let names = node.ask("cd /sys/class/net && for link in */device; do echo ${link%/device}; done");
    let link = |name: &str| {
        let mac = fs::read_to_string(format!("/sys/class/net/{name}/address")).ok()?;
        Some(Link { name: name.to_owned(), mac: Mac::parse(mac.trim()).ok()? })
    };
    names.lines().filter_map(link).collect()
}

fn media() -> BootMedia {
    let line = fs::read_to_string("/proc/cmdline").unwrap();
    let mut media = BootMedia::of_command_line(line.trim());
    media.embedded = fs::read(EMBEDDED).ok().map(Ok);
    let disks = fs::read_dir("/sys/block").unwrap().map(|disk| disk.unwrap().file_name());
    for name in disks.map(|name| name.into_string().unwrap()).filter(|name| !name.starts_with("loop")) {
        let Some(found) = BlockDevice::open(&name).ok().and_then(|disk| on_disk(&disk)) else { continue };
        media.carriers.extend(found.carriers);
        media.meta = media.meta.or(found.meta);
    }
    media
}

/// Reads a disk of a running machine: the files of a volume, or META of a disk with partitions. The boot media themselves are
/// not read again.
fn on_disk(disk: &BlockDevice) -> Option<BootMedia> {
    let volume = FileSystem::find_in(disk).ok()?;
    if let Some(volume) = volume {
        let is_booted = volume.label.starts_with("TALOS_");
        return if is_booted { None } else { BootMedia::of_image(disk, &mut MemoryStore::default()).ok() };
    }
    let partitions = Partitions::find_in(disk).ok()??;
    let meta = partitions.list.iter().find(|partition| partition.label == "META")?.window(disk).ok()?;
    let mut bytes = vec![0; adv::LENGTH];
    meta.read_at(0, &mut bytes).ok()?;
    Some(BootMedia {
        meta: Some(adv::read(&bytes).map_err(MetaValuesError::Partition)),
        ..BootMedia::default()
    })
}

/// A disk or CD of this machine.
struct BlockDevice {
    file: File,
    size: u64,
}

impl BlockDevice {
    fn open(name: &str) -> io::Result<Self> {
        let mut file = File::open(format!("/dev/{name}"))?;
        let size = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, size })
    }
}

impl Image for BlockDevice {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

fn print_inspection(inspection: &Inspection) {
    assert!(!inspection.platform.is_empty(), "no talos.platform on the command line");
    print(&format!("platform {}", inspection.platform));
    for source in &inspection.sources {
        print(&format!("configuration of {}: {}", source.name, source.verdict.word()));
    }
    for mistake in &inspection.mistakes {
        print(&format!("{}: {}", mistake.rule.id, mistake.issue.message));
    }
    print(&format!("hostname {}", inspection.hostname().unwrap_or_default()));
    print(&format!("outcome {}", inspection.outcome().word()));
}

/// Brings links up and sets their static addresses. DHCP is not simulated.
fn connect(node: &dyn NodeHost, inspection: &Inspection) {
    for name in links(node).iter().map(|link| link.name.as_str()).chain(["lo"]) {
        node.ask(&format!("ip link set {name} up"));
    }
    for found in inspection.addressing.iter().filter(|found| !found.is_operator()) {
        node.ask(&format!("ip address add {} dev {}", found.address, found.link));
        print(&format!("address {} on {}", found.address, found.link));
    }
}

/// The services of all extensions, by the names of their definitions.
fn services(node: &dyn NodeHost) -> Vec<ExtensionService<'_>> {
    let files = fs::read_dir(DEFINITIONS).into_iter().flatten().map(|file| file.unwrap().path());
    let files: BTreeMap<PathBuf, String> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect();
    let service = |(path, text): (PathBuf, String)| {
        let read = document::read(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let definition = read.into_iter().next().unwrap_or_else(|| panic!("{} is empty", path.display()));
        let root = format!("{ROOTS}/{}", definition["name"].as_str().expect("a service has a name"));
        ExtensionService::new(node, definition, root)
    };
    files.into_iter().map(service).collect()
}

fn start(service: &mut ExtensionService<'_>, inspection: &Inspection) {
    let name = service.name().to_owned();
    let documents =
        inspection.effective().into_iter().flat_map(|config| config.of_kind("ExtensionServiceConfig"));
    let document = documents.map(|document| &document.value).find(|value| value["name"] == name.as_str());
    if let Some(depends) = service.waits_for(document) {
        print(&format!("service ext-{name} waits for {depends}"));
        return;
    }
    service.start(document.unwrap_or(&Value::Null));
    print(&format!("service ext-{name} running"));
}

/// Prints the output of services on the console.
fn follow(node: &dyn NodeHost) {
    let mut shown = 0;
    loop {
        let log = fs::read_to_string(node.path("/tmp/log")).unwrap_or_default();
        let complete = log.rfind('\n').map_or(0, |end| end + 1);
        for line in log[shown..complete].lines() {
            println!("ext: {line}");
        }
        shown = complete;
        thread::sleep(Duration::from_millis(500));
    }
}
