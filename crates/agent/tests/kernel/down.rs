//! Removal.

use ichor_agent::kernel::Kernel;
use ichor_bgp::model::RoutingDomain;

use super::host::*;
use super::isolation::isolated;

#[test]
fn objects_of_other_programs_stay() {
    isolated(|| async {
        cable("eth0", "leaf");
        cable("ours", "theirs");
        ip("addr add fd00::1/128 dev lo");
        ip("addr add fd00:1::/127 dev ours nodad");
        let (kernel, wiring) = (Kernel::open().unwrap(), wiring(RoutingDomain::Shared));

        complete(&kernel, &wiring).await;
        down(&kernel, &wiring).await;
        down(&kernel, &wiring).await;

        let links = ip("-o link");
        assert!(["eth0", "leaf", "ours", "theirs"].iter().all(|name| links.contains(name)), "{links}");
        let addresses = ip("-o addr");
        assert!(addresses.contains("fd00::1/128") && addresses.contains("fd00:1::/127"), "{addresses}");
        assert!(!addresses.contains("10.0.0.1/32") && !addresses.contains("fd00:1::1/127"), "{addresses}");
    });
}

#[test]
fn a_node_without_objects_of_the_agent_is_left_alone() {
    isolated(|| async {
        let kernel = Kernel::open().unwrap();

        down(&kernel, &wiring(RoutingDomain::Namespace { name: "metallb".to_owned() })).await;
    });
}
