//! The veth pair to the load balancer with our end in a namespace.

use std::fs;

use ichor_agent::kernel::{FOLDER, Kernel};
use ichor_bgp::agent::wiring::{GROUP, Sysctls};
use ichor_bgp::model::RoutingDomain;

use super::host::*;
use super::isolation::isolated;

fn domain() -> RoutingDomain {
    RoutingDomain::Namespace { name: "metallb".to_owned() }
}

#[test]
fn a_namespace_is_created_with_its_links_and_addresses() {
    isolated(|| async {
        cable("eth0", "leaf");
        let kernel = Kernel::open().unwrap();

        complete(&kernel, &wiring(domain())).await;

        let ours = ip("-n metallb -o addr show dev ours");
        assert!(ours.contains("inet6 fd00:1::/127 scope global nodad"), "{ours}");
        let ours = ip("-n metallb -o link show dev ours");
        assert!(ours.contains("mtu 4000") && ours.contains("LOWER_UP"), "{ours}");
        let marked = [ours, ip("-o link show dev theirs"), ip("-n metallb -o link show dev lo")];
        assert!(marked.iter().all(|link| link.contains(&format!("group {GROUP}"))), "{marked:?}");
        let theirs = ip("-o addr show dev theirs");
        assert!(theirs.contains("inet6 fd00:1::1/127 scope global nodad"), "{theirs}");
        assert!(ip("-o addr show dev lo").contains("inet 10.0.0.1/32"));
        assert!(ip("-n metallb -o link show dev lo").contains("UP"));
        let sysctl =
            |path: &str| fs::read_to_string(format!("/proc/sys/net/{path}")).unwrap().trim().to_owned();
        assert_eq!(sysctl("ipv4/ip_forward"), "1");
        assert_eq!(sysctl("ipv6/conf/all/forwarding"), "1");
        assert_eq!(sysctl("ipv6/conf/eth0/accept_ra"), "2");
        assert_eq!(sysctl("ipv6/conf/eth0/addr_gen_mode"), "0");
        assert_eq!(sysctl("ipv4/conf/theirs/rp_filter"), "0");
        assert!(responds("fd00:1::"));
    });
}

#[test]
fn an_interruption_after_any_step_leads_to_the_same_state() {
    isolated(|| async {
        cable("eth0", "leaf");
        let kernel = Kernel::open().unwrap();

        assert_recovers_from_every_step(&kernel, &wiring(domain())).await;

        assert_eq!(fs::read_dir(FOLDER).unwrap().count(), 0);
    });
}

#[test]
fn a_file_where_the_namespace_should_be_is_completed_or_removed() {
    isolated(|| async {
        let (kernel, wiring) = (Kernel::open().unwrap(), wiring(domain()));
        let path = format!("{FOLDER}/metallb");
        fs::create_dir(FOLDER).unwrap();

        fs::write(&path, "").unwrap();
        complete(&kernel, &wiring).await;
        assert_eq!(ip("netns list").trim().split(' ').next(), Some("metallb"));
        down(&kernel, &wiring).await;
        assert!(!fs::exists(&path).unwrap());

        fs::write(&path, "").unwrap();
        down(&kernel, &wiring).await;
        assert!(!fs::exists(&path).unwrap());

        fs::write(&path, "something else").unwrap();
        let error = kernel.down(&wiring, &Sysctls::new()).await.unwrap().unwrap_err().to_string();
        assert_eq!(error, "cannot remove namespace metallb: it is neither a namespace nor an empty file");
    });
}

#[test]
fn a_veth_end_outside_the_namespace_is_moved_into_it() {
    isolated(|| async {
        let (kernel, wiring) = (Kernel::open().unwrap(), wiring(domain()));
        cable("ours", "theirs");
        ip("addr add fd00:1::/127 dev ours nodad");

        complete(&kernel, &wiring).await;

        assert!(ip("-n metallb -o addr show dev ours").contains("fd00:1::/127"));
        assert!(!ip("-o link").contains(" ours"));
    });
}

#[test]
fn an_existing_namespace_is_used_and_stays() {
    isolated(|| async {
        let (kernel, wiring) = (Kernel::open().unwrap(), wiring(domain()));
        ip("netns add metallb");

        complete(&kernel, &wiring).await;
        assert!(ip("-n metallb -o link").contains("ours"));
        down(&kernel, &wiring).await;

        assert!(!ip("-n metallb -o link").contains("ours"));
        assert!(!ip("-o link").contains("theirs"));
    });
}
