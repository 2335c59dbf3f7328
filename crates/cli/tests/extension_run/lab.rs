//! A node with the extension, and a leaf with real FRR, on one cable.

use std::env;
use std::fs;
use std::path::PathBuf;

use ichor_core::cluster::section::Arch;
use ichor_core::oci::{Archive, Image, Root};
use ichor_core::talos::document;
use serde_json::{Value, json};

use crate::common::{folder, ichor};
use crate::machines::frr::Frr;
use crate::machines::lab::{self, Machine, wait_for};
use crate::talos::Service;

/// The node's address.
const ADDRESS: &str = "10.12.10.1";

/// The address of the node's port, by which the agent finds it.
const PORT: &str = "52:54:00:12:00:01";

const SECRETS: &str = include_str!("../../../core/tests/talos/clusters/single-v1.12/secrets.yaml");

const CLUSTER: &str = r#"
cluster: {name: lab, id: 12, talos: v1.13.9}
secrets: secrets.yaml
network: {node: null, loopback: {v4: 10.12.10.0/24}}
routing:
  backend: frr
  asn: 4200000991
  router_id: loopback
  agent: {log: LEVEL}
  neighbors: [{link: eth0, bfd: false}]
image: {registry: ghcr.io/example/talos}
defaults: {install: {disk: /dev/sda}}
nodes: [{name: n1, role: controlplane, index: 1, macs: ["52:54:00:12:00:01"]}]
"#;

const LEAF: &str = "frr defaults datacenter
hostname leaf
interface eth0
 no ipv6 nd suppress-ra
 ipv6 nd ra-interval 1
exit
ip route 198.51.100.0/24 blackhole
router bgp 65100
 bgp router-id 10.0.0.100
 neighbor eth0 interface v6only remote-as external
 address-family ipv4 unicast
  redistribute static
 exit-address-family
exit
";

/// The agent as it is on nodes, which `make agent` builds.
fn agent() -> PathBuf {
    let usual = || {
        // TARGET/debug/deps/this program
        let target = env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned();
        target.join("release/ichor-agent")
    };
    let path = env::var_os("ICHOR_AGENT").map_or_else(usual, PathBuf::from);
    assert!(path.exists(), "{}: not there; make it with `make agent`", path.display());
    path
}

/// The extension with the FRR of a Debian.
fn extension(suite: &str) -> Root {
    let folder = folder(&[]);
    let words = format!("extension build --debian {suite} --agent {} -o frr.tar", agent().display());
    let run = ichor(folder.path(), &words);
    assert_eq!(run.code, 0, "{}", run.all());
    let mut archive = Archive::open(&fs::read(folder.path().join("frr.tar")).unwrap()).unwrap();
    let image = Image::find(&mut archive, Arch::Amd64).unwrap();
    image.unpack(&mut archive, &|| {}).unwrap()
}

/// The document of the node in what `ichor build` writes, with this much in the agent's log.
fn built(level: &str) -> Value {
    let folder = folder(&[("ichor.yaml", &CLUSTER.replace("LEVEL", level)), ("talosctl.yaml", SECRETS)]);
    for words in ["secrets import talosctl.yaml --plain -o secrets.yaml", "build -o out"] {
        let run = ichor(folder.path(), words);
        assert_eq!(run.code, 0, "{words}: {}", run.all());
    }
    let text = fs::read_to_string(folder.path().join("out/lab/nodes/n1/machine.yaml")).unwrap();
    let documents = document::read(&text).unwrap().into_iter();
    documents.into_iter().find(|it| document::kind(it) == Some("ExtensionServiceConfig")).unwrap()
}

/// A document with nothing but variables.
fn told(variables: &[&str]) -> Value {
    json!({"apiVersion": "v1alpha1", "kind": "ExtensionServiceConfig", "name": "frr", "environment": variables})
}

/// A node on which nothing runs yet, and its leaf.
struct Pair {
    node: Machine,
    leaf: Machine,
}

impl Pair {
    fn new() -> Self {
        let (leaf, node) = (Frr::V8.machine(), Machine::new(lab::Root::Own));
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

    fn wait_for_routes(&self, service: &Service<'_>) {
        let state =
            || service.log() + &service.ask("/usr/bin/ichor-agent", "status") + &self.node.ask("ip route");
        wait_for("routes at both ends", || self.is_routed(), state);
    }

    /// How often there was a session, as the leaf tells.
    fn sessions(&self) -> String {
        self.leaf.ask("vtysh -c 'show bgp neighbors eth0 json' | grep connectionsEstablished")
    }

    /// Everything in the node's /run but what the service may write to, and what mount(8) notes for itself.
    fn untouched(&self) -> String {
        let others = ["/run/ichor", "/run/netns", "/run/mount"].map(|path| format!("-path {path} -prune -o"));
        self.node.ask(&format!("find /run {} -print | sort", others.join(" ")))
    }
}

/// Brings BGP up with a document, gives the service another one, and looks at what became of it all. What has to hold is looked
/// at with both.
fn runs(suite: &str, first: &Value, second: &Value, holds: impl Fn(&Pair)) {
    let pair = Pair::new();
    let before = pair.untouched();
    let mut service = Service::install(&pair.node, &extension(suite), "frr");

    service.start(first);
    pair.wait_for_routes(&service);
    holds(&pair);
    let status = service.ask("/usr/bin/ichor-agent", "status");
    assert!(status.contains("Established"), "{status}");

    // Talos stops a service whose document was edited, and starts it again.
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
    assert_eq!(service.written(), "", "written to the root");
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
fn a_node_that_is_told_by_variables_routes_and_shows_the_namespace_of_its_speaker() {
    let variables = [&format!("NODE_IP={ADDRESS}"), "ASN_LOCAL=4200000992", "FE_PORTS=eth0"];
    let edited = [&variables[..], &["ICHOR_LOG=debug"]].concat();
    let namespace = std::cell::OnceCell::new();

    runs("bookworm", &told(&variables), &told(&edited), |pair| {
        let number = pair.node.ask("ip netns exec metallb readlink /proc/self/ns/net");
        let links = pair.node.ask("ip -netns metallb -br link");
        assert!(links.contains("veth"), "{links}");
        assert_eq!(namespace.get_or_init(|| number.clone()), &number, "the namespace is another one now");
    });
}
