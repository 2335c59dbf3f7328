//! Taking away.

use ichor_agent::kernel::Kernel;
use ichor_bgp::model::RoutingDomain;

use super::alone::alone;
use super::host::*;

#[test]
fn what_others_made_stays() {
    alone(|| async {
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
fn nothing_made_is_nothing_to_remove() {
    alone(|| async {
        let kernel = Kernel::open().unwrap();

        down(&kernel, &wiring(RoutingDomain::Namespace { name: "metallb".to_owned() })).await;
    });
}
