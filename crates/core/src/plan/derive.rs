//! The rules that derive values from the cluster's ID and a node's index.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::GapReason;
use crate::cluster::section::Digits;
use ichor_values::{Asn, Mac};

/// A rule that derives a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// Node prefix, IPv4.
    NodePrefix4,
    /// Node prefix, IPv6.
    NodePrefix6,
    /// Loopback prefix, IPv4.
    LoopbackPrefix4,
    /// Loopback prefix, IPv6.
    LoopbackPrefix6,
    /// IPv6 gateway.
    Gateway6,
    /// IPv4 host part.
    Host4,
    /// IPv6 host part.
    Host6,
    /// AS number from the cluster's ID.
    Asn,
    /// AS number from a base.
    AsnBase,
    /// Router ID from the cluster's ID.
    RouterId,
    /// Router ID from a base.
    RouterIdBase,
    /// Router ID from the loopback.
    RouterIdLoopback,
    /// MAC address of a port.
    Mac,
    /// VM ID.
    VmId,
    /// Endpoint from the VIP.
    EndpointVip,
    /// Endpoint from an anycast address.
    EndpointAnycast,
    /// Endpoint from the first control plane.
    EndpointNode,
    /// The first control plane.
    FirstControlPlane,
    /// The control planes' addresses.
    ControlPlanes,
    /// The oldest release among the nodes.
    Oldest,
    /// Default of the Talos release.
    TalosDefault,
    /// The node prefixes.
    NodePrefixes,
    /// The overlay's prefix.
    OverlayPrefix,
    /// IPv6 link to Cilium.
    CiliumLink,
    /// The first backend that supports everything in the file.
    FirstBackend,
    /// The only hypervisor in the file.
    OnlyHypervisor,
    /// The hosts of a hypervisor, round-robin.
    HostsInTurn,
    /// The disk of a virtual machine.
    VmDisk,
    /// An extension that another setting requires.
    NeededExtension,
    /// The builder of images, by the required extension.
    NeedsExtension,
    /// By platform.
    ByPlatform,
    /// Required on nodes that route.
    NeededByRouting,
    /// The pools of service addresses.
    ServicePools,
    /// Router ID of a router of the fabric.
    FabricRouterId,
}

impl Derivation {
    /// Description of the rule.
    pub fn description(self) -> &'static str {
        match self {
            Self::NodePrefix4 => "10.ID.0.0/24",
            Self::NodePrefix6 => "fd00:ID::/64, the id's digits",
            Self::LoopbackPrefix4 => "10.ID.254.0/24",
            Self::LoopbackPrefix6 => "fd00:ID:fe::/64, the id's digits",
            Self::Gateway6 => "fd00:ID::fffe, the id's digits",
            Self::Host4 => "prefix + index",
            Self::Host6 => "prefix with the index as host part",
            Self::Asn => "4210000000 + id·1000 + index",
            Self::AsnBase => "base + index",
            Self::RouterId => "10.255.ID.INDEX",
            Self::RouterIdBase => "base + index",
            Self::RouterIdLoopback => "the IPv4 loopback address",
            Self::Mac => "02 : id (2 bytes) : index (2 bytes) : port",
            Self::VmId => "vm.first_id + index",
            Self::EndpointVip => "https://VIP:6443",
            Self::EndpointAnycast => "https://ANYCAST:6443",
            Self::EndpointNode => "https://FIRST CONTROL PLANE:6443",
            Self::FirstControlPlane => "the first control plane",
            Self::ControlPlanes => "the addresses of the control planes",
            Self::Oldest => "the oldest Talos release among the nodes",
            Self::TalosDefault => "the default of the Talos release",
            Self::NodePrefixes => "the node prefixes",
            Self::OverlayPrefix => "the overlay's prefix",
            Self::CiliumLink => "fd00:ID:cc::/127, the id's digits",
            Self::FirstBackend => "native if it supports everything in the file, else frr",
            Self::OnlyHypervisor => "the only hypervisor in the file",
            Self::HostsInTurn => "the hypervisor's hosts, round-robin per role",
            Self::VmDisk => "the first disk of a VM on this hypervisor",
            Self::NeededExtension => {
                "siderolabs/tailscale for the overlay, siderolabs/qemu-guest-agent for `vm.guest_agent`, siderolabs/bird2 for \
                 `carrier: official`"
            }
            Self::NeedsExtension => "ichor where its extension is needed, else factory",
            Self::ByPlatform => "by platform and hypervisor",
            Self::NeededByRouting => "required on nodes that route",
            Self::ServicePools => "the pools of network.services",
            Self::FabricRouterId => "its first IPv4 address, else 10.255.255.N for the N-th router",
        }
    }

    /// Whether it uses the cluster's ID.
    pub(crate) fn uses_id(self) -> bool {
        matches!(
            self,
            Self::NodePrefix4
                | Self::NodePrefix6
                | Self::LoopbackPrefix4
                | Self::LoopbackPrefix6
                | Self::Gateway6
                | Self::Asn
                | Self::RouterId
                | Self::Mac
                | Self::CiliumLink
        )
    }

    /// Whether it uses the node's index.
    pub(crate) fn uses_index(self) -> bool {
        matches!(
            self,
            Self::Host4
                | Self::Host6
                | Self::Asn
                | Self::AsnBase
                | Self::RouterId
                | Self::RouterIdBase
                | Self::Mac
                | Self::VmId
        )
    }
}

