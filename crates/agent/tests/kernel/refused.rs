//! What is there and not ours is named and left alone.

use ichor_agent::kernel::Kernel;
use ichor_bgp::agent::wiring::steps;
use ichor_bgp::model::RoutingDomain;

use super::alone::alone;
use super::host::*;

async fn refused(kernel: &Kernel, domain: RoutingDomain) -> Vec<String> {
    let wiring = wiring(domain);
    let conflicts = steps(&wiring, &kernel.observe(&wiring).await.unwrap()).unwrap_err();
    conflicts.iter().map(ToString::to_string).collect()
}

#[test]
fn another_end_is_refused() {
    alone(|| async {
        ip("link add ours type veth peer name stranger");

        let said = refused(&Kernel::open().unwrap(), RoutingDomain::Shared).await;

        assert_eq!(said, ["the other end of ours is stranger, not theirs; remove ours"]);
    });
}

#[test]
fn another_end_in_another_namespace_is_refused() {
    alone(|| async {
        ip("netns add metallb");
        ip("netns add other");
        ip("link add theirs type veth peer name ours netns other");

        let said =
            refused(&Kernel::open().unwrap(), RoutingDomain::Namespace { name: "metallb".to_owned() }).await;

        assert_eq!(
            said,
            [
                "the other end of theirs is a link in another namespace, not ours in namespace metallb; remove theirs"
            ]
        );
    });
}

#[test]
fn an_address_that_somebody_else_gave_is_refused() {
    alone(|| async {
        cable("eth0", "leaf");
        ip("addr add 10.0.0.1/24 dev eth0");

        let said = refused(&Kernel::open().unwrap(), RoutingDomain::Shared).await;

        assert_eq!(said, ["10.0.0.1/32 is for lo, and eth0 has 10.0.0.1/24; remove it there"]);
    });
}
