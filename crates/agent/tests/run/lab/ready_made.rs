//! A ready-made file, with gateways that have addresses.

use super::leaf::{Leaf, SHARED};
use super::node::Node;
use ichor_testbed::frr::Frr;
use ichor_testbed::lab::wait_for;

const CONF: &str = "frr defaults datacenter
hostname node
ip prefix-list OWN seq 5 permit 10.0.0.1/32
route-map OWN permit 10
 match ip address prefix-list OWN
exit
router bgp 65001
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 neighbor 10.7.1.254 remote-as 65101
 neighbor 10.7.2.254 remote-as 65102
 bgp bestpath as-path multipath-relax
 address-family ipv4 unicast
  redistribute connected route-map OWN
 exit-address-family
exit
";

#[test]
fn a_ready_made_file_runs_unchanged() {
    for frr in Frr::ALL {
        let node = Node::new(frr.machine());
        node.machine.ask("ip address add 10.0.0.1/32 dev lo; ip address add 10.0.0.2/32 dev lo");
        let leafs = [1, 2].map(|nth| Leaf::new(frr, nth));
        for (leaf, nth) in leafs.iter().zip(1..) {
            leaf.cable(&node, &format!("eth{nth}"));
            node.machine.ask(&format!("ip address add 10.7.{nth}.1/24 dev eth{nth}"));
            leaf.machine.ask(&format!("ip address add 10.7.{nth}.254/24 dev to0"));
            leaf.start();
            leaf.load_config("", &format!(" bgp listen range 10.7.{nth}.0/24 peer-group NODES\n"));
        }
        let daemons =
            "bgpd=yes\nbfdd=no\nzebra_options=\"-A 127.0.0.1 -s 90000000\"\nbgpd_options=\"-A 127.0.0.1\"\n";
        node.machine.write("/usr/local/etc/frr/frr.conf", CONF);
        node.machine.write("/usr/local/etc/frr/daemons", daemons);

        node.start(&[], "");

        let state = || node.state() + &leafs.each_ref().map(Leaf::state).concat();
        let all = || leafs.iter().all(|leaf| leaf.has_route_to("10.0.0.1"));
        wait_for("the node at both gateways", all, state);
        wait_for("both ways", || node.route_to(SHARED).matches("nexthop").count() == 2, state);
        node.wait_for_sessions(2);
        assert!(!leafs[0].has_route_to("10.0.0.2"), "{}", state());
        let before = leafs.each_ref().map(Leaf::established);

        node.machine.write(
            "/usr/local/etc/frr/frr.conf",
            &CONF.replace("permit 10.0.0.1/32", "permit 10.0.0.0/24 le 32"),
        );

        let all = || leafs.iter().all(|leaf| leaf.has_route_to("10.0.0.2"));
        wait_for("the edited file", all, state);
        assert_eq!(leafs.each_ref().map(Leaf::established), before);
        node.stop();
    }
}
