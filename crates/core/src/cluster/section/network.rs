//! `network`: prefixes, addresses and what the network offers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ichor_values::key::{List, Map};
use ichor_values::{AddressOrPrefix4, AddressOrPrefix6, DnsName, LinkName, Mtu, Prefix, Url, Word};
use ichor_values::{choice, record};

record! {
    /// Prefixes, addresses and what the network offers.
    Network "network settings" {
        /// The network the nodes have their addresses in.
        node: NodeNetwork = "derived from `cluster.id`", "{v4: 10.101.0.0/24}";
        /// The network of the nodes' loopback addresses.
        loopback: Loopback = "derived from `cluster.id`", "{v4: 10.101.254.0/24}";
        /// Links for addresses of services on the host.
        dummy: Map<LinkName, Dummy> = "none", "{dummy0: {v4: 10.0.1.0/24, mtu: 8192}}";
        /// The address of the Kubernetes API.
        api: Api = "none", "{vip: 10.101.0.10}";
        /// Addresses for Kubernetes services.
        services: ServiceNetwork = "none", "{pools: {default: [10.101.250.0/24]}}";
        /// Name servers.
        dns: List<IpAddr> = "Talos' own", "[10.101.0.53]";
        /// Time servers.
        ntp: List<DnsName> = "Talos' own", "[time.sol]";
        /// MTU of the links.
        mtu: Mtu = "1500", "1500";
        /// How an index becomes the host part of an IPv6 address.
        digits: Digits = "decimal", "decimal";
        /// Subnets the kubelet may take its address from.
        kubelet_subnets: List<Prefix> = "the node prefixes, or the overlay's", "[10.101.0.0/24]";
        /// Subnets etcd may take its address from.
        etcd_subnets: List<Prefix> = "the node prefixes, or the overlay's", "[10.101.0.0/24]";
    }
}

record! {
    /// The network the nodes have their addresses in.
    NodeNetwork "the node network" {
        /// IPv4 prefix; on a node its own address.
        v4: AddressOrPrefix4 = "10.ID.0.0/24", "10.101.0.0/24";
        /// IPv6 prefix; on a node its own address.
        v6: AddressOrPrefix6 = "fd00:ID::/64", "fd00:101::/64";
        /// Default gateways.
        gateway: Gateway = "fd00:ID::fffe", "{v4: 10.101.0.1, v6: \"fd00:101::fffe\"}";
        /// Metric of the default routes.
        metric: u32 = "1024", "1024";
        /// Where the address comes from.
        addressing: Addressing = "static", "dhcp-then-static";
        /// Link that carries the address.
        link: LinkName = "the first port", "eth0";
    }
}

choice! {
    /// Where a node's address comes from.
    Addressing "addressing" {
        /// From this file.
        Static = "static",
        /// From a DHCP server.
        Dhcp = "dhcp",
        /// From a DHCP server until the configuration is applied, then from this file.
        DhcpThenStatic = "dhcp-then-static",
    }
}

record! {
    /// Default gateways.
    Gateway "gateways" {
        /// IPv4 gateway.
        v4: Ipv4Addr = "none", "10.101.0.1";
        /// IPv6 gateway.
        v6: Ipv6Addr = "fd00:ID::fffe", "fd00:101::fffe";
    }
}

record! {
    /// The network of the nodes' loopback addresses.
    Loopback "loopback prefixes" {
        /// IPv4 prefix; on a node its own address.
        v4: AddressOrPrefix4 = "10.ID.254.0/24", "10.101.254.0/24";
        /// IPv6 prefix; on a node its own address.
        v6: AddressOrPrefix6 = "fd00:ID:fe::/64", "fd00:101:fe::/64";
    }
}

record! {
    /// A link for addresses of services on the host.
    Dummy "a dummy link" {
        /// IPv4 prefix; on a node its own address.
        v4: AddressOrPrefix4 = "none", "10.0.1.0/24";
        /// IPv6 prefix; on a node its own address.
        v6: AddressOrPrefix6 = "none", "fd00:101:d::/64";
        /// MTU of the link.
        mtu: Mtu = "1500", "8192";
    }
}

record! {
    /// The address of the Kubernetes API: one that moves (VIP) or one that every control plane has (anycast).
    Api "an address of the API" {
        /// Address that one control plane holds at a time, by ARP.
        vip: IpAddr = "none", "10.101.0.10";
        /// Addresses that every control plane announces by BGP.
        anycast: List<Prefix> = "none", "[10.0.0.100/32, \"fd00:100::100/128\"]";
        /// Link that carries it.
        link: LinkName = "VIP: the node address's; anycast: dummy1", "dummy1";
        /// Anycast is withdrawn while this does not answer.
        health: Url = "none", "https://127.0.0.1:6443/readyz";
    }
}

record! {
    /// Addresses for Kubernetes services.
    ServiceNetwork "service addresses" {
        /// Prefixes by pool.
        pools: Map<Word, List<Prefix>> = "none", "{default: [10.101.250.0/24, \"fd00:101:250::/112\"]}";
    }
}

choice! {
    /// How an index becomes the host part of an IPv6 address.
    Digits "spelling of the index" {
        /// Index 11 is `::11`: its decimal digits, as operators write it.
        Decimal = "decimal",
        /// Index 11 is `::b`: the number itself.
        Value = "value",
    }
}
