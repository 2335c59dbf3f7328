//! The speaker's link with both ends in the node's own table; putting right what is different; kernels without VRFs.

use std::process::Command;

use ichor_agent::kernel::{ApplyOutcome, Kernel};
use ichor_bgp::model::RoutingDomain;

use super::alone::{alone, powerless};
use super::host::*;

#[test]
fn killed_after_any_step_the_end_is_the_same() {
    alone(|| async {
        cable("eth0", "leaf");

        survives_being_killed_anywhere(&Kernel::open().unwrap(), &wiring(RoutingDomain::Shared)).await;
    });
}

#[test]
fn what_somebody_changed_is_put_right() {
    alone(|| async {
        cable("eth0", "leaf");
        let (kernel, mut wiring) = (Kernel::open().unwrap(), wiring(RoutingDomain::Shared));
        complete(&kernel, &wiring).await;
        let before = state(&kernel, &wiring).await;
        let made: Vec<u32> = kernel.links().await.unwrap().iter().map(|link| link.index).collect();

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

        // No link was made again.
        let now: Vec<u32> = kernel.links().await.unwrap().iter().map(|link| link.index).collect();
        assert_eq!(now, made);

        // Other addresses are meant: those given before go.
        wiring.pair.as_mut().unwrap().theirs.1 = net("fd00:2::1/127");
        wiring.carried[0].addresses = vec![net("10.0.0.2/32")];
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
fn without_vrfs_everything_else_is_done() {
    alone(|| async {
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
fn without_the_right_to_it_the_step_and_the_way_out_are_named() {
    powerless(|| async {
        let kernel = Kernel::open().unwrap();
        let step = ichor_bgp::agent::wiring::Step::Dummy { name: "dummy7".to_owned() };

        let error = kernel.apply(&[step]).await.unwrap_err();

        assert_eq!(error.to_string(), "cannot make dummy link dummy7");
        assert_eq!(error.source.raw_os_error(), Some(nix::errno::Errno::EPERM as i32));
        assert!(error.hint().unwrap().contains("CAP_NET_ADMIN"));
    });
}
