use super::*;
use crate::agent::Link;
use crate::model::Family;

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

fn vrf() -> RoutingDomain {
    RoutingDomain::Vrf { name: "metallb".to_owned(), table: 88 }
}

fn namespace() -> RoutingDomain {
    RoutingDomain::Namespace { name: "metallb".to_owned() }
}

fn wiring(domain: RoutingDomain) -> Wiring {
    let pair = VethLink {
        domain,
        ours: ("ours".to_owned(), net("fd00:1::/127")),
        theirs: ("theirs".to_owned(), net("fd00:1::1/127")),
        mtu: 9000,
    };
    Wiring { pair: Some(pair), ..Wiring::default() }
}

fn link(index: u32, name: &str, kind: &str) -> Link {
    let (name, kind) = (name.to_owned(), Some(kind.to_owned()));
    Link { index, name, kind, up: true, mtu: 9000, made: true, ..Link::default() }
}

/// The complete state of a wiring with this domain.
fn complete(domain: &RoutingDomain) -> KernelState {
    let mut ours = Link { peer: Some(5), ..link(4, "ours", "veth") };
    ours.addresses.push(net("fd00:1::/127"));
    let mut theirs = Link { peer: Some(4), ..link(5, "theirs", "veth") };
    theirs.addresses.push(net("fd00:1::1/127"));
    let sysctls = sysctl::node_sysctls().map(|sysctl| (sysctl.path, sysctl.value.to_owned())).collect();
    let mut observed = KernelState { sysctls, ..KernelState::default() };
    match domain {
        RoutingDomain::Vrf { table, .. } => {
            ours.master = Some(3);
            let vrf = Link { table: Some(*table), ..link(3, "metallb", "vrf") };
            observed.links = vec![vrf, ours, theirs];
            observed.unreachable_defaults =
                Family::ALL.map(|family| UnreachableDefault { table: *table, family, made: true }).to_vec();
        }
        RoutingDomain::Namespace { .. } => {
            (ours.far, theirs.far) = (true, true);
            let lo = Link { name: "lo".to_owned(), loopback: true, up: true, made: true, ..Link::default() };
            observed.links = vec![theirs];
            observed.inside = NamespaceState::There { made: true, links: vec![lo, ours] };
        }
        RoutingDomain::Shared => observed.links = vec![ours, theirs],
    }
    observed
}

fn texts(steps: &[Step]) -> Vec<String> {
    steps.iter().map(ToString::to_string).collect()
}

