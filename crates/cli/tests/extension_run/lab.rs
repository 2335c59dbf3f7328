//! A node with the extension and a leaf with real FRR, connected by a cable.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use ichor_image::oci::{Archive, EntryKind, FileTree, MemoryStore, OciImage};
use ichor_talos::document;
use ichor_values::Arch;
use serde_json::{Value, json};

use crate::common::{LEAF, agent, folder, ichor};
use ichor_testbed::extension_service::{ExtensionService, listen_machined};
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{self, LabMachine, wait_for};

/// Address of the node.
const ADDRESS: &str = "10.12.10.1";

/// MAC address of the node's port, by which the agent finds it.
const PORT: &str = "52:54:00:12:00:01";

const SECRETS: &str = include_str!("../../../talos/tests/data/clusters/single-v1.12/secrets.yaml");

const CLUSTER: &str = r#"
cluster: {name: lab, id: 12, talos: v1.13.9}
secrets: secrets.yaml
network: {node: null, loopback: {v4: 10.12.10.0/24}}
routing:
  backend: BACKEND
  asn: 4200000991
  router_id: loopback
  agent: {log: LEVEL}
  neighbors: [NEIGHBOR]
image: {registry: ghcr.io/example/talos}
defaults: {install: {disk: /dev/sda}}
nodes: [{name: n1, role: controlplane, index: 1, macs: ["52:54:00:12:00:01"]}]
"#;

/// FRR configuration of a leaf with a numbered session.
const GATEWAY: &str = "frr defaults datacenter
hostname leaf
ip route 198.51.100.0/24 blackhole
router bgp 65100
 bgp router-id 10.0.0.100
 neighbor 10.12.0.1 remote-as external
 neighbor 10.12.0.1 timers connect 1
 address-family ipv4 unicast
  redistribute static
 exit-address-family
exit
";

/// The extension with the daemon of a Debian release.
fn extension(backend: &str, suite: &str) -> FileTree {
    let folder = folder(&[]);
    let agent = agent();
    let words = format!(
        "extension build --backend {backend} --debian {suite} --agent {} -o frr.tar",
        agent.display()
    );
    let run = ichor(folder.path(), &words);
    assert_eq!(run.code, 0, "{}", run.all());
    let file = fs::File::open(folder.path().join("frr.tar")).unwrap();
    let mut layout = Archive::open(file, &mut MemoryStore::default()).unwrap().layout().unwrap();
    let image = OciImage::find(&mut layout, Arch::Amd64).unwrap();
    image.unpack(&mut layout, &mut MemoryStore::default(), &|| {}).unwrap()
}

/// The extension document of a node with FRR from `ichor build`, with this log level of the agent.
fn built(level: &str) -> Value {
    built_for("frr", "{link: eth0, bfd: false}", level)
}

/// The document for another daemon and neighbour.
fn built_for(backend: &str, neighbor: &str, level: &str) -> Value {
    let cluster = CLUSTER.replace("BACKEND", backend).replace("NEIGHBOR", neighbor).replace("LEVEL", level);
    let folder = folder(&[("ichor.yaml", &cluster), ("talosctl.yaml", SECRETS)]);
    for words in ["secrets import talosctl.yaml --plain -o secrets.yaml", "build -o out"] {
        let run = ichor(folder.path(), words);
        assert_eq!(run.code, 0, "{words}: {}", run.all());
    }
    let text = fs::read_to_string(folder.path().join("out/lab/nodes/n1/machine.yaml")).unwrap();
    let documents = document::read(&text).unwrap().into_iter();
    documents.into_iter().find(|it| document::kind(it) == Some("ExtensionServiceConfig")).unwrap()
}

/// A document with environment variables only.
fn document_of_variables(variables: &[&str]) -> Value {
    json!({"apiVersion": "v1alpha1", "kind": "ExtensionServiceConfig", "name": "frr", "environment": variables})
}

/// Path of the unpacked extension on the node.
const EXTENSION: &str = "/tmp/extension";