/// A number's decimal digits, read as hex digits: 101 becomes 0x101.
fn digits(number: u32) -> u16 {
    u16::from_str_radix(&number.to_string(), 16).unwrap_or(u16::MAX)
}

/// An ID that fits into one octet.
fn octet(id: u32) -> Result<u8, GapReason> {
    u8::try_from(id).map_err(|_| GapReason::IdOver(255))
}

fn id_digits(id: u32) -> Result<u16, GapReason> {
    if id > 9999 { Err(GapReason::IdOver(9999)) } else { Ok(digits(id)) }
}

/// `10.ID.0.0/24` for nodes, `10.ID.254.0/24` for loopbacks.
pub(crate) fn prefix4(id: u32, third: u8) -> Result<Ipv4Net, GapReason> {
    Ok(Ipv4Net::new_assert(Ipv4Addr::new(10, octet(id)?, third, 0), 24))
}

/// `fd00:ID::/64` for nodes, `fd00:ID:fe::/64` for loopbacks.
pub(crate) fn prefix6(id: u32, third: u16) -> Result<Ipv6Net, GapReason> {
    Ok(Ipv6Net::new_assert(Ipv6Addr::new(0xfd00, id_digits(id)?, third, 0, 0, 0, 0, 0), 64))
}

/// `fd00:ID::fffe`.
pub(crate) fn gateway6(id: u32) -> Result<Ipv6Addr, GapReason> {
    Ok(Ipv6Addr::new(0xfd00, id_digits(id)?, 0, 0, 0, 0, 0, 0xfffe))
}

/// `fd00:ID:cc::` and `fd00:ID:cc::1`, the link to Cilium.
pub(crate) fn cilium_link(id: u32) -> Result<(Ipv6Addr, Ipv6Addr), GapReason> {
    let end = |last| Ok(Ipv6Addr::new(0xfd00, id_digits(id)?, 0xcc, 0, 0, 0, 0, last));
    Ok((end(0)?, end(1)?))
}

/// The address of `index` in `prefix`, except the first and the last.
pub(crate) fn host4(prefix: Ipv4Net, index: u32) -> Result<Ipv4Addr, GapReason> {
    let outside = GapReason::OutsidePrefix(IpNet::V4(prefix));
    let address = u32::from(prefix.network()).checked_add(index).ok_or(outside)?;
    if index == 0 || address >= u32::from(prefix.broadcast()) { Err(outside) } else { Ok(address.into()) }
}

/// The address of `index` in `prefix`, by its digits or its value.
pub(crate) fn host6(prefix: Ipv6Net, index: u32, spelling: Digits) -> Result<Ipv6Addr, GapReason> {
    let host = match spelling {
        Digits::Decimal if index > 9999 => return Err(GapReason::IndexOver(9999)),
        Digits::Decimal => u128::from(digits(index)),
        Digits::Value => u128::from(index),
    };
    let address = Ipv6Addr::from(u128::from(prefix.network()).wrapping_add(host));
    if host == 0 || !prefix.contains(&address) {
        Err(GapReason::OutsidePrefix(IpNet::V6(prefix)))
    } else {
        Ok(address)
    }
}

