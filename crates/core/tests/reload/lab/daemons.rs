//! The table of lines and daemons, compared with the daemons.

use ichor_bgp::reload::{ConfigChange, FrrConfig, FrrDaemon, Phase};

use ichor_testbed::frr::Frr;
use ichor_testbed::vty::{Vty, daemons};

/// A line of every kind with a known daemon.
const SAMPLE: &str = "frr defaults datacenter\nlog syslog informational\n\
    ip prefix-list A permit 10.0.0.0/8\nipv6 prefix-list A permit fd00::/8\naccess-list X permit 10.0.0.0/8\n\
    ipv6 access-list X permit fd00::/8\nbgp as-path access-list P permit ^$\nbgp community-list standard C permit 1:1\n\
    bgp route-map delay-timer 1\nip router-id 10.0.0.1\nip nht resolve-via-default\n\
    interface lo\n ipv6 nd ra-interval 10\n ip address 10.0.0.1/32\n\
    vrf red\n ip protocol bgp route-map M\n ip route 10.5.0.0/16 blackhole\nexit-vrf\n\
    ip protocol bgp route-map M\nipv6 protocol bgp route-map M\nip route 10.6.0.0/16 blackhole\nipv6 route fd00:6::/64 blackhole\n\
    bfd\n profile p\n  detect-multiplier 5\n peer 192.0.2.1\n  profile p\n\
    route-map M permit 10\n description x\n match interface eth0\n match ip address X\n match ip address prefix-list A\n \
    match ip next-hop prefix-list A\n match ip next-hop address 10.0.0.1\n match ip next-hop type blackhole\n \
    match ipv6 address prefix-list A\n match metric 5\n match tag 5\n match source-instance 5\n match source-protocol bgp\n match as-path P\n match community C\n \
    match large-community L\n match extcommunity E\n match local-preference 5\n match origin igp\n match peer 10.0.0.1\n match probability 5\n \
    match source-vrf red\n match evpn vni 5\n match ip route-source prefix-list A\n match ip address prefix-len 8\n \
    set src 10.0.0.1\n set metric 5\n set tag 5\n set ip next-hop 10.0.0.1\n set ip next-hop unchanged\n set ipv6 next-hop local fe80::1\n \
    set ipv6 next-hop global fd00::1\n set ipv6 next-hop prefer-global\n set community 1:1 additive\n set large-community 1:2:3\n \
    set as-path prepend 1\n set as-path exclude 1\n set local-preference 5\n set weight 5\n set origin igp\n set comm-list C delete\n \
    set extcommunity rt 1:1\n set distance 5\n set table 5\n set originator-id 10.0.0.1\n set atomic-aggregate\n on-match next\n call N\n\
    router bgp 65001\n bgp router-id 10.0.0.1\n neighbor 192.0.2.1 remote-as 65002\n \
    address-family ipv4 unicast\n  neighbor 192.0.2.1 activate\n";

/// bgpd and staticd open contexts of ports and VRFs for other daemons, and accept some of the lines in them.
fn may_be_taken(line: &ConfigChange) -> bool {
    let first = line.line.above.first().unwrap_or(&line.line.text);
    first.starts_with("interface ") || first.starts_with("vrf ")
}

fn are_told_what_they_know(frr: Frr) {
    let machine = frr.machine();
    machine.ask("ip address add 10.0.0.1/32 dev lo");
    frr.start(&machine, None);
    let sample = FrrConfig::parse(SAMPLE);
    assert!(sample.lines().len() > 70, "{}", sample.lines().len());
    for daemon in daemons(&machine, frr) {
        let mut vty = Vty::open(&machine, daemon);
        for line in sample.lines() {
            let change = ConfigChange { phase: Phase::Define, line: line.clone() };
            let unknown = vty.apply(&change).is_err_and(|refused| refused.status == 2);

            let accepts = daemon.accepts(frr.version(), line);
            assert!(
                accepts != unknown || (!accepts && may_be_taken(&change)),
                "{frr:?} {daemon}: {line} accepted: {accepts}"
            );
        }
    }
    assert_eq!(sample.unaccepted_lines(frr.version()), Vec::<&ichor_bgp::reload::Line>::new());
    assert_eq!(FrrDaemon::in_release(frr.version()), daemons(&machine, frr));
}

#[test]
fn frr_8_has_the_configured_state() {
    are_told_what_they_know(Frr::V8);
}

#[test]
fn frr_10_has_the_configured_state() {
    are_told_what_they_know(Frr::V10);
}
