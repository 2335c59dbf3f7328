//! MetalLB's own programs behind a node, with nothing but the objects of a build. Needs `scripts/lab-parts etcd kubernetes crds
//! metallb frr-k8s`.

use std::thread;
use std::time::{Duration, Instant};

use ichor_bgp::model::BgpModel;
use ichor_bgp::setting::MetallbMode;
use serde_json::Value;

use super::Topology;
use super::build::{CLUSTER, FILE, agent_config_of, configure_ports};
use super::node::model_of;
use ichor_testbed::fabric::files_of;
use ichor_testbed::frr::Frr;
use ichor_testbed::kubernetes::ApiServer;
use ichor_testbed::lab::wait_for;
use ichor_testbed::metallb::Metallb;

/// The time from the start of MetalLB to its session. It takes three seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The first node's other address.
const ADDRESS_V6: &str = "fd00:10:fe::10";

/// The first node of a cluster between two leafs, and the model of its routing.
struct Setup {
    topology: Topology,
    server: ApiServer,
    model: BgpModel,
    manifest: String,
}

impl Setup {
    /// A node with a running agent, and an API server that knows nothing yet.
    fn new(cluster: &str) -> Self {
        let (server, topology) = thread::scope(|scope| {
            let server = scope.spawn(ApiServer::start);
            let topology = Topology::new(Frr::V8);
            (server.join().unwrap(), topology)
        });
        let node = &topology.node;
        configure_ports(node);
        node.machine.ask(&format!("ip address add {ADDRESS_V6}/128 dev lo"));
        let config = agent_config_of(cluster);
        node.machine.write(FILE, &config.text());
        node.start(&[], "");
        topology.wait_for("from the start", super::build::ADDRESS, true);
        let files = files_of(cluster).unwrap();
        let manifest = files.iter().find(|file| file.path == "manifests/metallb.yaml").unwrap();
        let manifest = manifest.text().unwrap().to_owned();
        Self { topology, server, model: model_of(config), manifest }
    }

    /// Starts MetalLB, applies the objects, and waits until the session with the node is established.
    fn start(&self, mode: MetallbMode) -> Metallb<'_> {
        let node = &self.topology.node;
        let mut metallb = Metallb::install(&self.server, &node.machine, "row1");
        self.server.apply(&self.manifest);
        let start = Instant::now();
        metallb.start(mode);
        let state = || metallb.state() + &self.topology.state();
        wait_for("MetalLB's session", || self.session()["bgpState"] == "Established", state);
        let time = start.elapsed();
        eprintln!("session after {time:?}");
        assert!(time < PATIENCE, "{time:?}");
        assert_eq!(metallb.wait_for_result("Valid", "Valid"), "");
        metallb
    }

    /// The node's session with MetalLB, as its daemon reports it.
    fn session(&self) -> Value {
        let output = self.topology.node.machine.ask("vtysh -c 'show bgp vrf metallb neighbors json'");
        let json: Value = serde_json::from_str(&output).unwrap();
        json[self.model.workload.as_ref().unwrap().theirs.address.to_string()].clone()
    }

    /// Creates a service, and checks that both leafs have routes to it over the node until it is deleted.
    fn serve(&self, metallb: &Metallb<'_>, families: &[&str]) {
        let addresses = metallb.create_service("web", families);
        let state = || metallb.state() + &self.topology.state();
        let leafs = &self.topology.leafs;
        let path = format!("{} {}", self.model.asn, self.model.workload.as_ref().unwrap().theirs.asn);
        for address in &addresses {
            let everywhere = || leafs.iter().all(|leaf| leaf.has_route_to(address));
            wait_for(&format!("{address} at both leafs"), everywhere, state);
            self.topology.node.serve(address);
            for leaf in leafs {
                assert!(leaf.route_to(address).contains("dev to0"), "{}", state());
                assert_eq!(leaf.as_paths(address), [path.as_str()]);
            }
        }
        let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
        wait_for("a response of each", || leafs[0].unanswered(&addresses).is_empty(), state);

        metallb.delete_service("web");

        for address in &addresses {
            let nowhere = || !leafs.iter().any(|leaf| leaf.has_route_to(address));
            wait_for(&format!("no {address} at the leafs"), nowhere, state);
        }
        assert_eq!(self.session()["bgpState"], "Established", "{}", state());
    }

    /// The problem of the session with MetalLB, as reported by the agent.
    fn problem(&self) -> String {
        let status = self.topology.node.status();
        let sessions = status["sessions"].as_array().into_iter().flatten();
        let problems = sessions
            .filter(|session| session["peer_role"] == "load_balancer")
            .map(|session| session["problem"].as_str().unwrap_or_default());
        problems.collect()
    }

    /// Removes the peer and creates it again, and returns the problem that the agent reports in between.
    fn remake_session(&self, metallb: &Metallb<'_>) -> String {
        let state = || metallb.state() + &self.topology.state();
        assert_eq!(self.problem(), "", "{}", state());

        self.server.run(&["delete", "bgppeer", "-n", "metallb-system", "node"]);

        wait_for("a problem", || !self.problem().is_empty(), state);
        let problem = self.problem();
        self.server.apply(&self.manifest);
        wait_for("the session again", || self.session()["bgpState"] == "Established", state);
        wait_for("no problem", || self.problem().is_empty(), state);
        problem
    }
}