fn conflicts(wiring: &Wiring, observed: &KernelState) -> Vec<String> {
    steps(wiring, observed).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn a_complete_state_needs_no_steps() {
    for domain in [vrf(), namespace(), RoutingDomain::Shared] {
        assert_eq!(steps(&wiring(domain.clone()), &complete(&domain)), Ok(vec![]), "{domain:?}");
    }
}

#[test]
fn a_vrf_is_created_in_an_order_that_never_flaps() {
    let observed = KernelState { sysctls: complete(&vrf()).sysctls, ..KernelState::default() };

    let steps = steps(&wiring(vrf()), &observed).unwrap();

    let want = [
        "create VRF metallb with table 88",
        "add unreachable route 0.0.0.0/0 to table 88",
        "add unreachable route ::/0 to table 88",
        "set metallb up",
        "create veth pair ours and theirs with MTU 9000",
        "add ours to VRF metallb",
        "add address fd00:1::/127 to ours",
        "set ours up",
        "add address fd00:1::1/127 to theirs",
        "set theirs up",
    ];
    similar_asserts::assert_eq!(texts(&steps), want);
}

#[test]
fn a_vrf_is_created_after_everything_that_needs_no_vrf_support() {
    let mut wiring = wiring(vrf());
    wiring.ports = vec!["eth0".to_owned(), "missing".to_owned()];
    wiring.accept_advertisements = true;
    wiring.extra_addresses = vec![
        ExtraAddresses { link: "lo".to_owned(), addresses: vec![net("10.0.0.1/32")] },
        ExtraAddresses { link: "dummy1".to_owned(), addresses: vec![net("fd00::9/128")] },
    ];
    let lo = Link { name: "lo".to_owned(), loopback: true, ..Link::default() };
    let eth0 = Link { index: 2, name: "eth0".to_owned(), ..Link::default() };
    let sysctls = [("net/ipv6/conf/default/disable_ipv6".to_owned(), "1".to_owned())].into();
    let observed = KernelState { links: vec![lo, eth0], sysctls, ..KernelState::default() };

    let steps = texts(&steps(&wiring, &observed).unwrap());

    let want = [
        "set net/ipv4/ip_forward = 1",
        "set net/ipv6/conf/all/forwarding = 1",
        "set net/ipv6/conf/default/forwarding = 1",
        "set net/ipv4/fib_multipath_hash_policy = 1",
        "set net/ipv6/fib_multipath_hash_policy = 1",
        "set net/ipv4/conf/all/rp_filter = 0",
        "set net/ipv4/conf/default/rp_filter = 0",
        "set net/ipv6/conf/eth0/disable_ipv6 = 0",
        "set net/ipv4/conf/eth0/rp_filter = 0",
        "set net/ipv6/conf/eth0/addr_gen_mode = 0",
        "set net/ipv6/conf/eth0/accept_ra = 2",
        "set eth0 up",
        "add address 10.0.0.1/32 to lo",
        "set lo up",
        "create dummy link dummy1",
        "set net/ipv6/conf/dummy1/disable_ipv6 = 0",
        "add address fd00::9/128 to dummy1",
        "set dummy1 up",
        "create VRF metallb with table 88",
    ];
    similar_asserts::assert_eq!(steps[..want.len()], want);
}

#[test]
fn an_incomplete_namespace_is_completed() {
    let mut observed = complete(&RoutingDomain::Shared);
    observed.inside = NamespaceState::Half;
    observed.links[0].addresses.clear();

    let steps = steps(&wiring(namespace()), &observed).unwrap();

    let want = [
        "create namespace metallb",
        "move ours to namespace metallb",
        "set MTU 9000 on ours in namespace metallb",
        "add address fd00:1::/127 to ours in namespace metallb",
        "set ours in namespace metallb up",
    ];
    similar_asserts::assert_eq!(texts(&steps), want);
}

#[test]
fn differences_are_repaired_where_no_other_program_is_affected() {
    let mut observed = complete(&vrf());
    observed.links[1].mtu = 1500;
    observed.links[1].master = None;
    observed.links[2].up = false;
    observed.links[2].addresses.push(net("fd00:2::1/127"));
    observed.links[2].given = vec![net("fd00:2::1/127")];

    let steps = steps(&wiring(vrf()), &observed).unwrap();

    let want = [
        "remove address fd00:2::1/127 from theirs",
        "add ours to VRF metallb",
        "set MTU 9000 on ours",
        "add address fd00:1::/127 to ours",
        "set theirs up",
    ];
    similar_asserts::assert_eq!(texts(&steps), want);
}

#[test]
fn a_second_vrf_with_the_same_table_is_a_conflict() {
    let mut observed = complete(&vrf());
    observed.links.push(Link { table: Some(88), ..link(9, "blue", "vrf") });

    let want = "VRF blue uses table 88 of VRF metallb; give one of them another table";
    assert_eq!(conflicts(&wiring(vrf()), &observed), [want]);
}

#[test]
fn a_vrf_with_another_table_is_a_conflict() {
    let mut observed = complete(&vrf());
    observed.links[0].table = Some(89);

    let want = "VRF metallb uses table 89, not 88; change its table, or configure table 89";
    assert_eq!(conflicts(&wiring(vrf()), &observed), [want]);
}

#[test]
fn a_link_of_another_type_is_a_conflict() {
    let mut observed = complete(&vrf());
    observed.links[0].kind = None;
    observed.links[2].kind = Some("bridge".to_owned());

    let want = [
        "metallb exists and is a port, not a vrf; rename or remove it",
        "theirs exists and is a bridge, not a veth; rename or remove it",
    ];
    assert_eq!(conflicts(&wiring(vrf()), &observed), want);
}

#[test]
fn an_unrelated_veth_peer_is_a_conflict() {
    let mut observed = complete(&RoutingDomain::Shared);
    observed.links[0].peer = Some(6);
    observed.links.push(Link { peer: Some(4), ..link(6, "cali1", "veth") });
    let mut far = complete(&namespace());
    far.inside = NamespaceState::Missing;

    assert_eq!(
        conflicts(&wiring(RoutingDomain::Shared), &observed),
        ["the veth peer of ours is cali1, not theirs; remove ours"]
    );
    assert_eq!(
        conflicts(&wiring(namespace()), &far),
        [
            "the veth peer of theirs is a link in another namespace, not ours in namespace metallb; remove theirs"
        ]
    );
}

#[test]
fn an_address_on_another_link_is_a_conflict_unless_the_agent_added_it() {
    let mut observed = complete(&RoutingDomain::Shared);
    let addresses = vec![net("fd00:1::1/64")];
    observed.links.push(Link { addresses: addresses.clone(), made: false, ..link(9, "eth0", "bridge") });

    let want = "fd00:1::1/127 belongs on theirs, but eth0 has fd00:1::1/64; remove it from eth0";
    assert_eq!(conflicts(&wiring(RoutingDomain::Shared), &observed), [want]);

    observed.links[2].given = addresses;
    let steps = steps(&wiring(RoutingDomain::Shared), &observed).unwrap();
    assert_eq!(texts(&steps), ["remove address fd00:1::1/64 from eth0"]);
}

#[test]
fn invalid_names_and_mtus_are_reported_together() {
    let mut wiring = wiring(RoutingDomain::Namespace { name: "../etc".to_owned() });
    let pair = wiring.pair.as_mut().unwrap();
    pair.theirs.0 = "ours".to_owned();
    pair.mtu = 1279;

    let want = [
        "`../etc` is not a valid namespace name; want 1 to 15 characters without `/`, `:` and spaces",
        "two links are named ours; give each a different name",
        "MTU 1279 of ours in namespace ../etc is too small for IPv6 address fd00:1::/127; want 1280 or more",
        "MTU 1279 of ours is too small for IPv6 address fd00:1::1/127; want 1280 or more",
    ];
    assert_eq!(conflicts(&wiring, &KernelState::default()), want);
}

#[test]
fn only_objects_of_the_agent_are_removed() {
    let mut observed = complete(&vrf());
    let lo = Link {
        name: "lo".to_owned(),
        addresses: vec![net("127.0.0.1/8"), net("10.0.0.1/32")],
        given: vec![net("10.0.0.1/32")],
        ..Link::default()
    };
    observed.links.push(lo);
    observed.links.push(Link { made: false, ..link(9, "dummy0", "dummy") });
    observed.unreachable_defaults[1].made = false;

    let removals: Vec<_> =
        removals(&wiring(vrf()), &observed, &Sysctls::new()).iter().map(ToString::to_string).collect();

    let want = [
        "remove address 10.0.0.1/32 from lo",
        "remove link ours",
        "remove link metallb",
        "remove unreachable route 0.0.0.0/0 from table 88",
    ];
    similar_asserts::assert_eq!(removals, want);
}

#[test]
fn sysctls_return_to_their_recorded_values() {
    let wiring = wiring(vrf());
    let mut observed = KernelState::default();
    let set = |observed: &mut KernelState, path: &str, value: &str| {
        observed.sysctls.insert(path.to_owned(), value.to_owned());
    };
    set(&mut observed, "net/ipv4/ip_forward", "0");
    set(&mut observed, "net/ipv4/conf/all/rp_filter", "2");
    set(&mut observed, "net/ipv6/fib_multipath_hash_policy", "1");
    let mut before = Sysctls::new();
    record_sysctls(&steps(&wiring, &observed).unwrap(), &observed, &mut before);
    assert_eq!(before.len(), 2, "one had the right value, and the kernel lacks the others: {before:?}");

    set(&mut observed, "net/ipv4/ip_forward", "1");
    set(&mut observed, "net/ipv4/conf/all/rp_filter", "1");
    record_sysctls(&steps(&wiring, &observed).unwrap(), &observed, &mut before);
    let removals: Vec<_> = removals(&wiring, &observed, &before).iter().map(ToString::to_string).collect();

    assert_eq!(before["net/ipv4/conf/all/rp_filter"], "2", "the first value is kept");
    assert_eq!(removals, ["set net/ipv4/ip_forward to 0"], "another program has changed the other one");
}
