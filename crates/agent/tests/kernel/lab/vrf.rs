//! The veth pair to the load balancer with our end in a VRF, and dummy links, in a kernel that supports both.

use ichor_agent::kernel::Kernel;
use ichor_bgp::agent::Wiring;
use ichor_bgp::agent::wiring::{ExtraAddresses, steps};
use ichor_bgp::model::RoutingDomain;

use crate::kernel::host::*;
use crate::kernel::isolation::block_on;
use ichor_testbed::vm;

/// With a second link for addresses.
fn node() -> Wiring {
    let mut wiring = wiring(RoutingDomain::Vrf { name: "metallb".to_owned(), table: 88 });
    wiring.extra_addresses.push(ExtraAddresses {
        link: "dummy7".to_owned(),
        addresses: vec![net("10.0.0.7/32"), net("fd00::7/128")],
    });
    wiring
}

#[test]
fn a_vrf_is_completed_after_every_step_and_removed() {
    vm::run_in_vm(|| {
        block_on(async {
            cable("eth0", "leaf");
            ip("link set lo up");
            let (kernel, wiring) = (Kernel::open().unwrap(), node());

            complete(&kernel, &wiring).await;

            let vrf = ip("-d -o link show dev metallb");
            assert!(vrf.contains("vrf table 88") && vrf.contains(",UP"), "{vrf}");
            let ours = ip("-o link show dev ours");
            assert!(ours.contains("master metallb") && ours.contains("mtu 4000"), "{ours}");
            let address = ip("-o -6 addr show dev ours");
            assert!(address.contains("fd00:1::/127 scope global nodad"), "{address}");
            for family in [4, 6] {
                let route = ip(&format!("-{family} route show table 88 type unreachable"));
                assert!(route.contains("default") && route.contains("metric 4278198272"), "{route}");
            }
            assert!(ip("-d -o link show dev dummy7").contains("dummy"));
            assert!(ip("-o addr show dev dummy7").contains("inet 10.0.0.7/32"));
            assert!(responds("fd00:1::"));

            // Outside the VRF, and therefore without its IPv6 address.
            ip("link set ours nomaster");
            complete(&kernel, &wiring).await;
            assert!(ip("-o link show dev ours").contains("master metallb"));
            assert!(ip("-o -6 addr show dev ours").contains("fd00:1::/127"));
            down(&kernel, &wiring).await;
            assert_eq!(ip("-4 route show table 88 type unreachable"), "");

            assert_recovers_from_every_step(&kernel, &wiring).await;
        });
    });
}

#[test]
fn vrfs_of_other_programs_are_reported_and_left_alone() {
    vm::run_in_vm(|| {
        block_on(async {
            let (kernel, wiring) = (Kernel::open().unwrap(), node());
            ip("link add blue type vrf table 88");
            ip("link add dummy7 type bridge");

            let conflicts = steps(&wiring, &kernel.observe(&wiring).await.unwrap()).unwrap_err();

            let reported: Vec<_> = conflicts.iter().map(ToString::to_string).collect();
            let want = [
                "dummy7 exists and is a bridge, not a dummy; rename or remove it",
                "VRF blue uses table 88 of VRF metallb; give one of them another table",
            ];
            assert_eq!(reported, want);

            // An existing VRF with the right table is used, and stays.
            ip("link del blue");
            ip("link del dummy7");
            ip("link add metallb type vrf table 88");
            complete(&kernel, &wiring).await;
            down(&kernel, &wiring).await;
            let links = ip("-o link");
            assert!(
                links.contains("metallb") && !links.contains("ours") && !links.contains("dummy7"),
                "{links}"
            );
        });
    });
}
