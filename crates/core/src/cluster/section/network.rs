//! `network`: prefixes, addresses, and services of the network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ichor_values::key::{List, Map};
use ichor_values::{AddressOrPrefix4, AddressOrPrefix6, DnsName, LinkName, Mtu, Prefix, Url, Word};
use ichor_values::{choice, record};

record! {
    /// Prefixes, addresses, and services of the network.
    Network "network settings" {
        /// Network of the node addresses.
        node: NodeNetwork = "derived from `cluster.id`", "{v4: 10.101.0.0/24}";
        /// Network of the nodes' loopback addresses.
        loopback: Loopback = "derived from `cluster.id`", "{v4: 10.101.254.0/24}";
        /// Dummy links for addresses of host services.
        dummy: Map<LinkName, Dummy> = "none", "{dummy0: {v4: 10.0.1.0/24, mtu: 8192}}";
        /// The address of the Kubernetes API.
        api: Api = "not set", "{vip: 10.101.0.10}";
        /// Addresses for Kubernetes services.
        services: ServiceNetwork = "not set", "{pools: {default: [10.101.250.0/24]}}";
        /// Name servers.
        dns: List<IpAddr> = "Talos' default", "[10.101.0.53]";
        /// Time servers.
        ntp: List<DnsName> = "Talos' default", "[time.sol]";
        /// MTU of the links.
        mtu: Mtu = "1500", "1500";
        /// Spelling of an index in the host part of an IPv6 address.
        digits: Digits = "decimal", "decimal";
        /// Subnets that the kubelet may use an address of.
        kubelet_subnets: List<Prefix> = "the node prefixes, or the overlay's", "[10.101.0.0/24]";
        /// Subnets that etcd may use an address of; derived ones only cover the node's own addresses.
        etcd_subnets: List<Prefix> = "the node prefixes, or the overlay's", "[10.101.0.0/24]";
    }
}

record! {
    /// Network of the node addresses.
    NodeNetwork "the node network" {
        /// IPv4 prefix; on a node, its address.
        v4: AddressOrPrefix4 = "10.ID.0.0/24", "10.101.0.0/24";
        /// IPv6 prefix; on a node, its address.
        v6: AddressOrPrefix6 = "fd00:ID::/64", "fd00:101::/64";
        /// Default gateways.
        gateway: Gateway = "fd00:ID::fffe", "{v4: 10.101.0.1, v6: \"fd00:101::fffe\"}";
        /// Metric of the default routes.
        metric: u32 = "1024", "1024";
        /// Source of the address.
        addressing: Addressing = "static", "dhcp-then-static";
        /// Link with the address.
        link: LinkName = "the first port", "eth0";
    }
}

choice! {
    /// Source of a node's address.
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
        v4: Ipv4Addr = "not set", "10.101.0.1";
        /// IPv6 gateway.
        v6: Ipv6Addr = "fd00:ID::fffe", "fd00:101::fffe";
    }
}

record! {
    /// Network of the nodes' loopback addresses.
    Loopback "loopback prefixes" {
        /// IPv4 prefix; on a node, its address.
        v4: AddressOrPrefix4 = "10.ID.254.0/24", "10.101.254.0/24";
        /// IPv6 prefix; on a node, its address.
        v6: AddressOrPrefix6 = "fd00:ID:fe::/64", "fd00:101:fe::/64";
    }
}

record! {
    /// A dummy link for addresses of host services.
    Dummy "a dummy link" {
        /// IPv4 prefix; on a node, its address.
        v4: AddressOrPrefix4 = "not set", "10.0.1.0/24";
        /// IPv6 prefix; on a node, its address.
        v6: AddressOrPrefix6 = "not set", "fd00:101:d::/64";
        /// MTU of the link.
        mtu: Mtu = "1500", "8192";
    }
}

record! {
    /// Address of the Kubernetes API: a VIP on one control plane at a time, or anycast on every control plane.
    Api "an address of the API" {
        /// Address that one control plane holds at a time, announced by ARP.
        vip: IpAddr = "not set", "10.101.0.10";
        /// Addresses that every control plane announces by BGP.
        anycast: List<Prefix> = "none", "[10.0.0.100/32, \"fd00:100::100/128\"]";
        /// Link with the address.
        link: LinkName = "VIP: the link of the node address; anycast: dummy1", "dummy1";
        /// URL of the health check: the anycast routes are withdrawn while it fails.
        health: Url = "not set", "https://127.0.0.1:6443/readyz";
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
    /// Spelling of an index in the host part of an IPv6 address.
    Digits "spelling of the index" {
        /// Index 11 is `::11`: its decimal digits, as operators write it.
        Decimal = "decimal",
        /// Index 11 is `::b`: the number itself.
        Value = "value",
    }
}
