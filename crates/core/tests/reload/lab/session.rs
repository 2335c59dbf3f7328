//! A session with a real leaf, which must survive a reload and carry no route that neither file permits.

use ichor_bgp::reload::FrrDaemon;
use serde_json::Value;

use ichor_testbed::frr::Frr;
use ichor_testbed::lab::{LabMachine, wait_for, wait_seconds};
use ichor_testbed::vty::{Vty, compare_running, reload};

/// An address of the node that neither file announces.
const SECRET: &str = "10.66.0.1";

const ONE: &str = "frr defaults datacenter\nbgp route-map delay-timer 1\n\
    interface eth0\n no ipv6 nd suppress-ra\n ipv6 nd ra-interval 1\nexit\n\
    ip prefix-list OWN seq 5 permit 10.0.1.1/32\n\
    bgp as-path access-list LOCAL seq 5 permit ^$\n\
    route-map CONNECTED permit 10\n match ip address prefix-list OWN\nexit\n\
    route-map OUT permit 10\n match as-path LOCAL\nexit\n\
    route-map IN permit 10\nexit\n\
    router bgp 65001\n no bgp default ipv4-unicast\n neighbor eth0 interface v6only remote-as external\n \
    neighbor eth0 timers 3 9\n neighbor 192.0.2.9 remote-as 65009\n \
    address-family ipv4 unicast\n  redistribute connected route-map CONNECTED\n  neighbor eth0 activate\n  \
    neighbor eth0 route-map IN in\n  neighbor eth0 route-map OUT out\n  neighbor 192.0.2.9 activate\n exit-address-family\nexit\n";

const OTHER: &str = "frr defaults datacenter\nbgp route-map delay-timer 1\n\
    interface eth0\n no ipv6 nd suppress-ra\n ipv6 nd ra-interval 2\nexit\n\
    ip prefix-list OWN seq 5 deny 10.0.1.1/32\nip prefix-list OWN seq 10 permit 10.0.1.0/24 ge 32\n\
    ip prefix-list ONLY seq 5 permit 10.0.1.2/32\n\
    bgp as-path access-list LOCAL seq 5 permit ^65009$\nbgp as-path access-list LOCAL seq 10 permit ^$\n\
    route-map FROM deny 5\n match ip address prefix-list OWN\nexit\nroute-map FROM permit 10\nexit\n\
    route-map CONNECTED permit 5\n match ip address prefix-list ONLY\n set metric 7\nexit\n\
    route-map OUT permit 5\n match ip address prefix-list ONLY\n set community 65001:1 additive\nexit\n\
    route-map OUT permit 20\n match as-path LOCAL\n match ip address prefix-list OWN\nexit\n\
    router bgp 65001\n no bgp default ipv4-unicast\n bgp bestpath as-path multipath-relax\n \
    neighbor eth0 interface v6only remote-as external\n neighbor eth0 timers 1 3\n neighbor eth0 description the leaf\n \
    neighbor 192.0.2.8 remote-as 65008\n \
    address-family ipv4 unicast\n  redistribute connected route-map CONNECTED\n  neighbor eth0 activate\n  \
    neighbor eth0 route-map FROM in\n  neighbor eth0 route-map OUT out\n  neighbor eth0 maximum-prefix 50\n  \
    neighbor 192.0.2.8 activate\n exit-address-family\nexit\n";

fn leaf(node: &LabMachine) -> LabMachine {
    let leaf = Frr::V8.machine();
    node.cable("eth0", &leaf, "to-node");
    Frr::V8.start(&leaf, None);
    let conf = "frr defaults datacenter\nlog file /tmp/updates debugging\ndebug bgp updates in\n\
        interface to-node\n no ipv6 nd suppress-ra\n ipv6 nd ra-interval 1\nexit\n\
        router bgp 65101\n bgp router-id 10.255.0.1\n neighbor to-node interface v6only remote-as external\nexit\n";
    leaf.ask("touch /tmp/updates && chmod 666 /tmp/updates");
    let loaded = Frr::load(&leaf, conf);
    assert!(loaded.status.success(), "{loaded:?}");
    leaf
}

/// The number of times that the session came up, and its uptime.
fn session(node: &LabMachine) -> (u64, u64) {
    let (output, _) = Vty::open(node, FrrDaemon::Bgpd).ask("show bgp neighbors eth0 json");
    let output: Value = serde_json::from_str(&output).unwrap();
    let number = |name: &str| output["eth0"][name].as_u64().unwrap_or_default();
    (number("connectionsEstablished"), number("bgpTimerUpMsec"))
}

fn has(leaf: &LabMachine, address: &str) -> bool {
    let (output, _) = Vty::open(leaf, FrrDaemon::Bgpd).ask("show bgp ipv4 unicast json");
    let output: Value = serde_json::from_str(&output).unwrap();
    output["routes"].get(format!("{address}/32")).is_some()
}

fn keeps_its_session(frr: Frr) {
    let node = frr.machine();
    node.ask("for a in 10.0.1.1 10.0.1.2 10.66.0.1; do ip address add $a/32 dev lo; done");
    let leaf = leaf(&node);
    frr.start(&node, None);
    let (_, against) = reload(&node, frr, ONE);
    assert_eq!(against, Vec::<String>::new());
    let state = || node.ask("vtysh -c 'show bgp summary' -c 'show running-config'");
    wait_for("the node's route", || has(&leaf, "10.0.1.1"), state);
    let (times, mut up) = session(&node);

    for (conf, there, gone) in [(OTHER, "10.0.1.2", "10.0.1.1"), (ONE, "10.0.1.1", "10.0.1.2")].repeat(3) {
        let (_, against) = reload(&node, frr, conf);

        assert_eq!(against, Vec::<String>::new());
        assert_eq!(compare_running(&node, frr, conf), Vec::<String>::new());
        wait_for("the change", || has(&leaf, there) && !has(&leaf, gone), state);
        let (again, longer) = session(&node);
        assert_eq!(again, times, "{}", state());
        assert!(longer > up, "{longer} after {up}");
        up = longer;
    }
    wait_seconds(1);
    let updates = leaf.ask("cat /tmp/updates");
    assert!(updates.contains("10.0.1.2/32"), "nothing is seen: {updates}");
    assert!(!updates.contains(SECRET), "{updates}");
}

#[test]
fn frr_8_keeps_its_session_and_leaks_nothing() {
    keeps_its_session(Frr::V8);
}

#[test]
fn frr_10_keeps_its_session_and_leaks_nothing() {
    keeps_its_session(Frr::V10);
}
