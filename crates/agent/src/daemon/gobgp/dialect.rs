//! The differences between the APIs of GoBGP 3 and 4.

use std::net::IpAddr;

use ichor_bgp::agent::gobgp;
use ipnet::IpNet;
use prost::Message;

use super::message::{
    Any, Attribute, Family, IpAddressPrefix, MpReachAttribute, NextHopAttribute, Nlri, OriginAttribute, Path,
};

/// The prefix of the names of GoBGP 3's messages.
const ANY: &str = "type.googleapis.com/apipb.";

/// The API of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// GoBGP 3.
    Three,
    /// GoBGP 4.
    Four,
}

/// Unicast of a family.
pub fn family(v4: bool) -> Family {
    Family { afi: if v4 { 1 } else { 2 }, safi: 1 }
}

impl Dialect {
    /// The path of a call.
    pub fn call(self, name: &str) -> String {
        match self {
            Self::Three => format!("/apipb.GobgpApi/{name}"),
            Self::Four => format!("/api.GoBgpService/{name}"),
        }
    }

    /// GoBGP 4 numbers enums from 1, GoBGP 3 from 0: the global table, prefix sets, best paths.
    pub fn base_number(self) -> i32 {
        match self {
            Self::Three => 0,
            Self::Four => 1,
        }
    }

    /// The admin state of a session that was closed because of too many prefixes.
    pub fn over_limit(self) -> i32 {
        self.base_number() + 2
    }

    /// The number of the outbound direction.
    pub fn outbound(self) -> i32 {
        self.base_number() + 1
    }

    /// Converts a path of the table; none if it is of another kind.
    pub fn parse_path(self, prefix: &str, path: &Path) -> Option<gobgp::BgpPath> {
        let net = prefix.parse().ok()?;
        let hops = path.pattrs.iter().flat_map(|attribute| self.next_hops(attribute)).collect();
        let address = path.neighbor_ip.split('%').next().unwrap_or_default();
        // A path that was added locally has no neighbour, which each release prints differently.
        let from = address.parse::<IpAddr>().is_ok().then(|| path.neighbor_ip.clone());
        Some(gobgp::BgpPath { net, hops, from, best: path.best })
    }

    fn next_hops(self, attribute: &[u8]) -> Vec<IpAddr> {
        let attribute = match self {
            Self::Three => Any::decode(attribute).ok().and_then(|any| unwrap_any(&any)),
            Self::Four => Attribute::decode(attribute).ok(),
        };
        let Some(attribute) = attribute else { return Vec::new() };
        let plain = attribute.next_hop.map(|attribute| attribute.next_hop);
        let reach = attribute.mp_reach.map(|attribute| attribute.next_hops).unwrap_or_default();
        let address = |hop: String| hop.split('%').next().and_then(|hop| hop.parse().ok());
        plain.into_iter().chain(reach).filter_map(address).collect()
    }

    /// An address of the node as a path. The next hop is the address of each session.
    pub fn own_path(self, net: IpNet) -> Path {
        let v4 = net.addr().is_ipv4();
        let prefix =
            IpAddressPrefix { prefix_len: net.prefix_len().into(), prefix: net.network().to_string() };
        let nlri = match self {
            Self::Three => any("IPAddressPrefix", &prefix),
            Self::Four => Nlri { prefix: Some(prefix) }.encode_to_vec(),
        };
        let reach = if v4 {
            self.attribute(Attribute {
                next_hop: Some(NextHopAttribute { next_hop: "0.0.0.0".to_owned() }),
                ..Attribute::default()
            })
        } else {
            let mp_reach = MpReachAttribute {
                family: Some(family(v4)),
                next_hops: vec!["::".to_owned()],
                nlris: vec![nlri.clone()],
            };
            self.attribute(Attribute { mp_reach: Some(mp_reach), ..Attribute::default() })
        };
        let origin =
            self.attribute(Attribute { origin: Some(OriginAttribute { origin: 0 }), ..Attribute::default() });
        Path { nlri, pattrs: vec![origin, reach], family: Some(family(v4)), ..Path::default() }
    }

    fn attribute(self, attribute: Attribute) -> Vec<u8> {
        match (self, attribute) {
            (Self::Four, attribute) => attribute.encode_to_vec(),
            (Self::Three, Attribute { origin: Some(origin), .. }) => any("OriginAttribute", &origin),
            (Self::Three, Attribute { next_hop: Some(hop), .. }) => any("NextHopAttribute", &hop),
            (Self::Three, Attribute { mp_reach, .. }) => {
                any("MpReachNLRIAttribute", &mp_reach.unwrap_or_default())
            }
        }
    }
}

fn any(name: &str, message: &impl Message) -> Vec<u8> {
    Any { type_url: format!("{ANY}{name}"), value: message.encode_to_vec() }.encode_to_vec()
}

fn unwrap_any(any: &Any) -> Option<Attribute> {
    let value = any.value.as_slice();
    match any.type_url.strip_prefix(ANY)? {
        "NextHopAttribute" => {
            let next_hop = NextHopAttribute::decode(value).ok();
            Some(Attribute { next_hop, ..Attribute::default() })
        }
        "MpReachNLRIAttribute" => {
            let mp_reach = MpReachAttribute::decode(value).ok();
            Some(Attribute { mp_reach, ..Attribute::default() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_paths_round_trip_in_either_dialect() {
        for dialect in [Dialect::Three, Dialect::Four] {
            for (net, hop) in [("10.1.1.1/32", "0.0.0.0"), ("fd00::1/128", "::")] {
                let added = Path {
                    neighbor_ip: "<nil>".to_owned(),
                    best: true,
                    ..dialect.own_path(net.parse().unwrap())
                };

                let read = dialect.parse_path(net, &added).unwrap();

                let hops = vec![hop.parse().unwrap()];
                assert_eq!(read, gobgp::BgpPath { net: net.parse().unwrap(), hops, from: None, best: true });
            }
        }
    }

    #[test]
    fn the_address_of_a_neighbour_on_a_port_includes_the_port() {
        let path = Path { neighbor_ip: "fe80::1%eth0".to_owned(), ..Path::default() };

        assert_eq!(Dialect::Four.parse_path("::/0", &path).unwrap().from.as_deref(), Some("fe80::1%eth0"));
    }
}
