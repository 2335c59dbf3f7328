//! The veth pair to the load balancer with both ends in the main table; repairs; kernels without VRFs.

use std::process::Command;

use ichor_agent::kernel::{ApplyOutcome, Kernel};
use ichor_bgp::model::RoutingDomain;

use super::host::*;
use super::isolation::{isolated, unprivileged};

#[test]
fn an_interruption_after_any_step_leads_to_the_same_state() {
    isolated(|| async {
        cable("eth0", "leaf");

        assert_recovers_from_every_step(&Kernel::open().unwrap(), &wiring(RoutingDomain::Shared)).await;
    });
}

#[test]
fn changes_by_other_programs_are_repaired() {
    isolated(|| async {
        cable("eth0", "leaf");
        let (kernel, mut wiring) = (Kernel::open().unwrap(), wiring(RoutingDomain::Shared));
        complete(&kernel, &wiring).await;
        let before = state(&kernel, &wiring).await;
        let created: Vec<u32> = kernel.links().await.unwrap().iter().map(|link| link.index).collect();

        for change in [
            "link set ours mtu 1500",
            "link set theirs mtu 1000",
            "link set ours down",
            "link set eth0 down",
            "addr del fd00:1::1/127 dev theirs",
            "addr del 10.0.0.1/32 dev lo",
        ] {
            ip(change);
            assert_ne!(missing(&kernel, &wiring).await, [], "{change}");
            complete(&kernel, &wiring).await;
            assert_eq!(state(&kernel, &wiring).await, before, "{change}");
        }

        // No link was recreated.
        let now: Vec<u32> = kernel.links().await.unwrap().iter().map(|link| link.index).collect();
        assert_eq!(now, created);

        // Other addresses are configured: the previous ones are removed.
        wiring.pair.as_mut().unwrap().theirs.1 = net("fd00:2::1/127");
        wiring.extra_addresses[0].addresses = vec![net("10.0.0.2/32")];
        complete(&kernel, &wiring).await;
        let lo = ip("-o addr show dev lo");
        assert!(
            lo.contains("10.0.0.2/32") && lo.contains("127.0.0.1/8") && !lo.contains("10.0.0.1/32"),
            "{lo}"
        );
        let theirs = ip("-o addr show dev theirs");
        assert!(theirs.contains("fd00:2::1/127") && !theirs.contains("fd00:1::1/127"), "{theirs}");
    });
}

#[test]
fn missing_vrf_support_leaves_everything_else_configured() {
    isolated(|| async {
        cable("eth0", "leaf");
        let kernel = Kernel::open().unwrap();
        let wiring = wiring(RoutingDomain::Vrf { name: "metallb".to_owned(), table: 88 });
        let probe =
            Command::new("ip").args("link add probe type vrf table 9999".split(' ')).output().unwrap();

        let outcome = kernel.apply(&missing(&kernel, &wiring).await).await.unwrap();

        assert_eq!(outcome, if probe.status.success() { ApplyOutcome::Done } else { ApplyOutcome::NoVrf });
        assert!(ip("-o addr show dev lo").contains("inet 10.0.0.1/32"));
        assert!(ip("-o link show dev eth0").contains("LOWER_UP"));
        assert_eq!(ip("-o link").contains("theirs"), probe.status.success());
    });
}

#[test]
fn a_step_without_privileges_is_reported_with_a_hint() {
    unprivileged(|| async {
        let kernel = Kernel::open().unwrap();
        let step = ichor_bgp::agent::wiring::Step::Dummy { name: "dummy7".to_owned() };

        let error = kernel.apply(&[step]).await.unwrap_err();

        assert_eq!(error.to_string(), "cannot create dummy link dummy7");
        assert_eq!(error.source.raw_os_error(), Some(nix::errno::Errno::EPERM as i32));
        assert!(error.hint().unwrap().contains("CAP_NET_ADMIN"));
    });
}
