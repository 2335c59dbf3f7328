//! Links as reported by the kernel.

use ichor_agent::kernel::Kernel;
use ichor_bgp::agent::{Link, link};
use ichor_values::Mac;

use super::host::*;
use super::isolation::isolated;

#[test]
fn a_link_has_the_attributes_of_the_kernel() {
    isolated(|| async {
        cable("eth0", "leaf");
        ip("link set eth0 address 02:00:00:00:00:01 mtu 2000");
        ip("addr add 10.1.0.1/24 dev eth0");
        ip("netns add far");
        ip("link add near type veth peer name away netns far");

        let links = Kernel::open().unwrap().links().await.unwrap();

        let find = |name: &str| links.iter().find(|link| link.name == name).unwrap();
        let (eth0, leaf) = (find("eth0"), find("leaf"));
        let want = Link {
            index: eth0.index,
            name: "eth0".to_owned(),
            kind: Some("veth".to_owned()),
            mac: Some(Mac([2, 0, 0, 0, 0, 1])),
            mtu: 2000,
            peer: Some(leaf.index),
            addresses: vec![net("10.1.0.1/24")],
            ..Link::default()
        };
        assert_eq!(*eth0, want);
        assert!(leaf.up && !leaf.carrier, "switched on, and nothing at its other end: {leaf:?}");
        assert!(find("near").far && !eth0.far);
        assert!(find("lo").loopback && find("lo").mac.is_none());
        assert_eq!(link::find_port(&links, eth0.mac.unwrap()).unwrap(), Some(eth0));
    });
}
