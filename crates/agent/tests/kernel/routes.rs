//! Routes that the agent installs, and that somebody sweeps.

use std::net::IpAddr;

use ichor_agent::kernel::Kernel;
use ichor_bgp::agent::route::{MAIN, NextHop, Route, RouteChanges, difference, swept};

use super::alone::alone;
use super::host::*;

/// Two ports with somebody behind each, and a loopback.
fn node() {
    for nth in 0..2 {
        cable(&format!("eth{nth}"), &format!("leaf{nth}"));
        ip(&format!("link set eth{nth} up"));
    }
    ip("link set lo up");
    ip("addr add 10.0.0.1/32 dev lo");
    // Usable at once: the kernel refuses routes with a source that it still tries.
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
fn routes_become_those_that_are_wanted() {
    alone(|| async {
        node();
        let kernel = Kernel::open().unwrap();
        ip("route add 203.0.113.0/24 dev eth0 proto bgp metric 20");
        let (both, one) = (hops(&kernel, &["eth0", "eth1"]).await, hops(&kernel, &["eth1"]).await);
        let v4: Option<IpAddr> = Some("10.0.0.1".parse().unwrap());
        let v6: Option<IpAddr> = Some("fd00::1".parse().unwrap());
        let mut wanted = vec![
            Route::ours(MAIN, net("0.0.0.0/0"), v4, both.clone()),
            Route::ours(MAIN, net("::/0"), v6, both.clone()),
            Route::ours(MAIN, net("192.0.2.0/24"), v4, one.clone()),
            Route::ours(1088, net("2001:db8::/32"), None, one.clone()),
        ];

        // Installed, and then nothing is left to do.
        assert_eq!(reconcile(&kernel, &wanted).await.install.len(), 4);
        assert_eq!(reconcile(&kernel, &wanted).await, RouteChanges::default());
        let said = ip("-4 route show default");
        assert!(said.contains("proto bgp src 10.0.0.1"), "{said}");
        assert_eq!(said.matches("nexthop via inet6 fe80::99 dev eth").count(), 2, "{said}");
        assert_eq!(ip("-6 route show default").matches("via fe80::99 dev eth").count(), 2);
        assert!(ip("-6 route show table 1088").contains("2001:db8::/32"));

        // Fewer and more ways take the place of what was there.
        wanted[0] = Route::ours(MAIN, net("0.0.0.0/0"), v4, one.clone());
        wanted[1] = Route::ours(MAIN, net("::/0"), v6, one);
        wanted[2] = Route::ours(MAIN, net("192.0.2.0/24"), v4, both);
        reconcile(&kernel, &wanted).await;
        assert_eq!(reconcile(&kernel, &wanted).await, RouteChanges::default());

        // What another program swept is seen and put back.
        let told: Vec<_> = wanted.iter().map(|route| (route.table, route.prefix)).collect();
        assert_eq!(swept(&told, &kernel.routes(&[MAIN, 1088]).await.unwrap()), []);
        ip("-6 route flush proto bgp");
        let gone = swept(&told, &kernel.routes(&[MAIN, 1088]).await.unwrap());
        assert_eq!(gone, [(MAIN, net("::/0"))]);
        assert_eq!(reconcile(&kernel, &wanted).await.install.len(), 1);

        // Nothing is wanted any more: the route of somebody else stays.
        assert_eq!(reconcile(&kernel, &[]).await.remove.len(), 4);
        let left = kernel.routes(&[MAIN, 1088]).await.unwrap();
        assert_eq!(left.iter().map(|route| route.prefix).collect::<Vec<_>>(), [net("203.0.113.0/24")]);
    });
}

#[test]
fn a_refused_route_is_named() {
    alone(|| async {
        let kernel = Kernel::open().unwrap();
        let hop = NextHop { via: Some("fe80::99".parse().unwrap()), link: 4711 };
        let wanted = [Route::ours(MAIN, net("192.0.2.0/24"), None, [hop])];

        let errors = kernel.reconcile(&difference(&wanted, &[])).await;

        assert_eq!(errors[0].to_string(), "cannot install route 192.0.2.0/24 in table 254");
    });
}

#[test]
fn a_way_to_an_address_is_one_that_leads_somewhere() {
    alone(|| async {
        node();
        let kernel = Kernel::open().unwrap();
        let leads = async |address: &str| kernel.leads_to(address.parse().unwrap()).await.unwrap();
        ip("addr add 192.0.2.1/24 dev eth0");
        ip("addr add fd00:2::1/64 dev eth0 nodad");
        for kind in ["unreachable", "blackhole", "prohibit", "throw"] {
            ip(&format!("route add {kind} 198.51.100.0/24 metric {}", kind.len()));
            assert!(!leads("198.51.100.9").await, "{kind}");
            ip(&format!("route del {kind} 198.51.100.0/24 metric {}", kind.len()));
            ip(&format!("route add {kind} fd00:9::/64"));
            assert!(!leads("fd00:9::9").await, "{kind}");
            ip(&format!("route del {kind} fd00:9::/64"));
        }

        assert!(leads("192.0.2.9").await && leads("fd00:2::9").await && leads("10.0.0.1").await);
        assert!(!leads("203.0.113.9").await && !leads("fd00:3::9").await);
        ip("route add default via 192.0.2.254");
        assert!(leads("203.0.113.9").await);
    });
}
