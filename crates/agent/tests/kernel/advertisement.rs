//! Solicitations and advertisements over a cable.

use std::net::{Ipv6Addr, SocketAddrV6};
use std::time::Duration;

use ichor_agent::kernel::Kernel;
use ichor_agent::kernel::advertisement::RaSocket;
use ichor_bgp::agent::Link;
use ichor_bgp::agent::advertisement::{Advertisement, NdpMessage};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::time::timeout;

use super::host::*;
use super::isolation::isolated;

/// Both ends of a cable, with usable link-local addresses.
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

async fn received(port: &RaSocket) -> (Ipv6Addr, NdpMessage) {
    timeout(Duration::from_secs(5), port.receive()).await.expect("no message was received").unwrap()
}

#[test]
fn both_ends_receive_each_others_messages() {
    isolated(|| async {
        let (node, leaf) = ends().await;
        let (ours, theirs) = (RaSocket::open(&node).unwrap(), RaSocket::open(&leaf).unwrap());

        ours.solicit().await.unwrap();
        let solicitation = NdpMessage::Solicitation { source: node.mac };
        assert_eq!(received(&theirs).await, (link_local(&node), solicitation));

        theirs.advertise().await.unwrap();
        let advertisement = Advertisement { lifetime: 0, source: leaf.mac, mtu: None };
        assert_eq!(received(&ours).await, (link_local(&leaf), NdpMessage::Advertisement(advertisement)));
    });
}

#[test]
fn forwarded_advertisements_are_ignored() {
    isolated(|| async {
        let (node, leaf) = ends().await;
        let (ours, theirs) = (RaSocket::open(&node).unwrap(), RaSocket::open(&leaf).unwrap());
        let far = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6)).unwrap();
        far.set_multicast_hops_v6(254).unwrap();
        let all: Ipv6Addr = "ff02::1".parse().unwrap();
        let forged = NdpMessage::Advertisement(Advertisement { lifetime: 9000, ..Advertisement::default() });

        let to = SocketAddrV6::new(all, 0, 0, leaf.index);
        far.send_to(&forged.bytes(), &to.into()).unwrap();
        theirs.advertise().await.unwrap();

        let (_, message) = received(&ours).await;
        assert_ne!(message, forged);
    });
}
