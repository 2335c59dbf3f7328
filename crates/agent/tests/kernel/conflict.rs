//! Conflicts: existing state of other programs is reported and left alone.

use ichor_agent::kernel::Kernel;
use ichor_bgp::agent::wiring::steps;
use ichor_bgp::model::RoutingDomain;

use super::host::*;
use super::isolation::isolated;

async fn conflicts(kernel: &Kernel, domain: RoutingDomain) -> Vec<String> {
    let wiring = wiring(domain);
    let conflicts = steps(&wiring, &kernel.observe(&wiring).await.unwrap()).unwrap_err();
    conflicts.iter().map(ToString::to_string).collect()
}

#[test]
fn an_unrelated_veth_peer_is_a_conflict() {
    isolated(|| async {
        ip("link add ours type veth peer name stranger");

        let reported = conflicts(&Kernel::open().unwrap(), RoutingDomain::Shared).await;

        assert_eq!(reported, ["the veth peer of ours is stranger, not theirs; remove ours"]);
    });
}

#[test]
fn a_veth_peer_in_another_namespace_is_a_conflict() {
    isolated(|| async {
        ip("netns add metallb");
        ip("netns add other");
        ip("link add theirs type veth peer name ours netns other");

        let reported =
            conflicts(&Kernel::open().unwrap(), RoutingDomain::Namespace { name: "metallb".to_owned() })
                .await;

        assert_eq!(
            reported,
            [
                "the veth peer of theirs is a link in another namespace, not ours in namespace metallb; remove theirs"
            ]
        );
    });
}

#[test]
fn an_address_of_another_program_is_a_conflict() {
    isolated(|| async {
        cable("eth0", "leaf");
        ip("addr add 10.0.0.1/24 dev eth0");

        let reported = conflicts(&Kernel::open().unwrap(), RoutingDomain::Shared).await;

        assert_eq!(reported, ["10.0.0.1/32 belongs on lo, but eth0 has 10.0.0.1/24; remove it from eth0"]);
    });
}
