//! Custom templates on real daemons.

use super::pairs::wrong;
use ichor_testbed::frr::Frr;

/// Files with many settings, each very different from the previous one.
const FILES: [&str; 5] = [
    "frr defaults datacenter\nlog syslog informational\n\
     ip prefix-list A permit 10.0.0.1/8 le 32\nip prefix-list A permit 10.1.0.0/16\nip prefix-list A deny any\n\
     ipv6 prefix-list A seq 7 permit fd00:0::/8 le 128\nip prefix-list A description of  ours\n\
     access-list X permit 10.0.0.0/8\naccess-list X seq 20 deny any\n\
     bgp as-path access-list P permit ^$\nbgp as-path access-list P seq 20 permit _65002_\n\
     bgp community-list standard C seq 5 permit 65000:1 65000:2\nbgp large-community-list standard L seq 5 permit 1:2:3\n\
     route-map IN permit 10\n match ip address prefix-list A\n set local-preference 200\n on-match next\n\
     route-map IN permit 20\n match community C\n set community 65000:3 no-export 65000:1 additive\n continue 40\n\
     route-map IN deny 30\n\
     route-map OUT permit 10\n match as-path P\n set as-path prepend 65001 65001\n description out of  here\n\
     interface eth0\n description a port\n no ipv6 nd suppress-ra\n ipv6 nd ra-interval 10\n\
     bfd\n profile fast\n  detect-multiplier 5\n  receive-interval 100\n profile slow\n peer 192.0.2.9\n  profile fast\n\
     ip route 198.51.100.0/24 blackhole\nip route 198.51.101.7/24 192.0.2.77 50\nipv6 route 2001:db8:5::/48 blackhole\n\
     router bgp 65001\n bgp router-id 10.0.0.1\n neighbor FABRIC peer-group\n neighbor FABRIC remote-as external\n \
     neighbor FABRIC bfd profile fast\n neighbor eth0 interface peer-group FABRIC\n neighbor 192.0.2.1 remote-as 65002\n \
     neighbor 192.0.2.1 description some one\n neighbor 192.0.2.1 ebgp-multihop 255\n neighbor 2001:db8:0::1 remote-as 65003\n \
     bgp listen range 203.0.113.9/24 peer-group FABRIC\n network 10.0.0.0/8\n neighbor 192.0.2.1 route-map IN in\n \
     address-family ipv6 unicast\n  neighbor FABRIC activate\n  neighbor 2001:db8::1 activate\n  redistribute connected\n \
     address-family ipv4 unicast\n  no neighbor 2001:db8::1 activate\n  aggregate-address 10.5.0.1/16 summary-only\n",
    "frr defaults datacenter\n\
     ip prefix-list A seq 5 permit 10.1.0.0/16\nip prefix-list A seq 10 permit 10.0.0.0/8 le 32\nip prefix-list A seq 20 deny any\n\
     access-list X seq 20 permit 10.0.0.0/8\n\
     bgp as-path access-list P seq 5 permit _65002_\nbgp as-path access-list P seq 10 deny ^$\n\
     bgp community-list standard C seq 5 permit 65000:2\n\
     route-map IN deny 10\n match ip address prefix-list A\n\
     route-map IN permit 20\n match as-path P\n match ip address X\n set metric 5\n\
     route-map IN permit 30\n match community C\n set community 65000:9\n on-match next\n\
     route-map OUT deny 10\n match as-path P\n\
     interface eth0\n description the port\n no ipv6 nd suppress-ra\n\
     bfd\n profile fast\n  receive-interval 300\n  transmit-interval 200\n\
     ip route 198.51.101.0/24 192.0.2.77 60\n\
     ip router-id 10.9.9.9\n\
     router bgp 65001\n bgp router-id 10.0.0.1\n no bgp default ipv4-unicast\n timers bgp 3 9\n bgp listen limit 20\n \
     neighbor eth0 interface v6only remote-as external\n neighbor eth0 bfd\n neighbor 192.0.2.1 remote-as 65012\n \
     neighbor 192.0.2.1 timers 1 3\n neighbor 192.0.2.1 password a!b\n neighbor 192.0.2.1 local-as 65100 no-prepend\n \
     address-family ipv4 unicast\n  network 10.0.0.0/8 route-map OUT\n  redistribute connected route-map OUT\n  \
     redistribute static\n  neighbor eth0 activate\n  neighbor eth0 route-map IN in\n  neighbor 192.0.2.1 activate\n  \
     neighbor 192.0.2.1 maximum-prefix 100\n  neighbor 192.0.2.1 allowas-in 2\n  maximum-paths 4\n",
    "frr defaults datacenter\n\
     ip prefix-list A seq 10 permit 10.1.0.0/16\nip prefix-list A seq 5 permit 10.0.0.0/8 le 32\n\
     route-map IN permit 10\n match ip address prefix-list A\n\
     route-map OUT permit 10\n\
     vrf red\n ip protocol bgp route-map OUT\nexit-vrf\n\
     ip protocol bgp route-map OUT\nip route 10.77.0.0/16 blackhole vrf red\n\
     router bgp 65001 vrf red\n bgp router-id 10.0.0.2\n neighbor 192.0.2.5 remote-as 65005\n \
     address-family ipv4 unicast\n  import vrf default\n\
     router bgp 65001\n no bgp default ipv4-unicast\n bgp graceful-restart\n neighbor G peer-group\n neighbor G remote-as 65012\n \
     neighbor 192.0.2.1 peer-group G\n neighbor eth0 interface remote-as 65044\n \
     address-family ipv4 unicast\n  redistribute connected\n  neighbor G activate\n  neighbor G route-map OUT out\n  \
     neighbor eth0 activate\n  neighbor eth0 default-originate\n  import vrf red\n",
    "frr defaults datacenter\nrouter bgp 65002 vrf red\n neighbor 192.0.2.5 remote-as 65006\n\
     router bgp 65003\n neighbor G peer-group\n neighbor 192.0.2.1 remote-as 65012\n neighbor 192.0.2.1 peer-group G\n \
     address-family ipv4 unicast\n  import vrf red\n  neighbor G soft-reconfiguration inbound\n",
    "frr defaults datacenter\nhostname nothing\n",
];

fn turns_files_of_users(frr: Frr) {
    let there = FILES.iter().enumerate().map(|(nth, file)| (nth.to_string(), (*file).to_owned()));
    let there: Vec<_> = there.collect();
    let back = there.iter().rev().skip(1).cloned();
    let all: Vec<_> = there.iter().cloned().chain(back).collect();

    let wrong = wrong(frr, &all);

    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn frr_8_turns_files_of_users_into_each_other() {
    turns_files_of_users(Frr::V8);
}

#[test]
fn frr_10_turns_files_of_users_into_each_other() {
    turns_files_of_users(Frr::V10);
}