/// The example with its first node as a worker: MetalLB announces nothing from a control plane, which Talos labels with
/// `node.kubernetes.io/exclude-from-external-load-balancers`.
fn cluster() -> String {
    replaced(CLUSTER, "{name: row1, role: controlplane", "{name: row1, role: worker")
}

/// Replaces the part of the text that occurs exactly once.
fn replaced(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from}: {text}");
    text.replace(from, to)
}

#[test]
fn services_of_metallb_in_native_mode_reach_the_fabric() {
    let setup = Setup::new(&cluster());

    let metallb = setup.start(MetallbMode::Native);

    let session = setup.session();
    let timers = ["bgpTimerHoldTimeMsecs", "bgpTimerKeepAliveIntervalMsecs"].map(|key| session[key].as_u64());
    assert_eq!(timers, [Some(9000), Some(3000)], "{session:#}");
    setup.serve(&metallb, &["IPv4"]);

    assert_eq!(setup.remake_session(&metallb), "192.168.250.255 has not connected");

    // Why objects of this mode have no keepalive time.
    let keepalive = r#"{"spec": {"keepaliveTime": "3s"}}"#;
    setup.server.run(&["patch", "bgppeer", "-n", "metallb-system", "node", "--type=merge", "-p", keepalive]);
    let errors = metallb.wait_for_result("Valid", "Invalid");
    assert!(errors.contains("has keepalive-time set on native bgp mode"), "{errors}");
    setup.topology.node.stop();
}

/// IPv4 over an IPv6 link needs extended next hop, for which MetalLB has no key.
#[test]
fn services_of_metallb_with_frr_k8s_reach_the_fabric_over_ipv6() {
    let cluster = replaced(&cluster(), "{mode: native, ", "{mode: frr-k8s, ");
    let link = "link: {ours: \"fd00:10:aa::\", theirs: \"fd00:10:aa::1\", mtu: 1500}";
    let cluster = replaced(&cluster, "link: {mtu: 1500}", link);
    let cluster = replaced(&cluster, "[203.0.113.0/24]", "[203.0.113.0/24, \"2001:db8:113::/120\"]");
    let setup = Setup::new(&cluster);

    let metallb = setup.start(MetallbMode::FrrK8s);

    let session = setup.session();
    let extended = &session["neighborCapabilities"]["extendedNexthop"];
    assert_eq!(extended, "advertisedAndReceived", "{session:#}");
    setup.serve(&metallb, &["IPv4", "IPv6"]);
    let received = metallb.ask_frr("vtysh -c 'show bgp ipv4 unicast' -c 'show bgp ipv6 unicast'");
    assert!(!received.contains("*>"), "{received}");
    setup.topology.node.stop();
}
