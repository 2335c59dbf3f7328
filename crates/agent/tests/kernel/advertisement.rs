//! Solicitations and advertisements over a cable.

use std::net::{Ipv6Addr, SocketAddrV6};
use std::time::Duration;

use ichor_agent::kernel::Kernel;
use ichor_agent::kernel::advertisement::RaSocket;
use ichor_bgp::agent::Link;
use ichor_bgp::agent::advertisement::{Advertisement, NdpMessage};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::time::timeout;

use super::alone::alone;
use super::host::*;

/// Both ends of a cable, with link-local addresses that can be used.
async fn ends() -> (Link, Link) {
    for link in ["all", "default"] {
        std::fs::write(format!("/proc/sys/net/ipv6/conf/{link}/accept_dad"), "0").unwrap();
    }
    cable("eth0", "leaf");
    ip("link set eth0 up");
    let kernel = Kernel::open().unwrap();
    for _ in 0..100 {
        if ip("-6 addr show scope link").matches("inet6 fe80").count() == 2
            && !ip("-6 addr").contains("tentative")
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let links = kernel.links().await.unwrap();
    let find = |name: &str| links.iter().find(|link| link.name == name).unwrap().clone();
    (find("eth0"), find("leaf"))
}

fn link_local(link: &Link) -> Ipv6Addr {
    let addresses = link.addresses.iter().map(|net| net.addr().to_string());
    addresses
        .filter(|address| address.starts_with("fe80"))
        .map(|address| address.parse().unwrap())
        .next()
        .unwrap()
}

async fn heard(port: &RaSocket) -> (Ipv6Addr, NdpMessage) {
    timeout(Duration::from_secs(5), port.hear()).await.expect("nothing was heard").unwrap()
}

#[test]
fn both_ends_hear_each_other() {
    alone(|| async {
        let (node, leaf) = ends().await;
        let (ours, theirs) = (RaSocket::open(&node).unwrap(), RaSocket::open(&leaf).unwrap());

        ours.solicit().await.unwrap();
        let solicitation = NdpMessage::Solicitation { source: node.mac };
        assert_eq!(heard(&theirs).await, (link_local(&node), solicitation));

        theirs.advertise().await.unwrap();
        let said = Advertisement { lifetime: 0, source: leaf.mac, mtu: None };
        assert_eq!(heard(&ours).await, (link_local(&leaf), NdpMessage::Advertisement(said)));
    });
}

#[test]
fn what_came_through_a_router_is_not_heard() {
    alone(|| async {
        let (node, leaf) = ends().await;
        let (ours, theirs) = (RaSocket::open(&node).unwrap(), RaSocket::open(&leaf).unwrap());
        let far = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6)).unwrap();
        far.set_multicast_hops_v6(254).unwrap();
        let all: Ipv6Addr = "ff02::1".parse().unwrap();
        let forged = NdpMessage::Advertisement(Advertisement { lifetime: 9000, ..Advertisement::default() });

        let to = SocketAddrV6::new(all, 0, 0, leaf.index);
        far.send_to(&forged.bytes(), &to.into()).unwrap();
        theirs.advertise().await.unwrap();

        let (_, message) = heard(&ours).await;
        assert_ne!(message, forged);
    });
}
