//! Routes that the agent installs, and that another program removes.

use std::net::IpAddr;

use ichor_agent::kernel::Kernel;
use ichor_bgp::agent::route::{MAIN, NextHop, Route, RouteChanges, difference, removed_prefixes};

use super::host::*;
use super::isolation::isolated;

/// Two ports with a peer each, and a loopback.
fn node() {
    for nth in 0..2 {
        cable(&format!("eth{nth}"), &format!("leaf{nth}"));
        ip(&format!("link set eth{nth} up"));
    }
    ip("link set lo up");
    ip("addr add 10.0.0.1/32 dev lo");
    // Usable immediately: the kernel rejects routes with a tentative source address.
    ip("addr add fd00::1/128 dev lo nodad");
}

async fn hops(kernel: &Kernel, ports: &[&str]) -> Vec<NextHop> {
    let links = kernel.links().await.unwrap();
    let hop = |port: &&str| NextHop {
        via: Some("fe80::99".parse().unwrap()),
        link: links.iter().find(|link| link.name == **port).unwrap().index,
    };
    ports.iter().map(hop).collect()
}

async fn reconcile(kernel: &Kernel, wanted: &[Route]) -> RouteChanges {
    let difference = difference(wanted, &kernel.routes(&[MAIN, 1088]).await.unwrap());
    let errors: Vec<_> =
        kernel.reconcile(&difference).await.iter().map(|error| format!("{error:?}")).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    difference
}

#[test]
fn routes_become_the_wanted_ones() {
    isolated(|| async {
        node();
        let kernel = Kernel::open().unwrap();
        ip("route add 203.0.113.0/24 dev eth0 proto bgp metric 20");
        let (both, one) = (hops(&kernel, &["eth0", "eth1"]).await, hops(&kernel, &["eth1"]).await);
        let v4: Option<IpAddr> = Some("10.0.0.1".parse().unwrap());
        let v6: Option<IpAddr> = Some("fd00::1".parse().unwrap());
        let mut wanted = vec![
            Route::from_agent(MAIN, net("0.0.0.0/0"), v4, both.clone()),
            Route::from_agent(MAIN, net("::/0"), v6, both.clone()),
            Route::from_agent(MAIN, net("192.0.2.0/24"), v4, one.clone()),
            Route::from_agent(1088, net("2001:db8::/32"), None, one.clone()),
        ];

        // After the first run nothing is left to do.
        assert_eq!(reconcile(&kernel, &wanted).await.install.len(), 4);
        assert_eq!(reconcile(&kernel, &wanted).await, RouteChanges::default());
        let listed = ip("-4 route show default");
        assert!(listed.contains("proto bgp src 10.0.0.1"), "{listed}");
        assert_eq!(listed.matches("nexthop via inet6 fe80::99 dev eth").count(), 2, "{listed}");
        assert_eq!(ip("-6 route show default").matches("via fe80::99 dev eth").count(), 2);
        assert!(ip("-6 route show table 1088").contains("2001:db8::/32"));

        // Routes with fewer and more next hops replace the existing ones.
        wanted[0] = Route::from_agent(MAIN, net("0.0.0.0/0"), v4, one.clone());
        wanted[1] = Route::from_agent(MAIN, net("::/0"), v6, one);
        wanted[2] = Route::from_agent(MAIN, net("192.0.2.0/24"), v4, both);
        reconcile(&kernel, &wanted).await;
        assert_eq!(reconcile(&kernel, &wanted).await, RouteChanges::default());

        // Routes that another program removed are detected and restored.
        let reported: Vec<_> = wanted.iter().map(|route| (route.table, route.prefix)).collect();
        assert_eq!(removed_prefixes(&reported, &kernel.routes(&[MAIN, 1088]).await.unwrap()), []);
        ip("-6 route flush proto bgp");
        let gone = removed_prefixes(&reported, &kernel.routes(&[MAIN, 1088]).await.unwrap());
        assert_eq!(gone, [(MAIN, net("::/0"))]);
        assert_eq!(reconcile(&kernel, &wanted).await.install.len(), 1);

        // No routes are wanted any more: the route of another program stays.
        assert_eq!(reconcile(&kernel, &[]).await.remove.len(), 4);
        let remaining = kernel.routes(&[MAIN, 1088]).await.unwrap();
        assert_eq!(remaining.iter().map(|route| route.prefix).collect::<Vec<_>>(), [net("203.0.113.0/24")]);
    });
}

#[test]
fn a_rejected_route_is_reported() {
    isolated(|| async {
        let kernel = Kernel::open().unwrap();
        let hop = NextHop { via: Some("fe80::99".parse().unwrap()), link: 4711 };
        let wanted = [Route::from_agent(MAIN, net("192.0.2.0/24"), None, [hop])];

        let errors = kernel.reconcile(&difference(&wanted, &[])).await;

        assert_eq!(errors[0].to_string(), "cannot install route 192.0.2.0/24 in table 254");
    });
}

#[test]
fn an_unusable_route_does_not_count_as_a_route_to_an_address() {
    isolated(|| async {
        node();
        let kernel = Kernel::open().unwrap();
        let has_route = async |address: &str| kernel.has_route_to(address.parse().unwrap()).await.unwrap();
        ip("addr add 192.0.2.1/24 dev eth0");
        ip("addr add fd00:2::1/64 dev eth0 nodad");
        for kind in ["unreachable", "blackhole", "prohibit", "throw"] {
            ip(&format!("route add {kind} 198.51.100.0/24 metric {}", kind.len()));
            assert!(!has_route("198.51.100.9").await, "{kind}");
            ip(&format!("route del {kind} 198.51.100.0/24 metric {}", kind.len()));
            ip(&format!("route add {kind} fd00:9::/64"));
            assert!(!has_route("fd00:9::9").await, "{kind}");
            ip(&format!("route del {kind} fd00:9::/64"));
        }

        assert!(has_route("192.0.2.9").await && has_route("fd00:2::9").await && has_route("10.0.0.1").await);
        assert!(!has_route("203.0.113.9").await && !has_route("fd00:3::9").await);
        ip("route add default via 192.0.2.254");
        assert!(has_route("203.0.113.9").await);
    });
}