/// `4210000000 + id·1000 + index`.
pub fn asn(id: u32, index: u32) -> Result<Asn, GapReason> {
    if index > 999 {
        return Err(GapReason::IndexOver(999));
    }
    let number = 4_210_000_000 + u64::from(id) * 1000 + u64::from(index);
    u32::try_from(number).ok().filter(|&number| number <= 4_294_967_294).map(Asn).ok_or(GapReason::AsnOver)
}

/// `base + index`.
pub(crate) fn asn_from(base: Asn, index: u32) -> Result<Asn, GapReason> {
    base.0.checked_add(index).filter(|&number| number <= 4_294_967_294).map(Asn).ok_or(GapReason::AsnOver)
}

/// `10.255.ID.INDEX`.
pub fn router_id(id: u32, index: u32) -> Result<Ipv4Addr, GapReason> {
    let index = u8::try_from(index).map_err(|_| GapReason::IndexOver(255))?;
    Ok(Ipv4Addr::new(10, 255, octet(id)?, index))
}

/// `base + index`.
pub(crate) fn router_id_from(base: Ipv4Addr, index: u32) -> Result<Ipv4Addr, GapReason> {
    u32::from(base).checked_add(index).map(Into::into).ok_or(GapReason::IndexOver(u32::MAX - u32::from(base)))
}

/// `02 : id : index : port`.
pub fn mac(id: u32, index: u32, port: u8) -> Result<Mac, GapReason> {
    let [id1, id0] = u16::try_from(id).map_err(|_| GapReason::IdOver(65_535))?.to_be_bytes();
    let [index1, index0] = u16::try_from(index).map_err(|_| GapReason::IndexOver(65_535))?.to_be_bytes();
    Ok(Mac([0x02, id1, id0, index1, index0, port]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_11_of_cluster_101_derives_the_documented_values() {
        let spelled = Digits::Decimal;

        assert_eq!(asn(101, 11), Ok(Asn(4_210_101_011)));
        assert_eq!(router_id(101, 11).unwrap().to_string(), "10.255.101.11");
        assert_eq!(host6(prefix6(101, 0).unwrap(), 11, spelled).unwrap().to_string(), "fd00:101::11");
        assert_eq!(host4(prefix4(101, 0).unwrap(), 11).unwrap().to_string(), "10.101.0.11");
        assert_eq!(host4(prefix4(101, 254).unwrap(), 11).unwrap().to_string(), "10.101.254.11");
        assert_eq!(host6(prefix6(101, 0xfe).unwrap(), 11, spelled).unwrap().to_string(), "fd00:101:fe::11");
        assert_eq!(gateway6(101).unwrap().to_string(), "fd00:101::fffe");
        assert_eq!(mac(101, 11, 0).unwrap().to_string(), "02:00:65:00:0b:00");
        assert_eq!(host6(prefix6(101, 0).unwrap(), 11, Digits::Value).unwrap().to_string(), "fd00:101::b");
    }

    #[test]
    fn every_rule_has_its_documented_limit() {
        assert!(prefix4(255, 0).is_ok() && prefix4(256, 0).is_err());
        assert!(prefix6(9999, 0).is_ok() && prefix6(10_000, 0).is_err());
        assert!(asn(1, 999).is_ok() && asn(1, 1000).is_err());
        assert!(asn(84_967, 294).is_ok() && asn(84_967, 295).is_err());
        assert_eq!(asn_from(Asn(4_294_967_290), 5), Err(GapReason::AsnOver));
        assert!(router_id(255, 255).is_ok() && router_id(255, 256).is_err() && router_id(256, 1).is_err());
        assert!(mac(65_535, 65_535, 0).is_ok() && mac(65_536, 1, 0).is_err() && mac(1, 65_536, 0).is_err());
        let small: Ipv4Net = "10.0.0.0/29".parse().unwrap();
        assert!(host4(small, 6).is_ok() && host4(small, 7).is_err() && host4(small, 8).is_err());
        let long: Ipv6Net = "fd00::/120".parse().unwrap();
        assert!(host6(long, 99, Digits::Decimal).is_ok() && host6(long, 100, Digits::Decimal).is_err());
        assert!(host6("fd00::/64".parse().unwrap(), 10_000, Digits::Decimal).is_err());
    }
}