/// Installs an extension on a node, and returns its service.
fn install<'n>(node: &'n LabMachine, extension: &FileTree, name: &str) -> ExtensionService<'n> {
    put(extension, &node.path(EXTENSION));
    let definition = extension.read(&format!("rootfs/usr/local/etc/containers/{name}.yaml")).unwrap();
    let definition = document::read(str::from_utf8(definition).unwrap()).unwrap().remove(0);
    ExtensionService::new(node, definition, format!("{EXTENSION}/rootfs/usr/local/lib/containers/{name}"))
}

/// Writes an unpacked image to disk.
fn put(root: &FileTree, folder: &Path) {
    fs::create_dir(folder).unwrap();
    for (path, entry) in root.iter() {
        let path: PathBuf = folder.join(path);
        match &entry.kind {
            EntryKind::Folder => fs::create_dir_all(&path).unwrap(),
            EntryKind::Link(target) => symlink(target, &path).unwrap(),
            EntryKind::File(content) => fs::write(&path, content.read().unwrap()).unwrap(),
            EntryKind::Special(name) => panic!("a {name} at {}", path.display()),
        }
        if !matches!(entry.kind, EntryKind::Link(_)) {
            fs::set_permissions(&path, fs::Permissions::from_mode(entry.mode)).unwrap();
        }
    }
}

/// A node without a running service, and its leaf.
struct Pair {
    node: LabMachine,
    leaf: LabMachine,
}

impl Pair {
    fn new() -> Self {
        let (leaf, node) = (Frr::V8.machine(), LabMachine::new(lab::RootFileSystem::Own));
        leaf.cable("eth0", &node, "eth0");
        node.ask(&format!(
            "ip link set eth0 down && ip link set eth0 address {PORT} && ip link set eth0 up && ip address add {ADDRESS}/32 dev lo"
        ));
        Frr::V8.start(&leaf, None);
        let loaded = Frr::load(&leaf, LEAF);
        assert!(loaded.status.success(), "{loaded:?}");
        Self { node, leaf }
    }

    fn is_routed(&self) -> bool {
        let known = !self.node.run("ip route show 198.51.100.0/24").stdout.is_empty();
        known && self.leaf.run(&format!("ip route show {ADDRESS}")).stdout.starts_with(ADDRESS.as_bytes())
    }

    fn wait_for_routes(&self, service: &ExtensionService<'_>) {
        let state =
            || service.log() + &service.ask("/usr/bin/ichor-agent", "status") + &self.node.ask("ip route");
        wait_for("routes at both ends", || self.is_routed(), state);
    }

    /// Number of established sessions so far, as counted by the leaf.
    fn sessions(&self) -> String {
        self.leaf.ask("vtysh -c 'show bgp neighbors eth0 json' | grep connectionsEstablished")
    }

    /// Everything in the node's /run except the writable folders of the service and the state of mount(8).
    fn untouched(&self) -> String {
        let others = ["/run/ichor", "/run/netns", "/run/mount"].map(|path| format!("-path {path} -prune -o"));
        self.node.ask(&format!("find /run {} -print | sort", others.join(" ")))
    }
}

/// Brings BGP up with a document, restarts the service with another one, and checks the node with both.
fn runs(suite: &str, first: &Value, second: &Value, holds: impl Fn(&Pair)) {
    let pair = Pair::new();
    let before = pair.untouched();
    let _machined = listen_machined(&pair.node);
    let mut service = install(&pair.node, &extension("frr", suite), "frr");

    service.start(first);
    pair.wait_for_routes(&service);
    holds(&pair);
    let status = service.ask("/usr/bin/ichor-agent", "status");
    assert!(status.contains("Established"), "{status}");

    // Talos restarts a service whose document was edited.
    let sessions = pair.sessions();
    pair.leaf.ask("ip -o monitor route >/tmp/changes 2>&1 &");
    service.stop();
    assert!(!service.log().contains("killed"), "{}", service.log());
    service.start(second);
    let state = || service.log();
    wait_for("another session", || pair.sessions() != sessions && pair.is_routed(), state);
    wait_for("a status", || service.ask("/usr/bin/ichor-agent", "status").contains("Established"), state);
    holds(&pair);
    let changes = pair.leaf.ask("cat /tmp/changes");
    assert!(!changes.contains(&format!("Deleted {ADDRESS}")), "{changes}\n{}", service.log());

    service.stop();
    assert_eq!(service.root_changes(), "", "written to the root");
    assert_eq!(pair.untouched(), before, "written to the node");
    let mounts = pair.node.ask("grep -c ' /run/ichor' /proc/self/mountinfo || true");
    assert_eq!(mounts.trim(), "0", "mounts that are left on the node");
}

