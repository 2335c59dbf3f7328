//! A node and a leaf: two machines connected by a cable.

mod check;
mod recovery;
mod reload;
mod restart;
mod sessions;

use crate::frr::driver::Agent;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, wait_for};

/// The node's address.
const ADDRESS: &str = "10.0.0.1";

/// Milliseconds before the first update. With none, bgpd 8.4 sometimes signals that it has sent all routes before it
/// has sent any: after a restart the leaf then drops the node's routes for a moment.
const COALESCE: u32 = 250;

/// A node and its leaf.
struct Pair {
    node: LabMachine,
    leaf: LabMachine,
    frr: Frr,
}

/// The node's configuration.
#[derive(Clone, Copy)]
struct Node {
    bfd: bool,
}

impl Node {
    fn conf(self) -> String {
        let bfd = if self.bfd { " neighbor eth0 bfd\n neighbor eth0 bfd profile fast\n" } else { "" };
        let profile = "bfd\n profile fast\n  receive-interval 200\n  transmit-interval 200\n exit\nexit\n";
        let profile = if self.bfd { profile } else { "" };
        format!(
            "frr defaults datacenter
hostname node
bgp route-map delay-timer 1
{profile}interface eth0
 no ipv6 nd suppress-ra
 ipv6 nd ra-interval 1
exit
ip prefix-list OWN seq 5 permit {ADDRESS}/32
route-map OWN permit 10
 match ip address prefix-list OWN
exit
ip prefix-list IN seq 5 permit 0.0.0.0/0 le 32
route-map IN permit 10
 match ip address prefix-list IN
exit
bgp as-path access-list OWN seq 5 permit ^$
route-map OUT permit 10
 match as-path OWN
exit
route-map SRC permit 10
 set src {ADDRESS}
exit
router bgp 65001
 bgp router-id {ADDRESS}
 coalesce-time {COALESCE}
 bgp graceful-restart
 bgp graceful-restart preserve-fw-state
 neighbor eth0 interface v6only remote-as external
{bfd} address-family ipv4 unicast
  redistribute connected route-map OWN
  neighbor eth0 route-map IN in
  neighbor eth0 route-map OUT out
 exit-address-family
exit
ip protocol bgp route-map SRC
"
        )
    }

    fn daemons(self, frr: Frr) -> String {
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        format!(
            "mgmtd={}\nzebra=yes\nzebra_options=\"-P 0 -s 16777216 -r -K 60\"\nbgpd=yes\nbgpd_options=\"-P 0\"\nbfdd={}\nstaticd=yes\n",
            yes(frr == Frr::V10),
            yes(self.bfd)
        )
    }
}

const LEAF: &str = "frr defaults datacenter
hostname leaf
interface eth0
 no ipv6 nd suppress-ra
 ipv6 nd ra-interval 1
exit
ip route 198.51.100.0/24 blackhole
router bgp 65100
 bgp router-id 10.0.0.100
 coalesce-time 0
 neighbor eth0 interface v6only remote-as external
 address-family ipv4 unicast
  redistribute static
 exit-address-family
exit
";

impl Pair {
    fn new(frr: Frr, node: Node) -> Self {
        let (leaf, machine) = (frr.machine(), frr.machine());
        leaf.cable("eth0", &machine, "eth0");
        machine.ask(&format!("ip addr add {ADDRESS}/32 dev lo; echo 1 >/proc/sys/net/ipv4/ip_forward"));
        frr.start(&leaf, None);
        let bfd = if node.bfd {
            " neighbor eth0 bfd\n neighbor eth0 bfd check-control-plane-failure\n"
        } else {
            ""
        };
        let conf = LEAF.replace(" address-family", &format!("{bfd} address-family"));
        let loaded = Frr::load(&leaf, &conf);
        assert!(loaded.status.success(), "{loaded:?}");
        Self { node: machine, leaf, frr }
    }

    fn agent(&self, node: Node) -> (Agent, String) {
        Agent::start(&self.node, &node.conf(), &node.daemons(self.frr))
    }

    /// Whether the leaf has the node's route.
    fn has_route(&self) -> bool {
        self.leaf.run(&format!("ip route show {ADDRESS}")).stdout.starts_with(ADDRESS.as_bytes())
    }

    /// Whether the node's kernel has the leaf's.
    fn knows_leaf(&self) -> bool {
        !self.node.run("ip route show 198.51.100.0/24").stdout.is_empty()
    }

    fn log(&self) -> String {
        self.node.ask("cat /tmp/agent.log; vtysh -N node -c 'show bgp summary'; ip route")
            + &self.leaf.ask("ip route")
    }

    fn wait_for_routes(&self, when: &str) {
        wait_for(when, || self.has_route() && self.knows_leaf(), || self.log());
    }

    /// Whether the leaf has a session with the node.
    fn is_established(&self) -> bool {
        self.leaf.ask("vtysh -c 'show bgp summary established json'").contains("eth0")
    }

    /// How often the session was established, according to the leaf.
    fn established(&self) -> String {
        self.leaf.ask("vtysh -c 'show bgp neighbors eth0 json' | grep connectionsEstablished")
    }
}

/// A pair whose agent has started, with routes at both ends.
fn routed(frr: Frr, node: Node) -> (Pair, Agent) {
    let pair = Pair::new(frr, node);
    let start = std::time::Instant::now();
    let (agent, reply) = pair.agent(node);
    assert_eq!(reply, "started", "{}", pair.node.ask("cat /tmp/agent.log"));
    let started_after = start.elapsed();
    pair.wait_for_routes("routes at both ends");
    eprintln!(
        "{frr:?} bfd {}: started after {started_after:?}, routes after {:?}",
        node.bfd,
        start.elapsed()
    );
    (pair, agent)
}