#[test]
fn a_node_of_a_build_routes_with_frr_8() {
    runs("bookworm", &built("info"), &built("debug"), |_| {});
}

#[test]
fn a_node_of_a_build_routes_with_frr_10() {
    runs("trixie", &built("info"), &built("debug"), |_| {});
}

#[test]
fn a_node_configured_by_variables_routes_and_exposes_the_namespace_of_its_speaker() {
    let variables = [&format!("NODE_IP={ADDRESS}"), "ASN_LOCAL=4200000992", "FE_PORTS=eth0"];
    let edited = [&variables[..], &["ICHOR_LOG=debug"]].concat();
    let namespace = std::cell::OnceCell::new();

    runs("bookworm", &document_of_variables(&variables), &document_of_variables(&edited), |pair| {
        let number = pair.node.ask("ip netns exec metallb readlink /proc/self/ns/net");
        let links = pair.node.ask("ip -netns metallb -br link");
        assert!(links.contains("veth"), "{links}");
        assert_eq!(namespace.get_or_init(|| number.clone()), &number, "the namespace is another one now");
    });
}

#[test]
fn a_node_of_a_build_routes_with_bird() {
    for suite in ["bookworm", "trixie"] {
        let pair = Pair::new();
        let _machined = listen_machined(&pair.node);
        let mut service = install(&pair.node, &extension("bird", suite), "bird");

        service.start(&built_for("bird", "{link: eth0, bfd: false}", "debug"));

        pair.wait_for_routes(&service);
        let status = service.ask("/usr/bin/ichor-agent", "status");
        assert!(status.contains("Established"), "{status}");
        service.stop();
        assert_eq!(service.root_changes(), "", "written to the root");
    }
}

/// GoBGP 3 sends no usable next hop over unnumbered sessions.
#[test]
fn a_node_of_a_build_routes_with_gobgp() {
    let pair = Pair::new();
    pair.node.ask("ip address add 10.12.0.1/24 dev eth0");
    pair.leaf.ask("ip address add 10.12.0.254/24 dev eth0; vtysh -c 'configure terminal' -c 'no router bgp'");
    let loaded = Frr::load(&pair.leaf, GATEWAY);
    assert!(loaded.status.success(), "{loaded:?}");
    let _machined = listen_machined(&pair.node);
    let mut service = install(&pair.node, &extension("gobgp", "trixie"), "gobgp");

    let document = |level| built_for("gobgp", "{address: 10.12.0.254, asn: 65100, bfd: false}", level);
    service.start(&document("debug"));

    pair.wait_for_routes(&service);
    let status = service.ask("/usr/bin/ichor-agent", "status");
    assert!(status.contains("Established"), "{status}");

    // Talos terminates the agent and gobgpd, and starts the service with its edited document.
    let sessions = || pair.leaf.ask("vtysh -c 'show bgp neighbors 10.12.0.1 json' | grep connectionsEst");
    let before = sessions();
    pair.leaf.ask("ip -o monitor route >/tmp/changes 2>&1 &");
    service.stop();
    service.start(&document("info"));
    wait_for("another session", || sessions() != before && pair.is_routed(), || service.log());
    let changes = pair.leaf.ask("cat /tmp/changes");
    assert!(!changes.contains(&format!("Deleted {ADDRESS}")), "{changes}\n{}", service.log());

    service.stop();
    assert_eq!(service.root_changes(), "", "written to the root");
}
